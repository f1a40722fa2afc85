"""How a dropout drops: each number by itself, or several together."""

from __future__ import annotations

from torch import Tensor


def one_by_one(dropped: Tensor) -> list[bool]:
    """Along each axis: is there a line of which some is dropped and some is kept?

    Where one coin decides for all that lie along an axis, there is none.

    Args:
        dropped: bool, of any shape: whether a number was dropped.
    """
    return [bool((dropped.any(d) & ~dropped.all(d)).any()) for d in range(dropped.dim())]
