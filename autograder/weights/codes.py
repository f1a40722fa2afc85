"""Group testing: find out of n which one something belongs to, with few yes-or-no passes.

Each of the n gets a code word, a set of passes; all words have the same weight, so no word holds
another, and what answers in the passes of two words is seen to belong to several.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import comb

import torch
from torch import Tensor

DEAD, ALL, SEVERAL = -1, -2, -3


@cache
def words(n: int) -> Tensor:
    """bool (n, passes): n distinct words of equal weight, at least one pass shorter than full."""
    length = next(m for m in range(2, 64) if comb(m, m // 2) >= n)
    chosen = list(combinations(range(length), length // 2))[:n]
    table = torch.zeros(n, length, dtype=torch.bool)
    for row, ones in enumerate(chosen):
        table[row, list(ones)] = True
    return table


def sort(n: int, alive: Callable[[Tensor], Tensor]) -> Tensor:
    """For each scalar, which of n it belongs to.

    Args:
        n: how many there are to choose from.
        alive: switches on the members of a bool (n,) selection, gives bool (scalars,): who answers.

    Returns:
        int64 (scalars,): the number below n, or DEAD, ALL (answers always), SEVERAL.
    """
    table = words(n)
    answers = torch.stack([alive(table[:, p]) for p in range(table.shape[1])], dim=1)
    result = torch.full((answers.shape[0],), SEVERAL)
    match = (answers[:, None, :] == table[None]).all(-1)
    known = match.any(-1)
    result[known] = match[known].int().argmax(-1)
    result[~answers.any(-1)] = DEAD
    result[answers.all(-1)] = ALL
    return result
