"""What dropout does to attention weights: by what factors, and which of them fall together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.core.observation import Value, see


def losses(half: Value, whole: Value) -> dict[str, Value]:
    """What half-dropped outputs are times whole ones, each number once; whether columns agree."""
    if not isinstance(half, Tensor) or not isinstance(whole, Tensor) or half.shape != whole.shape:
        return {"factors": half, "together": False}
    factors = half / whole
    together = bool((factors - factors[..., :1]).abs().max() < 1e-3)
    return {"factors": torch.unique(factors.mul(1e3).round() + 0.0) / 1e3, "together": together}


def one_coin(calls: Sequence[Any], **sizes: int) -> list[str]:
    """Along which axes of the outputs, "calls" before them, zeros are found together or not at all.

    None where outputs are no tensors of these sizes.
    """
    seen = [y for y in map(see, calls) if isinstance(y, Tensor)]
    if [tuple(y.shape) for y in seen] != [tuple(sizes.values())] * len(calls):
        return []
    kept = torch.stack([y != 0 for y in seen])
    named = enumerate(("calls", *sizes))
    return [name for i, name in named if bool((kept == kept.narrow(i, 0, 1)).all())]


def showing(key: Tensor) -> Tensor:
    """Values (B, Lk, Lk) under which the output is the weights."""
    return torch.eye(key.size(1)).repeat(len(key), 1, 1)
