"""Calls that should give the same: whether their gradients do too, wherever their outputs do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Value, apart, see

Call = Callable[..., Any]


def slopes_apart(one: Call, two: Call, inputs: Sequence[Tensor], draw: Draw) -> Tensor:
    """float32 (len(inputs),): the largest gaps between the gradients of two calls.

    0 where a call raises or the outputs differ: other checks tell of that. An output without a
    gradient has one of 0.
    """
    try:
        (y, found), (z, others) = (_slopes(call, inputs, draw) for call in (one, two))
    except Exception:
        return torch.zeros(len(inputs))
    if not close(y, z):
        return torch.zeros(len(inputs))
    return torch.stack([(a - b).abs().max() for a, b in zip(found, others, strict=True)])


def apart_from_parts(whole: Any, parts: Sequence[Any], dim: int) -> Value:
    """An output minus those of calls on its slices along `dim` (of size 1 there, or without it)."""
    seen = see(whole)
    if not isinstance(seen, Tensor) or seen.dim() <= dim or seen.size(dim) != len(parts):
        return seen
    gaps = []
    for one, part in zip(seen.unbind(dim), parts, strict=True):
        if isinstance(part, Tensor) and part.dim() == seen.dim() and part.size(dim) == 1:
            part = part.squeeze(dim)
        gap = apart(one, part)
        if not isinstance(gap, Tensor):
            return gap
        gaps.append(gap)
    return torch.stack(gaps, dim)


def apart_from_visible(call: Call, inputs: Sequence[Tensor], mask: Tensor) -> Value:
    """The output under a mask, minus that of each query with only the keys it may see.

    Args:
        call: query, key, value (B, L, width) and perhaps a mask -> output.
        inputs: query, key, value.
        mask: bool (Lq, Lk) or (B, Lq, Lk) that shows each query as many keys.
    """
    query, key, value = inputs
    batch, queries = query.shape[:2]
    where = mask.expand(batch, -1, -1).nonzero()[:, 2].view(batch, queries, -1)
    rows = torch.arange(batch)[:, None, None]
    visible = (t[rows, where].flatten(0, 1) for t in (key, value))
    left = call(query.flatten(0, 1)[:, None].clone(), *visible)
    if isinstance(left, Tensor) and left.numel() == batch * queries * left.size(-1):
        left = left.view(batch, queries, -1)
    return apart(call(*(t.clone() for t in (*inputs, mask))), left)


def close(one: Any, two: Any) -> bool:
    """Whether both are tensors of one shape and the same numbers, but for rounding."""
    gap = apart(one, two)
    return isinstance(gap, Tensor) and bool(gap.abs().max() <= 1e-4 * (1 + two.abs().max()))


def _slopes(call: Call, inputs: Sequence[Tensor], draw: Draw) -> tuple[Any, list[Tensor]]:
    leaves = [t.clone().requires_grad_() for t in inputs]
    y = call(*leaves)
    if not isinstance(y, Tensor) or not y.requires_grad:
        return y, [torch.zeros_like(t) for t in inputs]
    total = (y * draw.normal("cotangent", *y.shape)).sum()
    found = torch.autograd.grad(total, leaves, allow_unused=True)
    return y, [torch.zeros_like(t) if g is None else g for t, g in zip(inputs, found, strict=True)]
