"""Probes of step 08: how a decoder layer and a decoder are wired, whoever wrote them."""

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

ATTENTIONS = ("self_attn", "src_attn")
PARTS = (*ATTENTIONS, "feed_forward")
MASKS = ("src_mask", "tgt_mask")


def layer(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What the layer hands to its sublayers, returns, and owns; its norms are moved.

    Calls of attention are told apart by their order, not by the module that is called: so the wrong
    module in the second place is seen there only.
    """
    inputs, longer = _inputs(draw, "first", 2, 7, 10), _inputs(draw, "longer", 3, 9, 6)
    record = Record(draw, *inputs["x"].shape)
    module = _layer(subject, draw, record, 0.0).eval()
    seen = Layer(module, record, inputs, MASKS, draw)
    back, across = _masks(seen, inputs["x"].size(1))
    handed, others = [*back, *across], _other_masks(2, 7, 10)
    return {
        **parameters(seen, module, PARTS),
        "back": seen.written(ATTENTIONS, 3, slice(1)),
        "across": seen.written(ATTENTIONS, 3, slice(1, None)),
        "network": seen.written(["feed_forward"], 1),
        "to_come": _attentions_after_network(seen),
        "mask_back": [*back],
        "mask_across": [*across],
        "other_masks": [*others_handed(module, record, inputs, others, _masks_in, handed)],
        "output": seen.returned.text,
        "untouched": seen.untouched,
        **gradients(seen, module, record, inputs, ["x"]),
        "longer": Layer(module, record, longer, MASKS, draw).returned.text,
    }


def layer_dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is left when everything is dropped, nothing, and in eval mode."""

    def build(record: Record, p: float) -> nn.Module:
        return _layer(subject, draw, record, p)

    return dropping(build, _inputs(draw, "first", 2, 7, 10), draw)


def stack(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The copies of a layer, what each receives, what the stack returns."""
    inputs = _inputs(draw, "first", 2, 7, 10)
    record = Record(draw, *inputs["x"].shape)
    module = subject.Decoder(record.recorder("layer", *inputs), draw.pick("N", (3, 4)))
    return stack_seen(settled(module, inputs, draw), record, inputs, _other_masks(2, 7, 10))


def _layer(subject: Subject, draw: Draw, record: Record, dropout: float) -> nn.Module:
    back, across = (record.recorder(p, "query", "key", "value", "mask") for p in ATTENTIONS)
    network = record.recorder("feed_forward", "x")
    module = subject.DecoderLayer(_size(draw), back, across, network, dropout)
    return settled(module, _inputs(draw, "first", 2, 7, 10), draw)


def _attentions_after_network(seen: Layer) -> int:
    """How many calls of attention come after the first of the feed-forward network."""
    called = [call.part for call in seen.calls]
    after = called[called.index("feed_forward") :] if "feed_forward" in called else []
    return sum(part in ATTENTIONS for part in after)


def _masks(seen: Layer, target: int) -> tuple[list[str], list[str]]:
    """The mask of the first call that looks at the target, and those of all other attentions."""
    pairs = zip(seen.calls, seen.told, strict=True)
    found = [(call, told[3]) for call, told in pairs if call.part in ATTENTIONS]
    texts = [text for _, text in found]
    first = next((i for i, (c, _) in enumerate(found) if _at_target(c, target)), len(found))
    return texts[first : first + 1], texts[:first] + texts[first + 1 :]


def _masks_in(calls: Sequence[Call]) -> list[object]:
    """In the order of `_masks`."""
    found = [c for c in calls if c.part in ATTENTIONS]
    return [c.inputs["mask"] for c in sorted(found, key=lambda c: not _at_target(c, 7))]


def _at_target(call: Call, target: int) -> bool:
    key = call.inputs.get("key")
    return isinstance(key, Tensor) and key.dim() == 3 and key.size(1) == target


def _other_masks(batch: int, length: int, source: int) -> list[dict[str, Tensor]]:
    """Of other shapes: for each token tokens of its own, or one mask for all sentences."""
    b, i, j = torch.meshgrid(*map(torch.arange, (batch, length, source)), indexing="ij")
    each = (b + i + 2 * j) % 3 > 0
    return [
        {"src_mask": each, "tgt_mask": each[:, :1, :length]},
        {"src_mask": each[:, :1], "tgt_mask": each[:1, :, :length]},
    ]


def _size(draw: Draw) -> int:
    return draw.pick("size", (11, 13, 15))


def _inputs(draw: Draw, name: str, batch: int, length: int, source: int) -> dict[str, Tensor]:
    """x and memory of different lengths, each sentence padded by another number of tokens."""
    row = torch.arange(batch)[:, None]
    kept = torch.arange(source) < source - 1 - row
    real = torch.arange(length) < length - row
    return {
        "x": draw.normal(f"{name}/x", batch, length, _size(draw)),
        "memory": draw.normal(f"{name}/memory", batch, source, _size(draw)),
        "src_mask": kept.unsqueeze(1),
        "tgt_mask": real.unsqueeze(1) & torch.ones(length, length).tril().bool(),
    }
