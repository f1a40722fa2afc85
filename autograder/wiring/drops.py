"""How a dropout drops: by what factors, each number by itself or several together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.observation import Value, see
from autograder.wiring.alike import close

# Where everything is known of what a dropout does: a name, its rate, and whether it is training.
KNOWN = (("all", 1.0, True), ("nothing", 0.0, True), ("evaluated", 1.0, False))


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


def one_by_one(dropped: Tensor) -> list[bool]:
    """Along each axis: is there a line of which some is dropped and some is kept?

    Where one coin decides for all that lie along an axis, there is none.

    Args:
        dropped: bool, of any shape: whether a number was dropped.
    """
    return [bool((dropped.any(d) & ~dropped.all(d)).any()) for d in range(dropped.dim())]


def showing(key: Tensor) -> Tensor:
    """Values (B, Lk, Lk) under which the output is the weights."""
    return torch.eye(key.size(1)).repeat(len(key), 1, 1)


def coins(module: nn.Module, tokens: Sequence[Tensor], most: int) -> dict[str, Value]:
    """What equal queries give where half of the weights are dropped: a coin for each weight.

    On one key, h coins make 2^h outputs. Since what is left is doubled, their middle is the output
    in eval mode; that is not looked at where they lie unevenly, as behind an activation.

    Args:
        module: a multi-head attention in eval mode with dropout=0.5.
        tokens: query, key, value, (1, 1, d_model) each.
        most: as many outputs as there should be; one more stands for more.
    """
    query, key, value = tokens
    alone = [t.repeat(20 * most, 1, 1) for t in tokens]
    whole = module(*alone)
    module.train()
    sentence = module(query.repeat(1, 32, 1), key, value)
    first, again = module(*alone), module(*alone)
    if not all(isinstance(y, Tensor) and y.dim() > 1 for y in (whole, sentence, first)):
        return {"outcomes": see(first), "each_query": False, "anew": False, "balanced": False}
    rows = _distinct(first)
    middle = (rows.amax(0) + rows.amin(0)) / 2
    return {
        "outcomes": min(len(rows), most + 1),
        "each_query": len(_distinct(sentence)) > 1,
        "anew": not close(first, again),
        "balanced": not close(rows.mean(0), middle) or close(middle, whole[0].flatten()),
    }


def _distinct(outputs: Tensor) -> Tensor:
    """(n, width): the rows of (..., width) that differ, on the scale of how far they spread."""
    rows = outputs.detach().flatten(0, -2)
    spread = (rows - rows.mean(0)).norm(dim=-1).max()
    near = (1e-3 * spread).clamp(min=1e-5 * rows.norm(dim=-1).max())
    gaps = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")
    return rows[(gaps < near).int().argmax(-1) == torch.arange(len(rows))]
