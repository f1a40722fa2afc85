"""The checks of step 02 on masks.py: run `pytest exercises/step02`."""

from autograder.front.pytest_plugin import checks_of

test_masks = checks_of("step02")
