"""The checks of step 06 on residual.py: run `pytest exercises/step06`."""

from autograder.front.pytest_plugin import checks_of

test_residual = checks_of("step06")
