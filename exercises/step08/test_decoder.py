"""The checks of step 08 on decoder.py: run `pytest exercises/step08`."""

from autograder.front.pytest_plugin import checks_of

test_decoder = checks_of("step08")
