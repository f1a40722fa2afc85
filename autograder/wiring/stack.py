"""How a stack of layers is wired: its copies, what each receives, what becomes of the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from autograder.core.observation import Value
from autograder.wiring.formula import Sums
from autograder.wiring.layer import NEVER, Tensors, tell, unfelt
from autograder.wiring.recorder import Call, Record, own_parameters, parts_of


def stack_seen(
    stack: nn.Module, record: Record, inputs: Tensors, masks: Sequence[str]
) -> dict[str, Value]:
    """Call a stack around recorders once.

    Args:
        stack: the subject's.
        record: of the recorders that stand for its layers; their inputs have the names of `inputs`.
        inputs: what it is called with, in order; the first is x, and layers get the others too.
        masks: those of the inputs that are masks.

    Returns:
        copies: for each call, which copy it was (by where its parameter lies).
        registered, spare: copies among the stack's parameters that were called, and that were not.
        first, further: what the first layer received as x; what the others did, each formula once.
        one list for each other input: what was handed on in its place, each formula once.
        output: a formula. own: trainable numbers besides the layers'. unfelt: idle ones of these.
    """
    start, *others = inputs
    x = inputs[start]
    record.calls, record.shape = [], tuple(x.shape)
    handed = [t.clone() for t in inputs.values()]
    y = stack(*handed)
    untouched = all(torch.equal(a, b) for a, b in zip(handed, inputs.values(), strict=True))
    calls = list(record.calls)
    received = [
        _told(calls, i, c.inputs[start], inputs, masks, record) for i, c in enumerate(calls)
    ]
    found: dict[str, Value] = {
        **_copies(stack, calls),
        "first": received[0] if received else NEVER,
        "further": _once(received[1:]),
    }
    for name in others:
        told = [_told(calls, i, c.inputs[name], inputs, masks, record) for i, c in enumerate(calls)]
        found[name] = _once(told)
    own = own_parameters(stack)
    return {
        **found,
        "output": _told(calls, len(calls), y, inputs, masks, record),
        "own": sum(p.numel() for p in own),
        "unfelt": unfelt(y, own),
        "untouched": untouched,
    }


def _copies(stack: nn.Module, calls: Sequence[Call]) -> dict[str, Value]:
    used = list(dict.fromkeys(c.weight for c in calls))
    registered = set(parts_of(stack))
    return {
        "copies": [used.index(c.weight) + 1 for c in calls],
        "registered": len(registered & set(used)),
        "spare": len(registered - set(used)),
    }


def _told(
    calls: Sequence[Call], i: int, value: Any, inputs: Tensors, masks: Sequence[str], record: Record
) -> str:
    """What the i-th call received, or what was returned after all of them."""
    sums = Sums(record.draw)
    for name, known in inputs.items():
        if name not in masks:
            sums.add(name, known)
    for number, call in enumerate(calls[:i], 1):
        sums.add("previous" if number == i else f"layer {number}", call.output)
    return tell(value, sums, {n: inputs[n] for n in masks}).text


def _once(formulas: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(formulas))
