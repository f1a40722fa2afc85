"""The checks of step 16 on loading.py: run `pytest exercises/step16`."""

from autograder.front.pytest_plugin import checks_of

test_loading = checks_of("step16")
