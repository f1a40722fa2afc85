"""The checks of step 07 on encoder.py: run `pytest exercises/step07`."""

from autograder.front.pytest_plugin import checks_of

test_encoder = checks_of("step07")
