"""Toy models: small stand-ins for a Transformer whose answers show what was done with them."""
