"""The checks of step 12 on schedule.py: run `pytest exercises/step12`."""

from autograder.front.pytest_plugin import checks_of

test_schedule = checks_of("step12")
