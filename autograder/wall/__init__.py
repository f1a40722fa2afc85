"""Walls around learners' code: what a process that runs it is kept from, and how well here."""
