"""Whole models: built once for several probes, run part by part, changed and put back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.subject import Subject, Unusable, ordinary

PARTS = ("encoder", "decoder", "src_embed", "tgt_embed", "generator")


def hyper_parameters(draw: Draw) -> tuple[int, int, int, int, int, int]:
    """src_vocab, tgt_vocab, N, d_model, d_ff, h: all different, so that none can stand for another.

    The width is a multiple of 8, the usual number of heads: who ignores h builds a model all the same.
    """
    vocabs = draw.pick("vocabs", ((31, 37), (41, 35), (33, 43)))
    return (
        *vocabs,
        draw.pick("N", (2, 3)),
        24,
        draw.pick("d_ff", (20, 28)),
        draw.pick("h", (4, 6)),
    )


def whole_model(subject: Subject, draw: Draw, dropout: float = 0.0) -> Any:
    """The subject's model of these hyper-parameters, the same one each time; no probe may leave it changed.

    Raises:
        Unusable: what is built is no `nn.Module`.
    """
    key = ("model", dropout)
    seed, model = subject.memo.get(key, (None, None))
    if seed != draw.seed:  # only the latest is kept: a variant lives on from seed to seed
        with draw.torch_seeded("model"):
            model = as_module(subject.make_model(*hyper_parameters(draw), dropout))
        subject.memo[key] = draw.seed, model
    return model


def as_module(made: Any) -> Any:
    """What was made, if it is an `nn.Module`.

    Raises:
        Unusable: it is not.
    """
    if not isinstance(made, nn.Module):
        raise Unusable("not_module", kind=type(made).__name__)
    return made


def count(parameters: Iterable[nn.Parameter]) -> int:
    """How many trainable numbers these are."""
    return sum(p.numel() for p in parameters if p.requires_grad)


def vector(parameters: Iterable[Tensor]) -> Tensor:
    """All their numbers, one after the other; a copy."""
    return torch.cat([p.detach().reshape(-1) for p in parameters] or [torch.zeros(0)])


@contextmanager
def restored(model: nn.Module) -> Iterator[None]:
    """Parameters that are changed inside are put back."""
    before = [(p, p.detach().clone()) for p in model.parameters()]
    try:
        yield
    finally:
        with torch.no_grad():
            for p, values in before:
                p.copy_(values)


@torch.no_grad()
def run_stacks(model: Any, src: Tensor, tgt: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """What the encoder makes of source ids, and the decoder of target ids and that memory; nothing is padding.

    Part by part, since how `EncoderDecoder` joins them is looked at elsewhere.

    Raises:
        Unusable: one of them gives no tensor.
    """
    src_mask = torch.ones(len(src), 1, src.size(1), dtype=torch.bool)
    tgt_mask = torch.ones(1, tgt.size(1), tgt.size(1), dtype=torch.bool).tril()
    encoded = model.encoder(model.src_embed(src), src_mask)
    decoded = model.decoder(model.tgt_embed(tgt), memory.clone(), src_mask, tgt_mask)
    ordinary(encoded)
    ordinary(decoded)
    return encoded, decoded


@torch.no_grad()
def only_feed_forward(model: nn.Module, d_ff: int) -> None:
    """Put to 0 what starts at random and has no dim of size d_ff: attentions and embeddings then give zeros."""
    for p in model.parameters():
        if (
            d_ff not in p.shape
            and p.numel() > 1
            and not torch.equal(p, p.flatten()[0].expand_as(p))
        ):
            p.zero_()


def scale_of(embed: nn.Module, ids: Tensor) -> float:
    """By what an embedding multiplies the rows of its table: the largest slope of the sum of its outputs.

    Args:
        embed: from int64 (1, L) to (1, L, d_model), in eval mode.
        ids: int64 (1, L), all different.
    """
    weights = [p for p in embed.parameters() if p.requires_grad]
    y = embed(ids)
    if not weights or not isinstance(y, Tensor) or not y.requires_grad:
        return 0.0
    found = torch.autograd.grad(y.sum(), weights, allow_unused=True)
    return max((g.abs().max().item() for g in found if g is not None), default=0.0)


def heads_of(model: nn.Module) -> list[int]:
    """Sizes of the second axis of the attention weights (B, h, Lq, Lk) that modules keep as `.attn`."""
    kept = (getattr(m, "attn", None) for m in model.modules())
    return sorted({a.size(1) for a in kept if isinstance(a, Tensor) and a.dim() == 4})


def defaults_of(function: Callable[..., Any]) -> list[Any]:
    """Defaults of the first seven parameters, '-' where there is none; nothing where arguments are collected."""
    taken = list(inspect.signature(function).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in taken):
        return []
    return [_plain(p.default) for p in taken[:7]]


def _plain(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return "-"
    return default if type(default) in (int, float) else str(type(default).__name__)
