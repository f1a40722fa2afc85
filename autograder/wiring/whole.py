"""Whole models: built once for several probes, run part by part, changed and put back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.given import REFERENCE
from autograder.core.subject import Subject, Unusable, ordinary

PARTS = ("encoder", "decoder", "src_embed", "tgt_embed", "generator")
WIDTH = 24  # d_model


def hyper_parameters(draw: Draw) -> tuple[int, int, int, int, int, int]:
    """src_vocab, tgt_vocab, N, d_model, d_ff, h: all different, so that none can stand for another.

    The width is a multiple of 8, the usual number of heads: who ignores h can build a model, too.
    """
    vocabs = draw.pick("vocabs", ((31, 37), (41, 35), (33, 43)))
    return *vocabs, 2, WIDTH, draw.pick("d_ff", (20, 28)), draw.pick("h", (4, 6))


@dataclass
class _Latest:
    """The models of one subject and seed; those of all variants together would fill the memory."""

    subject: Subject | None = None
    seed: int = 0
    models: dict[float, Any] = field(default_factory=dict)


_latest = _Latest()


def whole_model(subject: Subject, draw: Draw, dropout: float = 0.0) -> Any:
    """The subject's model of these hyper-parameters, one for all probes: none may leave it changed.

    Raises:
        Unusable: what is built is no `nn.Module`.
    """
    global _latest
    if _latest.subject is not subject or _latest.seed != draw.seed:
        _latest = _Latest(subject, draw.seed)
    if dropout not in _latest.models:
        with draw.torch_seeded(f"model with {dropout}" if dropout else "model"):
            made = subject.make_model(*hyper_parameters(draw), dropout)
        _latest.models[dropout] = as_module(made)
    return _latest.models[dropout]


def small_model(subject: Subject) -> Any:
    """A model of other sizes.

    Raises:
        Unusable: what is built is no `nn.Module`.
    """
    return as_module(subject.make_model(29, 27, 1, 16, 12, 2, 0.0))


def two_models(subject: Subject, draw: Draw) -> list[Any]:
    """Two of the same sizes, built one after the other; the one, where dropout 1 is refused."""
    try:
        return [whole_model(subject, draw, p) for p in (0.0, 1.0)]
    except Exception:  # it is told where dropout is looked at
        return [whole_model(subject, draw)]


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
def restored(model: Any) -> Iterator[None]:
    """Parameters that are changed inside are put back, those that the model does not see, too."""
    every = {
        p for module in (model, *(getattr(model, n) for n in PARTS)) for p in module.parameters()
    }
    before = [(p, p.detach().clone()) for p in every]
    try:
        yield
    finally:
        with torch.no_grad():
            for p, values in before:
                p.copy_(values)


@torch.no_grad()
def run_stacks(model: Any, x: Tensor, y: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """What the encoder makes of x (B, S, d_model), and the decoder of y (B, T, d_model) and memory.

    Nothing is padding. Called directly: how `EncoderDecoder` joins them is looked at elsewhere.

    Raises:
        Unusable: one of them gives no tensor.
    """
    src_mask = torch.ones(len(x), 1, x.size(1), dtype=torch.bool)
    tgt_mask = torch.ones(1, y.size(1), y.size(1), dtype=torch.bool).tril()
    encoded = model.encoder(x.clone(), src_mask)
    decoded = model.decoder(y.clone(), memory.clone(), src_mask, tgt_mask)
    ordinary(encoded)
    ordinary(decoded)
    return encoded, decoded


@torch.no_grad()
def redraw(model: nn.Module) -> None:
    """Put random numbers into all matrices, whatever they started with."""
    for p in model.parameters():
        if p.dim() > 1:
            p.uniform_(-0.3, 0.3)


@torch.no_grad()
def only_feed_forward(model: nn.Module, d_ff: int) -> None:
    """Put to 0 what is not all equal and has no dim of size d_ff: attentions then give zeros."""
    for p in model.parameters():
        if d_ff not in p.shape and p.numel() and bool((p != p.flatten()[0]).any()):
            p.zero_()


def scale_of(embed: nn.Module) -> float:
    """By what an embedding multiplies its table: the largest slope of the sum of its outputs.

    Args:
        embed: from int64 (1, L) to (1, L, d_model), in eval mode, of 7 ids or more.
    """
    weights = [p for p in embed.parameters() if p.requires_grad]
    y = embed(torch.arange(7)[None])
    if not weights or not isinstance(y, Tensor) or not y.requires_grad:
        return 0.0
    found = torch.autograd.grad(y.sum(), weights, allow_unused=True)
    return max((g.abs().max().item() for g in found if g is not None), default=0.0)


@torch.no_grad()
def share_of_zeros(embed: nn.Module, ids: Tensor) -> str | None:
    """The share of exact zeros in what is embedded in training: '0', '1' or '0..1' for some.

    None where there are no positions: the layer that adds them is the one that drops.
    """
    try:
        same = embed.eval()(torch.full_like(ids, 5))
        y = embed.train()(ids)
        if torch.equal(same, same[:, :1].expand_as(same)):
            return None
    except Exception:  # what is wrong there is told where embeddings are looked at
        return None
    share = (y == 0).double().mean().item()
    return f"{share:.0f}" if share in (0, 1) else "0..1"


def biases_beyond(module: nn.Module) -> bool:
    """Whether a bias of the given pieces' linear layers is larger than torch makes it.

    torch draws it uniformly below 1/sqrt(fan_in). Put to 0 it is as good.
    """
    given = (m for m in module.modules() if type(m).__module__.split(".")[0] == REFERENCE)
    linear = {m for g in given for m in g.modules() if type(m) is nn.Linear and m.bias is not None}
    sizes = (m.bias.detach().abs().max().item() * m.in_features**0.5 for m in linear)
    return any(size > 1 + 1e-5 for size in sizes)


def heads_of(model: nn.Module) -> list[int]:
    """Numbers of heads of the attention weights (B, h, Lq, Lk) that modules keep as `.attn`."""
    kept = (getattr(m, "attn", None) for m in model.modules())
    return sorted({a.size(1) for a in kept if isinstance(a, Tensor) and a.dim() == 4})


def defaults_of(function: Callable[..., Any]) -> list[Any]:
    """Defaults of the first seven parameters; '-' is none."""
    taken = list(inspect.signature(function).parameters.values())
    return [_plain(p.default) for p in taken[:7]]


def _plain(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return "-"
    return default if type(default) in (int, float) else str(type(default).__name__)
