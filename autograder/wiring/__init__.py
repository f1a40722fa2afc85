"""How modules are put together, seen by recorders that stand for their parts, told as formulas."""
