"""The checks of step 09 on model.py: run `pytest exercises/step09`."""

from autograder.front.pytest_plugin import checks_of

test_model = checks_of("step09")
