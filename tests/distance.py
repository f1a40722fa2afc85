"""How far apart two tensors are, where a test asks for more than equal within a tolerance."""

from __future__ import annotations

import math

from torch import Tensor


def distance(asked: Tensor, seen: Tensor) -> float:
    """Largest difference over 1 + the largest number asked; infinite for another shape.

    Infinite, too, where one of them has NaN or infinity and the other has something else.
    """
    if asked.shape != seen.shape:
        return math.inf
    if not asked.numel():
        return 0.0
    one, two = asked.double(), seen.double()
    alike = (one == two) | (one.isnan() & two.isnan())
    gap = (one - two).masked_fill(alike, 0).abs().max().item()
    largest = one.nan_to_num(0, 0, 0).abs().max().item()
    return gap / (1 + largest) if math.isfinite(gap) else math.inf
