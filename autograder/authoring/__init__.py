"""What maintainers use: what is generated, a new step's files, and the rules of the gate.

Only what runs answers (`alike`, `graded`) loads torch; the rest does without.
"""
