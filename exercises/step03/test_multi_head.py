"""The checks of step 03 on multi_head.py: run `pytest exercises/step03`."""

from autograder.front.pytest_plugin import checks_of

test_multi_head = checks_of("step03")
