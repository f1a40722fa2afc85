"""Authoring: how exercises are made from the model answers. Needs no torch."""
