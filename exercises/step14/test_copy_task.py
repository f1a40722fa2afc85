"""The checks of step 14 on copy_task.py: run `pytest exercises/step14`."""

from autograder.front.pytest_plugin import checks_of

test_copy_task = checks_of("step14")
