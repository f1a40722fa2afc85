"""The checks of step 15 on vocabulary.py: run `pytest exercises/step15`."""

from autograder.front.pytest_plugin import checks_of

test_vocabulary = checks_of("step15")
