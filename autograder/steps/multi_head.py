"""Probes of step 03: what copies of a layer and a multi-head attention do, whoever wrote them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, apart, see
from autograder.core.probing import attempt
from autograder.core.subject import Subject, Unreadable
from autograder.weights import settle
from autograder.weights.attention import idle
from autograder.wiring.alike import close, slopes_apart
from autograder.wiring.drops import coins

# Batch, queries and keys of the calls: no two alike, and none a number of heads or their width.
_B, _LQ, _LK = 2, 6, 8


def copies(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Change one copy after the other: how many have moved?"""
    n = _copies(draw)
    stack = list(subject.clones(nn.Linear(5, 7), n))
    odd = [m for m in stack if not isinstance(m, nn.Linear)]
    if odd:
        return {"kind": see(odd[0])}
    return {
        "kind": "Linear",
        "number": len(stack),
        "moved": [_moved(stack, m) for m in stack],
        "objects": len({id(m) for m in stack}),
    }


def registered(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The copies inside a module that owns them: found by it, counted, iterated and indexed."""
    n = _copies(draw)
    parent = nn.Module()
    layers: Any = subject.clones(nn.Linear(5, 7), n)
    parent.layers = layers
    # with duplicates: that copies are one and the same is another check's matter
    reached = parent.named_parameters(remove_duplicate=False)
    return {
        "reached": sum(p.numel() for _, p in reached),
        "length": _length(layers),
        "indexed": not attempt(lambda: layers[n - 1].weight),
        "iterated": not attempt(lambda: iter(layers)),
    }


def container(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the copies run as a chain, and whether the original is one of them."""
    original = nn.Linear(5, 5)
    stack = subject.clones(original, _copies(draw))
    chained = callable(stack) and not attempt(lambda: stack(torch.ones(1, 5)))
    # where all move with it, the copies are one: another check's matter
    follow = _moved([*stack], original)
    return {"chained": chained, "original_moves": 0 < follow < len(stack)}


def parameters(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many trainable numbers there are, and how many of them do nothing."""
    h, d_model = _sizes(draw)
    module = subject.MultiHeadedAttention(h, d_model)  # dropout has a default
    if any(is_lazy(p) for p in module.parameters()):
        module(*_inputs(draw, "dry", 1, 1, 1, d_model))
    count = sum(p.numel() for p in module.parameters() if p.requires_grad)
    return {"count": count, "idle": _idle(subject, draw)}


def divides(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which numbers of heads are refused, at construction."""
    d_model, good, bad = draw.pick("divides", ((10, 5, 4), (14, 7, 4), (15, 5, 6)))
    subject.MultiHeadedAttention(good, d_model, 0.0)  # what refuses everything shows here
    return {"refused": attempt(lambda: subject.MultiHeadedAttention(bad, d_model, 0.0))}


def output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values of two calls of other sizes in eval mode, and whether the inputs were left alone."""
    module, matrices = _settled(subject, draw)
    inputs = _inputs(draw, "x", _B, _LQ, _LK, _sizes(draw)[1])
    kept = [t.clone() for t in inputs]
    first = see(module(*inputs))
    again = see(module(*_inputs(draw, "longer", 4, 9, 11, _sizes(draw)[1])))
    x = draw.normal("self", 3, 7, _sizes(draw)[1])
    return {
        "matrices": list(matrices),
        "untouched": all(torch.equal(a, b) for a, b in zip(inputs, kept, strict=True)),
        "y": first,
        "longer": again,
        "self": see(module(x, x, x)),
    }


def gradients(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How the output depends on query, key and value; with what changes no number, how far else."""
    module, _ = _settled(subject, draw)
    inputs = [t.requires_grad_() for t in _inputs(draw, "x", _B, _LQ, _LK, _sizes(draw)[1])]
    y = module(*inputs)
    if not isinstance(y, Tensor) or y.shape != inputs[0].shape or not y.requires_grad:
        return {"dquery": see(y) if not isinstance(y, Tensor) else Odd("no gradient")}
    cotangent = draw.normal("cotangent", *y.shape)
    found = torch.autograd.grad((y * cotangent).sum(), inputs, allow_unused=True)
    names = ("dquery", "dkey", "dvalue")
    named = {
        n: torch.zeros_like(t) if g is None else g
        for n, t, g in zip(names, inputs, found, strict=True)
    }
    open_mask = torch.ones(_B, 1, _LK, dtype=torch.bool)
    return {
        **named,
        "open_mask": slopes_apart(module, lambda *t: module(*t, open_mask), inputs, draw),
        "training": slopes_apart(module, lambda *t: module.train()(*t), inputs, draw),
    }


def mask(subject: Subject, draw: Draw) -> dict[str, Value]:
    """A hidden key is as good as absent: masked calls minus calls without the hidden keys."""
    module = _settled_or_fresh(subject, draw)
    h = _sizes(draw)[0]
    return {
        "padded": _hiding(module, draw, "padded", _B, padding=True),
        "padded_h": _hiding(module, draw, "padded_h", h, padding=True),
        "by_query": _hiding(module, draw, "by_query", _B, padding=False),
        "by_itself": _hiding(module, draw, "by_itself", _B, padding=False, queries=_LK),
        "key_matters": _key_matters(module, draw),
    }


def mask_types(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether a mask of numbers does what the same mask of booleans does."""
    module = _settled_or_fresh(subject, draw)
    inputs = _inputs(draw, "x", _B, _LQ, _LK, _sizes(draw)[1])
    keep, _ = _visible(draw, "types", _B, 1)
    plain = module(*inputs, keep)
    kinds = {"uint8": torch.uint8, "int64": torch.int64, "float32": torch.float32}
    return {name: apart(module(*inputs, keep.to(kind)), plain) for name, kind in kinds.items()}


def attn(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What `.attn` holds after two calls and under a mask; heads may stand in any order."""
    module, _ = _settled(subject, draw)
    d_model = _sizes(draw)[1]
    module(*_inputs(draw, "x", _B, _LQ, _LK, d_model))
    first = _by_head(draw, see(getattr(module, "attn", None)))
    module(*_inputs(draw, "longer", 4, 9, 11, d_model))
    again = _by_head(draw, see(getattr(module, "attn", None)))
    return {"attn": first, "attn_again": again, "attn_masked": _attn_under_mask(module, draw)}


def dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """All dropped, nothing dropped, eval mode; and whether a lone weight is dropped as a whole."""
    d_model = _sizes(draw)[1]
    inputs = _inputs(draw, "x", _B, _LQ, _LK, d_model)
    others = _inputs(draw, "others", _B, _LQ, _LK, d_model)
    tokens = _inputs(draw, "row", 1, 1, 1, d_model)
    none = _settled_or_fresh(subject, draw)
    plain = none(*inputs)
    every = _settled_or_fresh(subject, draw, dropout=1.0)
    evaluated = apart(every(*inputs), plain)
    torch.manual_seed(0)  # a mistake that leaves some of it to chance looks the same in every build
    left = every.train()(*inputs)
    return {
        "nothing_dropped": apart(none.train()(*inputs), plain),
        "evaluated": evaluated,
        "all_dropped": apart(left, every(*others)),
        "all_zero": isinstance(left, Tensor) and not bool(left.any()),
        **coins(_settled_or_fresh(subject, draw, dropout=0.5), tokens, 2 ** _sizes(draw)[0]),
    }


def _copies(draw: Draw) -> int:
    return draw.pick("copies", (3, 4, 5))


def _moved(stack: list[nn.Linear], changed: nn.Module) -> int:
    before = [m.weight.detach().clone() for m in stack]
    with torch.no_grad():
        for p in changed.parameters():
            p.add_(1)
    return sum(not torch.equal(m.weight, w) for m, w in zip(stack, before, strict=True))


def _length(layers: Any) -> Value:
    if hasattr(layers, "__len__"):
        return len(layers)
    return Odd(f"{type(layers).__name__} without a length")


def _sizes(draw: Draw) -> tuple[int, int]:
    return draw.pick("sizes", ((3, 15), (3, 21), (5, 15)))


def _inputs(
    draw: Draw, name: str, batch: int, queries: int, keys: int, d_model: int
) -> list[Tensor]:
    lengths = {"query": queries, "key": keys, "value": keys}
    return [draw.normal(f"{name}/{n}", batch, m, d_model) for n, m in lengths.items()]


def _builder(subject: Subject, draw: Draw) -> Callable[[float], Any]:
    h, d_model = _sizes(draw)
    return lambda p: subject.MultiHeadedAttention(h, d_model, p)


def _settled(subject: Subject, draw: Draw, dropout: float = 0.0) -> tuple[nn.Module, list[str]]:
    h, d_model = _sizes(draw)
    return settle.attention(_builder(subject, draw), h, d_model, subject, draw, dropout)


def _settled_or_fresh(subject: Subject, draw: Draw, dropout: float = 0.0) -> nn.Module:
    """For what holds under any weights: where they cannot be read, random ones."""
    try:
        return _settled(subject, draw, dropout)[0]
    except Unreadable:
        torch.manual_seed(0)  # the same ones each time
        module: nn.Module = _builder(subject, draw)(dropout).eval()
        module(*_inputs(draw, "dry", 1, 1, 1, _width(draw)))
        with torch.no_grad():
            for p in module.parameters():  # biases that begin at 0 too
                p.add_(torch.randn(p.shape) * 0.1)
        return module


def _visible(draw: Draw, name: str, batch: int, queries: int) -> tuple[Tensor, Tensor]:
    """A mask, bool (batch, queries, keys), and where it is True: 5 keys of 8, anew in each row."""
    rows = [draw.permutation(f"{name}/{i}", _LK)[:5] for i in range(batch * queries)]
    where = torch.stack(rows).view(batch, queries, 5)
    keep = torch.zeros(batch, queries, _LK, dtype=torch.bool).scatter_(2, where, True)
    return keep, where


def _hiding(
    module: nn.Module, draw: Draw, name: str, batch: int, padding: bool, queries: int = _LQ
) -> Value:
    query, key, value = _inputs(draw, name, batch, queries, _LK, _width(draw))
    keep, where = _visible(draw, name, batch, 1 if padding else queries)
    masked = module(query.clone(), key.clone(), value.clone(), keep.clone())
    rows = torch.arange(batch)[:, None, None]
    left_key, left_value = (t[rows, where].flatten(0, 1) for t in (key, value))
    left = module(query if padding else query.reshape(-1, 1, _width(draw)), left_key, left_value)
    if isinstance(left, Tensor) and left.numel() == query.numel():
        left = left.reshape(query.shape)
    return apart(masked, left)


def _width(draw: Draw) -> int:
    return _sizes(draw)[1]


def _key_matters(module: nn.Module, draw: Draw) -> bool:
    query, key, value = _inputs(draw, "x", _B, _LQ, _LK, _width(draw))
    moved = apart(module(query, key, value), module(query, -key, -value))
    return isinstance(moved, Tensor) and bool(moved.abs().max() > 1e-4)


def _by_head(draw: Draw, weights: Value) -> Value:
    """The heads in an order that depends on what they hold."""
    if not isinstance(weights, Tensor) or weights.dim() != 4:
        return weights
    marks = draw.normal(f"marks{weights[:, 0].numel()}", weights[:, 0].numel())
    order = (weights.transpose(0, 1).flatten(1).float() @ marks).argsort()
    return weights[:, order]


def _attn_under_mask(module: nn.Module, draw: Draw) -> Value:
    """`.attn` under a mask, at visible keys, minus that of a call with those keys alone.

    0 where the two outputs differ: another check tells of that.
    """
    query, key, value = _inputs(draw, "hidden", _B, _LQ, _LK, _width(draw))
    keep, where = _visible(draw, "hidden", _B, 1)
    rows = torch.arange(_B)[:, None, None]
    shape = (_B, _sizes(draw)[0], _LQ, where.size(-1))
    try:
        y, masked = module(query, key, value, keep), getattr(module, "attn", None)
    except Exception:
        return torch.zeros(shape)
    left = module(query, key[rows, where].squeeze(1), value[rows, where].squeeze(1))
    if not close(y, left):
        return torch.zeros(shape)
    if isinstance(masked, Tensor) and masked.shape == (*shape[:3], _LK):
        masked = masked.gather(-1, where[:, None].expand(shape))
    return apart(masked, getattr(module, "attn", None))


def _idle(subject: Subject, draw: Draw) -> int:
    """How many trainable scalars do nothing beside four layers; 0 where those cannot be read."""
    try:
        module, _ = _settled(subject, draw)
    except Exception:  # other checks tell of that
        return 0
    tokens = [draw.uniform(f"idle/{n}", _B, n, _width(draw)) for n in (_LQ, _LK)]
    return idle(module, subject.memo["attention", *_sizes(draw)], tokens, draw)
