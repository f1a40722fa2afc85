"""Probes of step 06: what a layer normalization and a residual connection do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value, apart, see
from autograder.core.subject import Subject, Unreadable
from autograder.weights import settle
from autograder.weights.scalars import idle, in_common
from autograder.wiring.branch import Sublayer, gradient, left, run, teaches
from autograder.wiring.drops import KNOWN, one_by_one


def norm_parameters(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many trainable numbers there are, how many do nothing, and how many are another's too."""
    norm = subject.LayerNorm(_size(draw)).eval()
    x = draw.uniform("dry", 2, 3, _size(draw))
    norm(x.clone())
    shared = in_common(norm, subject.LayerNorm(_size(draw)))
    return {"count": _count(norm), "idle": idle(norm, x, draw), "in_common": shared}


def norm_start(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Gain and bias of a fresh normalization, whatever its formula is.

    The input holds every cyclic shift of one centred row of spread 1, along each of its dims, so
    all statistics are the same along any of them; and n(-x) = -n(x), so the sum of two outputs is
    twice the bias. Gains are told in quarters: the formula's own factor, a few per cent, belongs to
    another check. Where neither the output nor a gain's gradient follows x, there is none to tell.
    """
    features = _size(draw)
    row = draw.normal("row", features)
    row = (row - row.mean()) / row.std()
    i = torch.arange(features)
    x = row[(i[:, None, None] + i[:, None] + i) % features]
    norm = subject.LayerNorm(features).eval()
    outputs = [norm(x.clone()), norm(-x)]
    there, back = map(see, outputs)
    if not isinstance(there, Tensor) or not isinstance(back, Tensor):
        return {"gain": there, "bias": back}
    gain = ((there - back) / 2 * x).mean((0, 1)) / x.square().mean((0, 1))
    gain = gain.mul(4).round() / 4
    follows = bool(gain.any()) or _follows(norm, outputs, draw.uniform("weigh", *x.shape))
    return {"gain": gain if follows else None, "bias": ((there + back) / 2).mean((0, 1))}


def norm_output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values with the grader's gain and bias; rows of several means, spread near 1."""
    features = _size(draw)
    norm, _ = _settled(subject, draw)
    x = _rows(draw, "x", 2, 6, features)
    kept = x.clone()
    y = see(norm(x))
    return {
        "untouched": torch.equal(x, kept),  # first: the cause of what follows
        "y": y,
        "longer": see(norm(_rows(draw, "longer", 3, 9, features))),
    }


def norm_eps(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Rows whose spread is about as small as the given eps, and rows that have none."""
    eps = draw.pick("eps", (0.02, 0.03, 0.05))
    norm = _normalized(subject, draw, eps=eps)
    subject.LayerNorm(_size(draw), eps=1.0)  # which must not change the other's eps
    return {
        "small": see(norm(eps * draw.normal("x", 2, 6, _size(draw)))),
        "no_spread": see(norm(torch.zeros(1, 2, _size(draw)))),
    }


def norm_gradients(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the gradient is the slope of the subject's own output, along a few directions."""
    norm = _normalized(subject, draw)
    x = _rows(draw, "x", 4, 6, _size(draw)).requires_grad_()
    y = norm(x)
    weigh = draw.normal("cotangent", *x.shape)
    if not isinstance(y, Tensor) or y.shape != x.shape:
        return {"connected": see(y)}
    weighed = (y * weigh).sum()
    dx = torch.autograd.grad(weighed, x, allow_unused=True)[0] if y.requires_grad else None
    if dx is None:
        return {"connected": False}
    slopes = []
    for i in range(6):
        along = draw.normal(f"along{i}", *x.shape)
        slopes.append((dx * along).sum() - _slope(norm, x, along, weigh))
    return {"connected": True, "slopes": torch.stack(slopes)}


def norm_eps_default(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Rows so small that the eps that is used when none is given shows."""
    norm = _normalized(subject, draw)
    return {"tiny": see(norm(1e-6 * draw.normal("x", 2, 6, _size(draw))))}


def norm_ranks(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Inputs of four and of two dims."""
    norm = _normalized(subject, draw)
    deep, flat = (2, 3, 4, _size(draw)), (7, _size(draw))
    return {n: see(norm(_rows(draw, n, *s))) for n, s in (("deep", deep), ("flat", flat))}


def norm_constant(subject: Subject, draw: Draw) -> dict[str, Value]:
    """A row whose features are all equal: is all finite?"""
    x = torch.full((2, 3, _size(draw)), 0.5, requires_grad=True)
    y = subject.LayerNorm(_size(draw))(x)
    dx = torch.autograd.grad(y.sum(), x)[0]
    return {"finite": bool(y.isfinite().all()), "finite_gradient": bool(dx.isfinite().all())}


def residual_input(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What the sublayer is called with, compared with what the subject's own norm makes of x."""
    norm, block = _norm_and_block(subject, draw)
    x = _rows(draw, "x", 2, 6, _size(draw))
    sublayer = Sublayer(lambda h: h * 0.5)
    leaf, weigh = x.clone().requires_grad_(), draw.normal("cotangent", *x.shape)
    block.train()(leaf.clone(), sublayer)
    block.eval()
    norm(x.clone())
    found: dict[str, Value] = {"calls": len(sublayer.inputs), "received": None, "reached": None}
    if sublayer.inputs:
        found["received"] = apart(sublayer.inputs[0], norm(x.clone()))
        reached = gradient(sublayer.inputs[0], leaf, weigh)
        found["reached"] = apart(reached, gradient(norm(leaf.clone()), leaf, weigh))
    found["extra"] = _count(block) - _count(norm)
    found["in_common"] = in_common(block, _block(subject, draw, 0.0))
    for module in (norm, block):
        for p in module.parameters():
            p.data.mul_(1.5).add_(0.25)
    block(x.clone(), sublayer)
    close = found["calls"] == 1 and torch.allclose(sublayer.inputs[-1], norm(x.clone()), atol=1e-4)
    return {**found, "follows": close}


def residual_output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is left of the output without x and what the sublayer gave; and both their gradients."""
    size = _size(draw)
    block = _block(subject, draw, 0.0).eval()
    x = _rows(draw, "x", 2, 6, size)
    kept = x.clone()
    layer = nn.Linear(size, size).requires_grad_(False)
    layer.weight.copy_(draw.normal("sublayer", size, size, scale=0.3))
    zero = block(x, torch.zeros_like)
    found: dict[str, Value] = {"of_zero": apart(zero, kept)}
    for kind in ("function", "method", "module"):
        found[f"of_{kind}"] = left(block, x, kind, layer)
    block.train()
    found["taught"] = teaches(block, x, draw)
    found["untouched"] = torch.equal(x, kept)
    x = kept.clone().requires_grad_()
    weigh = draw.normal("cotangent", *x.shape)
    found["gradient"] = apart(gradient(block(x.clone(), torch.zeros_like), x, weigh), weigh)
    return found


def residual_dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Everything dropped in training, nothing dropped, and everything in eval mode; and a half.

    All is compared with the subject's own block without dropout, and the sublayer gives the same
    tensor whatever it gets: so neither the norm nor the sum plays a part.
    """
    x, branch = _rows(draw, "x", 2, 6, _size(draw)), draw.normal("branch", 2, 6, _size(draw))
    found: dict[str, Value] = {}
    for name, p, training in KNOWN:
        given = torch.zeros_like(branch) if name == "all" else branch
        asked, fed = run(_block(subject, draw, 0.0).eval(), x, given)
        block = _block(subject, draw, p).train(training)
        (one, fed_one), (two, fed_two) = run(block, x, branch), run(block, x, branch)
        repeats = all(map(_same, (one, *fed_one), (two, *fed_two)))
        found[f"{name}_repeats"] = repeats
        found[f"{name}_output"] = apart(one, asked) if repeats else None
        found[f"{name}_fed"] = apart(fed_one[0], fed[0]) if repeats and fed and fed_one else None
    block = _block(subject, draw, 0.5).train()
    found["fresh"] = not _same(run(block, x, branch)[0], run(block, x, branch)[0])
    factors = _factors(subject, draw)
    few = len(factors.unique()) <= 2  # else something other than dropout plays a part
    found["one_by_one"] = one_by_one(factors == factors.min()) if few else [True, True, True]
    return found


def residual_scaling(subject: Subject, draw: Draw) -> dict[str, Value]:
    """By what the branch is multiplied when half of it is dropped, each once; None if by many."""
    factors = _factors(subject, draw).unique()
    return {"factors": factors if len(factors) < 4 else None}


def _factors(subject: Subject, draw: Draw) -> Tensor:
    """What each number of the branch is multiplied by, to three digits: float32 (8, 6, size)."""
    x = torch.zeros(8, 6, _size(draw))
    block = _block(subject, draw, 0.5).eval()
    zero, one = (block(x.clone(), give).detach() for give in (torch.zeros_like, torch.ones_like))
    part = block.train()(x.clone(), torch.ones_like).detach()
    return ((part - zero) / (one - zero)).mul(1e3).round() / 1e3


def _size(draw: Draw) -> int:
    return draw.pick("features", (11, 13, 15))


def _rows(draw: Draw, name: str, *shape: int) -> Tensor:
    """Rows of spread near 1 and different means."""
    means = draw.normal(f"{name}/means", *shape[:-1], 1, scale=2.0)
    return draw.normal(name, *shape) * draw.uniform(f"{name}/spreads", *shape[:-1], 1) + means


def _count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def _settled(subject: Subject, draw: Draw, **eps: float) -> tuple[nn.Module, list[str]]:
    features = _size(draw)
    return settle.layer_norm(lambda _: subject.LayerNorm(features, **eps), features, subject, draw)


def _normalized(subject: Subject, draw: Draw, **eps: float) -> Callable[[Tensor], Any]:
    """What the subject makes of x, without gain and bias.

    With the grader's two where they can be written, so that it does not matter how they start.
    """
    weights = settle.canonical({"gain": (_size(draw),), "bias": (_size(draw),)}, draw)
    try:
        norm, _ = _settled(subject, draw, **eps)
    except Unreadable:
        return subject.LayerNorm(_size(draw), **eps).eval()
    bias = weights["bias"] * float("bias" not in subject.terms["absent"])

    def call(x: Tensor) -> Any:
        y = norm(x)
        return (y - bias) / weights["gain"] if isinstance(y, Tensor) else y

    return call


def _norm_and_block(subject: Subject, draw: Draw) -> tuple[nn.Module, nn.Module]:
    with draw.torch_seeded("start"):  # should they start at random, then alike
        norm = subject.LayerNorm(_size(draw)).eval()
    return norm, _block(subject, draw, 0.0).eval()


def _block(subject: Subject, draw: Draw, dropout: float) -> nn.Module:
    with draw.torch_seeded("start"):
        block: nn.Module = subject.SublayerConnection(_size(draw), dropout)
    return block


def _follows(norm: nn.Module, outputs: list[Tensor], weigh: Tensor) -> bool:
    """Whether some parameter's gradient is another for the second output than for the first."""
    parameters = [p for p in norm.parameters() if p.requires_grad]
    if not parameters or not outputs[0].requires_grad:
        return False
    there, back = (
        torch.autograd.grad((y * weigh).sum(), parameters, allow_unused=True) for y in outputs
    )
    pairs = [(a, b) for a, b in zip(there, back, strict=True) if a is not None and b is not None]
    return any(not torch.allclose(a, b, atol=1e-2) for a, b in pairs)


@torch.no_grad()
def _slope(norm: Callable[[Tensor], Any], x: Tensor, along: Tensor, weigh: Tensor) -> Tensor:
    """Of sum(norm(x) * weigh), by the five-point rule, summed up in float64."""

    def rise(step: float) -> Tensor:
        return ((norm(x + step * along) - norm(x - step * along)).double() * weigh).sum()

    h = 0.01
    return ((8 * rise(h) - rise(2 * h)) / (12 * h)).float()


def _same(one: Any, two: Any) -> bool:
    return isinstance(one, Tensor) and isinstance(two, Tensor) and torch.equal(one, two)
