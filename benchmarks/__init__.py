"""Measurements: how sound verdicts are, and how fast. Nothing here is asserted in a test."""
