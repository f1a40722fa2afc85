"""The checks of step 10 on inference.py: run `pytest exercises/step10`."""

from autograder.front.pytest_plugin import checks_of

test_inference = checks_of("step10")
