"""The frame of a model around parts that say how they are joined: its sentences, its parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.subject import Subject
from autograder.wiring.expression import Expressions, Part
from autograder.wiring.whole import PARTS, WIDTH, as_module

_CALLED = {
    "encoder": ("x", "mask"),
    "decoder": ("x", "memory", "src_mask", "tgt_mask"),
    "src_embed": ("x",),
    "tgt_embed": ("x",),
    "generator": ("x",),
}


def told(say: Callable[[], str]) -> str:
    """What is said, or the exception that came instead."""
    try:
        return say()
    except Exception as e:
        return f"{type(e).__name__}: {e}"[:120]


def forwards_unmasked(log: Expressions, model: Any, src: Tensor, tgt: Tensor) -> bool:
    """Whether `forward` takes None for masks, at least where `encode` and `decode` do."""
    composed = told(lambda: log.of(model.decode(model.encode(src, None), None, tgt, None)))
    joined = "decoder(tgt_embed(tgt), encoder(src_embed(src), None), None, None)"
    text = told(lambda: log.of(model(src, tgt, None, None)))
    return text in (composed, joined)


def wired(subject: Subject, draw: Draw) -> tuple[Expressions, dict[str, Part], Any]:
    """The subject's model of parts that are called what they are kept under."""
    log = Expressions(draw, WIDTH, sentences(draw))
    parts = {name: log.part(name, *_CALLED[name]) for name in PARTS}
    model = as_module(subject.EncoderDecoder(*parts.values()))
    for name in PARTS:
        part = getattr(model, name, None)
        if isinstance(part, Part):
            part.name = name
    return log, parts, model


def sentences(draw: Draw) -> dict[str, Tensor]:
    """Two sentences of 7 source and 5 target ids, a mask for each side, and a memory."""
    ids = draw.permutation("ids", 24) + 3
    return {
        "src": ids[:14].view(2, 7),
        "tgt": ids[14:].view(2, 5),
        "src_mask": torch.arange(7) < torch.tensor([7, 4]).view(2, 1, 1),
        "tgt_mask": torch.ones(1, 5, 5, dtype=torch.bool).tril(),
        "memory": draw.normal("memory", 2, 7, WIDTH),
    }


def reached(out: Any, parts: dict[str, Any]) -> list[str]:
    """Those of the parts (or tensors) that the output's gradient reaches."""
    if not isinstance(out, Tensor) or not out.requires_grad:
        return []
    weights = [p.weight if isinstance(p, Part) else p for p in parts.values()]
    found = torch.autograd.grad(out.sum(), weights, retain_graph=True, allow_unused=True)
    names = [getattr(part, "name", None) or name for name, part in parts.items()]
    return sorted(name for name, g in zip(names, found, strict=True) if g is not None)
