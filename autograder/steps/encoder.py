"""Probes of step 07: how an encoder layer and an encoder are wired, whoever wrote them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value
from autograder.core.subject import Subject
from autograder.wiring.layer import Layer, connected, dropping, parameters, settled
from autograder.wiring.recorder import Record
from autograder.wiring.stack import stack_seen

PARTS = ("self_attn", "feed_forward")


def layer(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What the layer hands to its sublayers, returns, and owns; its norms are moved."""
    inputs, longer = _inputs(draw, "first", 2, 7), _inputs(draw, "longer", 3, 9)
    record = Record(draw, *inputs["x"].shape)
    module = _layer(subject, draw, record, 0.0).eval()
    seen = Layer(module, record, inputs, ["mask"], draw)
    found = {
        **parameters(seen, module, PARTS),
        "attention": seen.written(["self_attn"], 3),
        "mask": seen.handed("self_attn", 3),
        "network": seen.written(["feed_forward"], 1),
        "output": seen.returned.text,
        "untouched": seen.untouched,
        "connected": seen.untouched and connected(module, record, inputs),
    }
    return {**found, "longer": Layer(module, record, longer, ["mask"], draw).returned.text}


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
    return stack_seen(settled(module, inputs, draw), record, inputs, ["mask"])


def _layer(subject: Subject, draw: Draw, record: Record, dropout: float) -> nn.Module:
    attention = record.recorder("self_attn", "query", "key", "value", "mask")
    network = record.recorder("feed_forward", "x")
    module = subject.EncoderLayer(_size(draw), attention, network, dropout)
    return settled(module, _inputs(draw, "first", 2, 7), draw)


def _size(draw: Draw) -> int:
    return draw.pick("size", (11, 13, 15))


def _inputs(draw: Draw, name: str, batch: int, length: int) -> dict[str, Tensor]:
    """x, and a mask that hides the end of each sentence, not as much in one as in another."""
    x = draw.normal(f"{name}/x", batch, length, _size(draw))
    real = length - 1 - torch.arange(batch)
    return {"x": x, "mask": (torch.arange(length) < real[:, None]).unsqueeze(1)}
