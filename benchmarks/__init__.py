"""Measurements: soundness of the catalogue, and speed as ratios in one run. Nothing here is asserted in a test."""
