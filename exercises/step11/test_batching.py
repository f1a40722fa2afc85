"""The checks of step 11 on batching.py: run `pytest exercises/step11`."""

from autograder.front.pytest_plugin import checks_of

test_batching = checks_of("step11")
