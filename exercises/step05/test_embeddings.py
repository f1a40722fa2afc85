"""The checks of step 05 on embeddings.py: run `pytest exercises/step05`."""

from autograder.front.pytest_plugin import checks_of

test_embeddings = checks_of("step05")
