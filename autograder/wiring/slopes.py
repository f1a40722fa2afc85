"""Gradients through a module: whether they flow, and whether they are the slopes of its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.wiring.recorder import Record

Tensors = Mapping[str, Tensor]
_STEP = 0.02


def unfelt(y: Any, own: Sequence[Tensor]) -> int:
    """How many of these numbers the output does not depend on; 0 where no gradient can be had."""
    if not isinstance(y, Tensor) or not y.requires_grad:
        return sum(p.numel() for p in own)
    slopes = slopes_of((y * y.detach()).sum(), own)
    return sum(p.numel() for p, s in zip(own, slopes, strict=True) if s is None) if slopes else 0


def slopes_of(total: Tensor, wanted: Sequence[Tensor]) -> Sequence[Tensor | None]:
    """Gradients of a number; none at all where something has been overwritten meanwhile."""
    try:
        return torch.autograd.grad(total, wanted, allow_unused=True) if wanted else ()
    except RuntimeError:
        return ()


def connected(module: nn.Module, record: Record, inputs: Tensors) -> bool:
    """Whether gradients flow in training: into and out of each recorder, and along x untouched."""
    first = next(iter(inputs.values()))
    y, leaves = _called(module, record, inputs, list(inputs))
    if not isinstance(y, Tensor) or not y.requires_grad:
        return False
    reached = [t for c in record.calls for t in c.inputs.values() if _has_features(t, first)]
    felt = slopes_of(y.sum(), [leaves[0], *(c.output for c in record.calls)])
    flows = bool(felt) and all(slope is not None for slope in felt)
    return flows and all(t.requires_grad for t in reached)


def passes(module: nn.Module, record: Record, inputs: Tensors) -> bool:
    """Whether with recorders that give zeros the gradient along x is 1."""
    first, *rest = inputs.values()
    x = first.clone().requires_grad_()
    record.silent = True
    y = module.eval()(x.clone(), *rest)
    record.silent = False
    if not isinstance(y, Tensor) or y.shape != x.shape or not y.requires_grad:
        return False
    weigh = record.draw.normal("cotangent", *y.shape)
    slope = next(iter(slopes_of((y * weigh).sum(), [x])), None)
    return slope is not None and torch.allclose(slope, weigh, atol=1e-4)


def steep(module: nn.Module, record: Record, inputs: Tensors, along: Sequence[str]) -> list[str]:
    """The inputs that have a gradient; none, where these are not the slopes that steps show.

    In training mode. A step is taken in a random direction, along all these inputs at once. What is
    drawn at random in the module is the same in all calls.
    """
    y, leaves = _called(module, record, inputs, along)
    if not isinstance(y, Tensor) or not y.requires_grad:
        return []
    weigh = record.draw.normal("cotangent", *y.shape)
    wanted = [leaf for name, leaf in zip(inputs, leaves, strict=True) if name in along]
    slopes = slopes_of((y * weigh).sum(), wanted)
    found = {name: s for name, s in zip(along, slopes, strict=bool(slopes)) if s is not None}
    size = sum(s.square().sum().item() for s in found.values()) ** 0.5
    ways = {name: record.draw.normal(f"way/{name}", *inputs[name].shape) for name in along}
    ends = [
        _called(module, record, {**inputs, **{n: inputs[n] + s * ways[n] for n in along}}, ())[0]
        for s in (_STEP, -_STEP)
    ]
    rise = ((ends[0] - ends[1]) * weigh).sum() / (2 * _STEP)
    asked = sum((ways[n] * s).sum() for n, s in found.items())
    if len(found) == len(along) and abs(rise - asked) > 0.02 * size:
        return []
    return list(found)


def _called(
    module: nn.Module, record: Record, inputs: Tensors, along: Sequence[str]
) -> tuple[Any, list[Tensor]]:
    """What the module gives in training mode, and its inputs: leaves of the gradient `along`."""
    record.calls, record.shape = [], tuple(next(iter(inputs.values())).shape)
    leaves = [
        t.clone().requires_grad_(n in along and t.is_floating_point()) for n, t in inputs.items()
    ]
    with record.draw.torch_seeded("slopes"), torch.set_grad_enabled(bool(along)):
        y = module.train()(*(t.clone() for t in leaves))
    module.eval()
    return y, leaves


def _has_features(value: Any, x: Tensor) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.size(-1) == x.size(-1)
