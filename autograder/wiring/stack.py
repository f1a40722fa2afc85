"""How a stack of layers is wired: its copies, what each receives, what becomes of the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from autograder.core.observation import Value
from autograder.wiring.formula import Sums
from autograder.wiring.layer import NEVER, Tensors, fed_alike, near, tell
from autograder.wiring.masks import others_handed
from autograder.wiring.recorder import Call, Record, own_parameters, parts_of
from autograder.wiring.slopes import steep, unfelt


def stack_seen(
    stack: nn.Module, record: Record, inputs: Tensors, others: Sequence[Tensors]
) -> dict[str, Value]:
    """Call a stack around recorders, with these inputs and with other masks.

    Args:
        stack: the subject's.
        record: of the recorders that stand for its layers; their inputs have the names of `inputs`.
        inputs: what it is called with, in order; the first is x, and layers get the others too.
        others: masks to call it with besides, by name; what else is an input is none.

    Returns:
        copies: for each call, which copy it was (by where its parameter lies).
        registered, spare: copies among the stack's parameters that were called, and that were not.
        first, further: what the first layer received as x; what the others did, each formula once.
        one list for each other input: what was handed on in its place, each formula once.
        other_masks: the same of other masks, and of None.
        slopes: the inputs along which the gradient is right.
        fed_in_training, kept_in_training: whether layers receive the same as in eval mode; and
        whether, where they do, the same comes out.
        output: a formula. own: trainable numbers besides the layers'. unfelt: idle ones of these.
    """
    masks, x = list(others[0]), next(iter(inputs.values()))
    record.calls, record.shape = [], tuple(x.shape)
    handed = [t.clone() for t in inputs.values()]
    y = stack(*handed)
    untouched = all(torch.equal(a, b) for a, b in zip(handed, inputs.values(), strict=True))
    calls = list(record.calls)
    received = _received(calls, inputs, masks, record)
    handed_on = [text for name in masks for text in cast(list[str], received[name])]

    def taken(calls: Sequence[Call]) -> list[Any]:
        return [c.inputs[name] for c in calls for name in masks]

    own = own_parameters(stack)
    return {
        **_copies(stack, calls),
        **received,
        "other_masks": _once(others_handed(stack, record, inputs, others, taken, handed_on)),
        "slopes": [*steep(stack, record, inputs, [n for n in inputs if n not in masks])],
        **_in_training(stack, record, inputs, calls, y),
        "output": _told(calls, len(calls), y, inputs, masks, record),
        "own": sum(p.numel() for p in own),
        "unfelt": unfelt(y, own),
        "untouched": untouched,
    }


def _received(
    calls: Sequence[Call], inputs: Tensors, masks: Sequence[str], record: Record
) -> dict[str, Value]:
    """What the layers received as x, and in the place of each other input."""
    told = {
        name: [_told(calls, i, c.inputs[name], inputs, masks, record) for i, c in enumerate(calls)]
        for name in inputs
    }
    start, *further = inputs
    x = told[start]
    return {
        "first": x[0] if x else NEVER,
        "further": _once(x[1:]),
        **{name: _once(told[name]) for name in further},
    }


@torch.no_grad()
def _in_training(
    stack: nn.Module, record: Record, inputs: Tensors, asked: Sequence[Call], y: Any
) -> dict[str, Value]:
    """What chance does, shows in one call or another."""
    fed = kept = True
    for _ in range(2):
        record.calls = []
        output = stack.train()(*(t.clone() for t in inputs.values()))
        fed = fed and len(record.calls) == len(asked) and fed_alike(record.calls, asked)
        kept = kept and (not fed or not isinstance(y, Tensor) or near(y, output))
    stack.eval()
    return {"fed_in_training": fed, "kept_in_training": kept}


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
