"""Probes of step 07: how an encoder layer and an encoder are wired, whoever wrote them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value
from autograder.core.subject import Subject
from autograder.wiring.layer import Layer, dropping, gradients, parameters, settled
from autograder.wiring.masks import others_handed
from autograder.wiring.recorder import Call, Record
from autograder.wiring.stack import stack_seen

PARTS = ("self_attn", "feed_forward")


def layer(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What the layer hands to its sublayers, returns, and owns; its norms are moved."""
    inputs, longer = _inputs(draw, "first", 2, 7), _inputs(draw, "longer", 3, 9)
    record = Record(draw, *inputs["x"].shape)
    module = _layer(subject, draw, record, 0.0).eval()
    seen = Layer(module, record, inputs, ["mask"], draw)
    handed, others = seen.handed("self_attn", 3), _other_masks(2, 7)
    return {
        **parameters(seen, module, PARTS),
        "attention": seen.written(["self_attn"], 3),
        "mask": [*handed],
        "other_masks": [*others_handed(module, record, inputs, others, _masks_in, handed)],
        "network": seen.written(["feed_forward"], 1),
        "output": seen.returned.text,
        "untouched": seen.untouched,
        **gradients(seen, module, record, inputs, ["x"]),
        "longer": Layer(module, record, longer, ["mask"], draw).returned.text,
    }


def layer_dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is left when everything is dropped, nothing, and in eval mode."""

    def build(record: Record, p: float) -> nn.Module:
        return _layer(subject, draw, record, p)

    return dropping(build, _inputs(draw, "first", 2, 7), draw)


def stack(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The copies of a layer, what each receives, what the stack returns."""
    inputs = _inputs(draw, "first", 2, 7)
    record = Record(draw, *inputs["x"].shape)
    module = subject.Encoder(record.recorder("layer", "x", "mask"), draw.pick("N", (3, 4)))
    return stack_seen(settled(module, inputs, draw), record, inputs, _other_masks(2, 7))


def _layer(subject: Subject, draw: Draw, record: Record, dropout: float) -> nn.Module:
    attention = record.recorder("self_attn", "query", "key", "value", "mask")
    network = record.recorder("feed_forward", "x")
    module = subject.EncoderLayer(_size(draw), attention, network, dropout)
    return settled(module, _inputs(draw, "first", 2, 7), draw)


def _masks_in(calls: Sequence[Call]) -> list[object]:
    return [c.inputs["mask"] for c in calls if c.part == "self_attn"]


def _other_masks(batch: int, length: int) -> list[dict[str, Tensor]]:
    """Of another shape: each token may look at tokens of its own, before it and behind it."""
    b, i, j = torch.meshgrid(*map(torch.arange, (batch, length, length)), indexing="ij")
    return [{"mask": (b + i + 2 * j) % 3 > 0}]


def _size(draw: Draw) -> int:
    return draw.pick("size", (11, 13, 15))


def _inputs(draw: Draw, name: str, batch: int, length: int) -> dict[str, Tensor]:
    """x, and a mask that hides the end of each sentence, not as much in one as in another."""
    x = draw.normal(f"{name}/x", batch, length, _size(draw))
    real = length - 1 - torch.arange(batch)
    return {"x": x, "mask": (torch.arange(length) < real[:, None]).unsqueeze(1)}
