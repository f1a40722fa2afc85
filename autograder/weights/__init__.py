"""Which trainable scalar plays which role, found by behaviour; canonical weights, written through that map."""
