"""The checks of step 18 on translation.py: run `pytest exercises/step18`."""

from autograder.front.pytest_plugin import checks_of

test_translation = checks_of("step18")
