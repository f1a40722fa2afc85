"""Probes of step 04: what a position-wise feed-forward network does, whoever wrote it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value, apart, see
from autograder.core.subject import Subject, Unreadable
from autograder.weights import settle
from autograder.weights.layers import Shape
from autograder.weights.scalars import idle


def shape(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Two calls, with other lengths: the outputs' shapes are all that is told."""
    d_model, d_ff = _sizes(draw)
    network = subject.PositionwiseFeedForward(d_model, d_ff, 0.0).eval()
    outputs = [see(network(draw.normal(f"x{n}", *n, d_model))) for n in ((2, 6), (3, 9))]
    return {
        f"shape_{i}": list(y.shape) if isinstance(y, Tensor) else y for i, y in enumerate(outputs)
    }


def parameters(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many trainable numbers there are, and how many of them do nothing."""
    d_model, d_ff = _sizes(draw)
    network = subject.PositionwiseFeedForward(d_model, d_ff).eval()  # dropout has a default
    x = draw.uniform("dry", 2, 3, d_model)
    network(x.clone())
    count = sum(p.numel() for p in network.parameters() if p.requires_grad)
    return {"count": count, "idle": idle(network, x, draw)}


def output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values in eval mode, and whether the input was left alone."""
    d_model, _ = _sizes(draw)
    try:
        network, matrices = _settled(subject, draw)
    except Unreadable as e:
        raise Unreadable(e.reason, **e.facts, **_traits(subject, draw)) from None
    x = draw.normal("x", 2, 6, d_model, scale=2.0)
    kept = x.clone()
    first = see(network(x))
    again = see(network(draw.normal("longer", 3, 9, d_model, scale=2.0)))
    return {
        "matrices": list(matrices),
        "untouched": torch.equal(x, kept),  # first: the cause of what follows
        "y": first,
        "longer": again,
    }


def positions(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which tokens' outputs change when one token of two sentences is changed: row by column.

    By fresh weights, since of a wide kernel only the middle can be written; and, with the grader's
    weights, what company does to a token's output.
    """
    d_model = _sizes(draw)[0]
    x, other = draw.normal("x", 12, d_model), draw.normal("other", 12, d_model)
    network = _fresh(subject, draw, 0.0).eval()
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
    none, every = (_settled_or_fresh(subject, draw, p) for p in (0.0, 1.0))
    plain = none.eval()(x.clone())
    readable = _readable(subject, draw)
    bare = _settled(subject, draw, adapt=_bare)[0](x.clone()) if readable else None
    found: dict[str, Value] = {}
    for name, network in (("all", every), ("nothing", none), ("evaluated", every)):
        network.train(name != "evaluated")
        one, two = network(x.clone()), network(x.clone())
        repeats = _same(one, two)
        asked = plain if name != "all" else bare if readable else two
        found[f"{name}_repeats"] = repeats
        found[f"{name}_output"] = apart(one, asked) if repeats else None
        if name == "all":
            found["all_differs"] = not _same(one, plain)
    part = _one_unit_dropped(subject, draw)[0] if readable else torch.arange(2.0)
    found["ways"] = min(len(_values(part / part.abs().max())), 4)
    return found


def scaling(subject: Subject, draw: Draw) -> dict[str, Value]:
    """By what a hidden unit is multiplied when half of them are dropped, each value once."""
    if not _readable(subject, draw):
        return {"factors": torch.tensor([0.0, 2.0])}  # granted: it costs another check
    part, whole = _one_unit_dropped(subject, draw)
    return {"factors": _values(part / whole)}


def gradients(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How far the gradient is from the slope of the subject's own output, along a few directions.

    The first layer and the input are positive, so no direction crosses the bend of a ReLU.
    """
    network = _settled_or_fresh(subject, draw, 0.0, _positive).eval()
    x = draw.uniform("x", 2, 6, _sizes(draw)[0]).requires_grad_()
    y = network(x * 1.0)
    if not isinstance(y, Tensor) or y.shape != x.shape:
        return {"connected": see(y)}
    weigh = draw.normal("cotangent", *x.shape)
    weighed = (y * weigh).sum()
    dx = torch.autograd.grad(weighed, x, allow_unused=True)[0] if y.requires_grad else None
    if dx is None:
        return {"connected": False}
    if not _readable(subject, draw):
        return {"connected": True, "slopes": torch.zeros(4)}  # granted: a bend may be crossed
    step, gaps = 5e-3, []
    with torch.no_grad():
        for i in range(4):
            along = draw.normal(f"along{i}", *x.shape)
            rise = (network(x + step * along) - network(x - step * along)).double()
            gaps.append((dx * along).sum() - (rise * weigh).sum().float() / (2 * step))
    return {"connected": True, "slopes": torch.stack(gaps)}


def _sizes(draw: Draw) -> tuple[int, int]:
    return draw.pick("d_model", (11, 13, 15)), draw.pick("d_ff", (17, 19, 20))


def _settled(
    subject: Subject, draw: Draw, dropout: float = 0.0, adapt: settle.Adapt | None = None
) -> tuple[nn.Module, list[str]]:
    d_model, d_ff = _sizes(draw)
    return settle.feed_forward(
        lambda p: subject.PositionwiseFeedForward(d_model, d_ff, p),
        Shape(d_model, d_ff, d_model),
        subject,
        draw,
        dropout,
        adapt,
    )


def _bare(weights: settle.Weights) -> settle.Weights:
    return weights | {"W_out": torch.zeros_like(weights["W_out"])}


def _positive(weights: settle.Weights) -> settle.Weights:
    return weights | {role: weights[role].abs() for role in ("W_in", "b_in")}


def _one_unit(weights: settle.Weights) -> settle.Weights:
    """Only the first hidden unit acts, and it is never negative for a positive token."""
    others = torch.arange(len(weights["b_in"])) > 0
    return weights | {
        "W_in": weights["W_in"].abs().masked_fill(others[:, None], 0),
        "b_in": torch.zeros_like(weights["b_in"]),
        "W_out": torch.ones_like(weights["W_out"]).masked_fill(others, 0),
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


def _one_unit_dropped(subject: Subject, draw: Draw) -> tuple[Tensor, Tensor]:
    """Outputs for many equal tokens of one hidden unit, minus those without it.

    Returns:
        in training mode with half of the units dropped, and in eval mode: float32 (64,) each.
    """
    token = draw.uniform("token", 1, 1, _sizes(draw)[0]).expand(64, 1, -1)

    def result(p: float, adapt: settle.Adapt, training: bool = False) -> Tensor:
        network = _settled(subject, draw, p, adapt)[0].train(training)
        y: Tensor = network(token.clone())
        return y.detach()[:, 0]

    bare = result(0.0, _bare)
    feature = int(bare[0].argmax())  # one that a ReLU at the end would not touch
    part, whole = result(0.5, _one_unit, training=True), result(0.0, _one_unit)
    return (part - bare)[:, feature], (whole - bare)[:, feature]


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
