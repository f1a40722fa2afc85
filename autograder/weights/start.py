"""How fresh weights are spread: each tensor of 2 or more dims, measured by its own Xavier bound."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

# Of fewer numbers, spread and maximum are too uncertain: 6 sigma should fit between the marks.
ENOUGH = 400


@dataclass(frozen=True)
class Start:
    """What fresh tensors look like beside Xavier-uniform ones, group by group of one shape.

    `reach` and `spread` hold a mark for each way that occurs: '<' narrower, '=' the same,
    '>' wider. `tail` is the largest number in units of the standard deviation: 1.7 for a uniform
    distribution, 3 or more for a normal one.
    """

    reach: str
    spread: str
    tail: float


def start_of(tensors: Iterable[Tensor]) -> Start:
    """How the tensors of 2 or more dims start; groups with too few numbers are left out."""
    groups: dict[torch.Size, list[Tensor]] = {}
    for tensor in tensors:
        if tensor.dim() > 1:
            groups.setdefault(tensor.shape, []).append(tensor.detach().reshape(-1) / _bound(tensor))
    pools = [torch.cat(_distinct(g)) for g in groups.values()]
    pools = [pool for pool in pools if len(pool) >= ENOUGH]
    reach = {_mark(pool.abs().max().item(), 0.97, 1 + 1e-5) for pool in pools}
    spread = {_mark(pool.std().item() * math.sqrt(3), 0.875, 1.125) for pool in pools}
    tail = max((_tail(pool) for pool in pools), default=0.0)
    return Start("".join(sorted(reach)), "".join(sorted(spread)), tail)


def equal_starts(tensors: Iterable[Tensor]) -> int:
    """How many of the tensors of 2 or more dims are equal to one before them."""
    fresh = [t.detach() for t in tensors if t.dim() > 1]
    return sum(any(torch.equal(t, b) for b in fresh[:i]) for i, t in enumerate(fresh))


def _bound(tensor: Tensor) -> float:
    """sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010), fans counted as torch does."""
    field = math.prod(tensor.shape[2:])
    return math.sqrt(6 / ((tensor.shape[0] + tensor.shape[1]) * field))


def _distinct(tensors: list[Tensor]) -> list[Tensor]:
    """Copies that start equal tell nothing new."""
    kept: list[Tensor] = []
    for tensor in tensors:
        if not any(torch.equal(tensor, other) for other in kept):
            kept.append(tensor)
    return kept


def _mark(value: float, low: float, high: float) -> str:
    return "<" if not value >= low else ">" if value > high else "="


def _tail(pool: Tensor) -> float:
    return (pool.abs().max() / pool.std().clamp(min=1e-12)).item()
