"""The checks of step 13 on smoothing.py: run `pytest exercises/step13`."""

from autograder.front.pytest_plugin import checks_of

test_smoothing = checks_of("step13")
