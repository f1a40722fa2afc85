"""The checks of step 01 on scaled_dot_product.py: run `pytest exercises/step01`."""

from autograder.front.pytest_plugin import checks_of

test_scaled_dot_product = checks_of("step01")
