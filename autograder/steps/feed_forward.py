"""Probes of step 04: what a position-wise feed-forward network does, whoever wrote it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from autograder.core.draw import Draw
from autograder.core.observation import Value, apart, see
from autograder.core.subject import Subject, Unreadable
from autograder.weights import settle
from autograder.weights.layers import Shape
from autograder.weights.scalars import idle, in_common
from autograder.wiring.drops import KNOWN, one_by_one


def shape(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Two calls, with other lengths: the outputs' shapes are all that is told."""
    d_model, d_ff = _sizes(draw)
    network = subject.PositionwiseFeedForward(d_model, d_ff, 0.0).eval()
    outputs = [see(network(draw.normal(f"x{n}", *n, d_model))) for n in ((2, 6), (3, 9))]
    return {
        f"shape_{i}": list(y.shape) if isinstance(y, Tensor) else y for i, y in enumerate(outputs)
    }


def parameters(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many trainable numbers there are, how many do nothing, and how many are another's too."""
    d_model, d_ff = _sizes(draw)
    network = subject.PositionwiseFeedForward(d_model, d_ff).eval()  # dropout has a default
    other = subject.PositionwiseFeedForward(d_model, d_ff)
    x = draw.uniform("dry", 2, 3, d_model)
    network(x.clone())
    count = sum(p.numel() for p in network.parameters() if p.requires_grad)
    shared = in_common(network, other)
    return {"count": count, "idle": idle(network, x, draw), "in_common": shared}


def output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values in eval mode, and whether the input was left alone, in training mode too."""
    d_model, _ = _sizes(draw)
    try:
        network, matrices = _settled(subject, draw)
    except Unreadable as e:
        raise Unreadable(e.reason, **e.facts, **_traits(subject, draw)) from None
    x = draw.normal("x", 2, 6, d_model, scale=2.0)
    kept = x.clone()
    first = see(network(x))
    again = see(network(draw.normal("longer", 3, 9, d_model, scale=2.0)))
    network.train()(x)
    return {
        "matrices": list(matrices),
        "untouched": torch.equal(x, kept),  # first: the cause of what follows
        "y": first,
        "longer": again,
    }


def positions(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which tokens' outputs change when one token of two sentences is changed: row by column.

    By weights that were never written, since of a wide kernel only the middle can be; and, with the
    grader's weights, what company does to a token's output.
    """
    d_model = _sizes(draw)[0]
    x, other = draw.normal("x", 12, d_model), draw.normal("other", 12, d_model)
    network = _stirred(subject, draw, x.view(2, 6, d_model)).eval()
    before = network(x.view(2, 6, d_model))
    if not isinstance(before, Tensor) or before.shape != (2, 6, d_model):
        return {"company": see(before)}
    columns = []
    for j in range(12):
        changed = x.clone()
        changed[j] = other[j]
        gap = (network(changed.view(2, 6, d_model)) - before).abs().amax(-1).flatten()
        columns.append(gap > 1e-5 * before.abs().max())
    network = _settled_or_fresh(subject, draw, 0.0).eval()
    together = network(x.view(2, 6, d_model)).reshape(12, 1, d_model)
    mixed = apart(together, network(x.view(12, 1, d_model)))
    return {"company": torch.stack(columns, dim=1).float(), "mixed": mixed}


def dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Everything dropped in training, nothing dropped, and everything in eval mode.

    With everything dropped the output is what it is when the second matrix is zero. Where weights
    cannot be written (which costs another check) it must be another one, and the rest is granted.
    """
    x = draw.normal("x", 2, 6, _sizes(draw)[0])
    networks = {p: _settled_or_fresh(subject, draw, p) for p in (0.0, 1.0)}
    plain = networks[0.0].eval()(x.clone())
    readable = _readable(subject, draw)
    bare = _settled(subject, draw, adapt=_bare)[0](x.clone()) if readable else None
    found: dict[str, Value] = {}
    for name, p, training in KNOWN:
        network = networks[p].train(training)
        one, two = network(x.clone()), network(x.clone())
        repeats = _same(one, two)
        asked = plain if name != "all" else bare if readable else two
        found[f"{name}_repeats"] = repeats
        found[f"{name}_output"] = apart(one, asked) if repeats else None
        if name == "all":
            found["all_differs"] = not _same(one, plain)
    return {**found, **(_half_dropped(subject, draw) if readable else _GRANTED)}


def scaling(subject: Subject, draw: Draw) -> dict[str, Value]:
    """By what a hidden unit is multiplied when half of them are dropped, each value once."""
    if not _readable(subject, draw):
        return {"factors": torch.tensor([0.0, 2.0])}  # granted: it costs another check
    part, _, whole, feature = _units_dropped(subject, draw)
    return {"factors": _values((part / whole)[..., feature])}


def gradients(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How far the gradient is from the slope of the subject's own output, along a few directions.

    Half of them in training mode, where what is dropped in spite of dropout=0.0 is dropped alike.
    Hidden units are far from the bend of a ReLU, on either side of it, so no direction crosses it.
    """
    network = _settled_or_fresh(subject, draw, 0.0, _split).eval()
    x = draw.uniform("x", 2, 6, _sizes(draw)[0]).requires_grad_()
    weigh = draw.normal("cotangent", *x.shape)
    slopes = []
    for training in (False, True):
        with draw.torch_seeded("slopes"):
            y = network.train(training)(x * 1.0)
        if not isinstance(y, Tensor) or y.shape != x.shape:
            return {"connected": see(y)}
        weighed = (y * weigh).sum()
        dx = torch.autograd.grad(weighed, x, allow_unused=True)[0] if y.requires_grad else None
        if dx is None:
            return {"connected": False}
        slopes.append(_gaps(network, x, dx, weigh, draw))
    readable = _readable(subject, draw)  # where not, it is granted: a bend may be crossed
    return {"connected": True, "slopes": torch.cat(slopes) if readable else torch.zeros(8)}


@torch.no_grad()
def _gaps(network: nn.Module, x: Tensor, dx: Tensor, weigh: Tensor, draw: Draw) -> Tensor:
    """The slope by the gradient minus that of the output, along four directions: float32 (4,)."""
    step, gaps = 5e-3, []
    for i in range(4):
        along = draw.normal(f"along{i}", *x.shape)
        ends = []
        for sign in (1, -1):
            with draw.torch_seeded("slopes"):
                ends.append(network(x + sign * step * along).double())
        rise = ((ends[0] - ends[1]) * weigh).sum() / (2 * step)
        gaps.append((dx * along).sum() - rise.float())
    return torch.stack(gaps)


def _sizes(draw: Draw) -> tuple[int, int]:
    return draw.pick("d_model", (11, 13, 15)), draw.pick("d_ff", (17, 19, 20))


def _settled(
    subject: Subject, draw: Draw, dropout: float = 0.0, adapt: settle.Adapt | None = None
) -> tuple[nn.Module, list[str]]:
    d_model, d_ff = _sizes(draw)
    return settle.feed_forward(
        lambda p: _thawed(subject.PositionwiseFeedForward(d_model, d_ff, p), d_model, d_ff),
        Shape(d_model, d_ff, d_model),
        subject,
        draw,
        dropout,
        adapt,
    )


def _thawed(network: Any, d_model: int, d_ff: int) -> Any:
    """A network whose parameters are those of the formula: frozen ones cost another check."""
    if not isinstance(network, nn.Module) or any(map(is_lazy, network.parameters())):
        return network
    if sum(p.numel() for p in network.parameters()) == (2 * d_model + 1) * d_ff + d_model:
        for p in network.parameters():
            p.requires_grad_()
    return network


def _bare(weights: settle.Weights) -> settle.Weights:
    return weights | {"W_out": torch.zeros_like(weights["W_out"])}


def _split(weights: settle.Weights) -> settle.Weights:
    """For positive tokens, every second hidden unit is positive, and the others are negative."""
    side = 1 - 2 * (torch.arange(len(weights["b_in"])) % 2)
    W_in, b_in = weights["W_in"].abs() * side[:, None], weights["b_in"].abs() * side
    return weights | {"W_in": W_in, "b_in": b_in}


def _units(weights: settle.Weights) -> settle.Weights:
    """Each feature of the output is a hidden unit that no ReLU touches, plus its bias."""
    return weights | {
        "W_in": weights["W_in"].abs(),
        "b_in": torch.zeros_like(weights["b_in"]),
        "W_out": torch.eye(*weights["W_out"].shape),
        "b_out": weights["b_out"].abs(),
    }


def _settled_or_fresh(
    subject: Subject, draw: Draw, dropout: float, adapt: settle.Adapt | None = None
) -> nn.Module:
    """With the grader's weights; where they cannot be written, its own, the same each time."""
    try:
        return _settled(subject, draw, dropout, adapt)[0]
    except Unreadable:
        return _fresh(subject, draw, dropout)


def _readable(subject: Subject, draw: Draw) -> bool:
    try:
        _settled(subject, draw)
    except Unreadable:
        return False
    return True


def _fresh(subject: Subject, draw: Draw, dropout: float) -> nn.Module:
    with draw.torch_seeded("fresh"):
        network: nn.Module = subject.PositionwiseFeedForward(*_sizes(draw), dropout)
    return network


def _stirred(subject: Subject, draw: Draw, x: Tensor) -> nn.Module:
    """A network whose parameters, whatever they start with (some with zeros), are all drawn."""
    network = _fresh(subject, draw, 0.0).eval()
    network(x.clone())  # lazy layers have to see an input
    with torch.no_grad():
        for i, p in enumerate(p for p in network.parameters() if p.requires_grad):
            p.copy_(draw.normal(f"stirred{i}", *p.shape, scale=0.3))
    return network


def _units_dropped(subject: Subject, draw: Draw) -> tuple[Tensor, Tensor, Tensor, int]:
    """Outputs for equal tokens, by hidden unit, without what is there when no unit acts.

    Returns:
        twice in training mode with half of the units dropped, and in eval mode: float32
        (8, 8, d_model) each; and a feature whose bias is the largest.
    """
    token = draw.uniform("token", 1, 1, _sizes(draw)[0]).expand(8, 8, -1)
    bare = _settled(subject, draw, adapt=lambda w: _bare(_units(w)))[0](token.clone()).detach()
    whole = _settled(subject, draw, adapt=_units)[0](token.clone()).detach()
    network = _settled(subject, draw, 0.5, _units)[0].train()
    one, two = (network(token.clone()).detach() for _ in range(2))
    return one - bare, two - bare, whole - bare, int(bare[0, 0].argmax())


# What is seen of right code where weights cannot be written, which costs another check.
_GRANTED: dict[str, Value] = {"ways": 2, "fresh": True, "one_by_one": [True, True, True]}


def _half_dropped(subject: Subject, draw: Draw) -> dict[str, Value]:
    """With half of the units dropped: how many values there are, and what is dropped together."""
    one, two, _, feature = _units_dropped(subject, draw)
    part = one[..., feature]
    ways = min(len(_values(part / part.abs().max())), 4)
    dropped = one.abs() < 1e-4 * one.abs().max()
    # With more ways than two, something else is wrong, and the rest cannot be told.
    alone = one_by_one(dropped) if ways <= 2 else _GRANTED["one_by_one"]
    return {"ways": ways, "fresh": not torch.equal(one, two), "one_by_one": alone}


def _values(values: Tensor) -> Tensor:
    """Each value once, to three digits."""
    return torch.unique(values.mul(1e3).round()) / 1e3


def _same(one: object, two: object) -> bool:
    return isinstance(one, Tensor) and isinstance(two, Tensor) and torch.equal(one, two)


def _traits(subject: Subject, draw: Draw) -> dict[str, bool]:
    """What can be told of a module whose weights cannot be read: they tell the ways apart."""
    x = draw.normal("traits", 1, 6, _sizes(draw)[0], scale=3.0)
    y = _fresh(subject, draw, 0.0).eval()(x.clone()).detach()
    scaled = _fresh(subject, draw, 0.0).eval()(3 * x + 1).detach()
    dropped = _fresh(subject, draw, 1.0).train()(x.clone()).detach()
    return {
        "rows_centred": bool((y.mean(-1).abs() < 1e-4 * y.abs().max()).all()),
        "input_passes": bool(((dropped - dropped[:, :1]).abs() > 1e-4).any()),
        "scale_free": bool(torch.allclose(y, scaled, atol=1e-3)),
    }
