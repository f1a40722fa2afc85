"""Probes of step 04: what a position-wise feed-forward network does, whoever wrote it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value, apart, see
from autograder.core.subject import Subject
from autograder.weights import settle
from autograder.weights.layers import Shape


def shape(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Two calls, with other lengths: the outputs' shapes are all that is told."""
    d_model, d_ff = _sizes(draw)
    network = subject.PositionwiseFeedForward(d_model, d_ff, 0.0).eval()
    outputs = [see(network(draw.normal(f"x{n}", *n, d_model))) for n in ((2, 6), (3, 9))]
    return {
        f"shape_{i}": list(y.shape) if isinstance(y, Tensor) else y for i, y in enumerate(outputs)
    }


def parameters(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many trainable numbers there are."""
    d_model, d_ff = _sizes(draw)
    network = subject.PositionwiseFeedForward(d_model, d_ff, 0.0)
    network(draw.normal("dry", 1, 1, d_model))
    return {"count": sum(p.numel() for p in network.parameters() if p.requires_grad)}


def output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values in eval mode, and whether the input was left alone."""
    network, matrices = _settled(subject, draw)
    x = draw.normal("x", 2, 6, _sizes(draw)[0], scale=2.0)
    kept = x.clone()
    first = see(network(x))
    again = see(network(draw.normal("longer", 3, 9, x.shape[-1], scale=2.0)))
    return {
        "matrices": list(matrices),
        "y": first,
        "longer": again,
        "untouched": torch.equal(x, kept),
    }


def positions(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How much a token's output depends on its company."""
    d_model, d_ff = _sizes(draw)
    network = subject.PositionwiseFeedForward(d_model, d_ff, 0.0).eval()
    x = draw.normal("x", 2, 6, d_model)
    alone = [network(x[:, i : i + 1].clone()) for i in range(6)]
    odd = [y for y in alone if not isinstance(y, Tensor)]
    return {"company": see(odd[0]) if odd else apart(network(x.clone()), torch.cat(alone, dim=1))}


def dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Everything dropped in training; and how far a module differs from the plain one where nothing may be dropped."""
    x = draw.normal("x", 2, 6, _sizes(draw)[0])
    none, _ = _settled(subject, draw)
    plain = none(x.clone())
    every, _ = _settled(subject, draw, dropout=1.0)
    return {
        "all_dropped": see(every.train()(x.clone())),
        "nothing_dropped": apart(none.train()(x.clone()), plain),
        "evaluated": apart(every.eval()(x.clone()), plain),
    }


def scaling(subject: Subject, draw: Draw) -> dict[str, Value]:
    """One hidden unit, half dropped, over many equal tokens: by what the unit was multiplied, each value once."""
    token = draw.normal("token", 1, 1, 5)

    def result(p: float, sign: float) -> Tensor:
        with draw.torch_seeded("again"):  # the same weights each time
            network = subject.PositionwiseFeedForward(5, 1, p)
            return network.train()((sign * token).repeat(1, 64, 1)).detach()[0]  # type: ignore[no-any-return]

    bias = result(1.0, 1.0)
    sign = 1.0 if (result(0.0, 1.0) - bias).abs().max() > 1e-3 else -1.0  # one of the two passes the ReLU
    whole = result(0.0, sign) - bias
    feature = int(whole[0].abs().argmax())
    factors = (result(0.5, sign) - bias)[:, feature] / whole[:, feature]
    return {"factors": torch.unique(factors.mul(1e4).round()) / 1e4}


def gradients(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How the output depends on every input."""
    network, _ = _settled(subject, draw)
    x = draw.normal("x", 2, 6, _sizes(draw)[0]).requires_grad_()
    y = network(x)
    cotangent = draw.normal("cotangent", *x.shape)
    if not isinstance(y, Tensor) or y.shape != x.shape or not y.requires_grad:
        return {"dx": see(y) if not isinstance(y, Tensor) else "no gradient"}
    return {"dx": torch.autograd.grad(y, x, cotangent)[0]}


def _sizes(draw: Draw) -> tuple[int, int]:
    return draw.pick("d_model", (11, 13, 15)), draw.pick("d_ff", (17, 19, 20))


def _settled(subject: Subject, draw: Draw, dropout: float = 0.0) -> tuple[nn.Module, list[str]]:
    d_model, d_ff = _sizes(draw)
    return settle.feed_forward(
        lambda p: subject.PositionwiseFeedForward(d_model, d_ff, p),
        Shape(d_model, d_ff, d_model),
        subject,
        draw,
        dropout,
    )
