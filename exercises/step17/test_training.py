"""The checks of step 17 on training.py: run `pytest exercises/step17`."""

from autograder.front.pytest_plugin import checks_of

test_training = checks_of("step17")
