"""Which trainable scalar plays which role, found by behaviour; the grader's weights put there."""
