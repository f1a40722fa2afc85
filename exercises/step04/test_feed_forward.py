"""The checks of step 04 on feed_forward.py: run `pytest exercises/step04`."""

from autograder.front.pytest_plugin import checks_of

test_feed_forward = checks_of("step04")
