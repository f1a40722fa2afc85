"""A generator's weights: which scalar is which cell of matrix and bias behind a log-softmax.

A log-softmax lets every row be felt, except by a cotangent that sums to 0: its gradient is then
that cotangent itself. So some rows are asked for with integers that sum to 0, and the others keep
still.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.subject import Unreadable
from autograder.weights import codes
from autograder.weights.layers import Map, fill
from autograder.weights.scalars import Call, Scalars

# The logarithm of a softmax, in two pieces, rounds: rows that keep still are felt by 1e-6.
_FELT = 1e-4


def read_generator(scalars: Scalars, call: Call, d_model: int, vocab: int, draw: Draw) -> Map:
    """The map of log-softmax(W x + b), with `W` (vocab, d_model) and `b` (vocab,).

    One token out of two sentences of three is asked for, so that a softmax over another axis can be
    read, too: it does not feel its bias.

    Args:
        scalars: the module's trainable scalars; left re-drawn.
        call: float32 (B, L, d_model) -> (B, L, vocab), in eval mode.
        d_model: width of the input.
        vocab: width of the output, 16 or more.
        draw: where random numbers come from.

    Raises:
        Unreadable: a cell is empty, is played twice, or a scalar plays several.
    """
    scalars.write(draw.uniform("generator/weights", scalars.count) / d_model)
    tokens = draw.uniform("generator/tokens", 2, 3, d_model)
    output = call(tokens)

    def row(on: Tensor) -> Tensor:
        return _felt(scalars.gradient(output, _asking(on), keep=True))

    def column(on: Tensor) -> Tensor:
        return _felt(scalars.gradient(call(tokens * on), every))

    every = _asking(torch.ones(vocab, dtype=torch.bool))
    rows = codes.sort(vocab, row)
    columns = codes.sort(d_model, column)
    matrix, rest = columns >= 0, columns < 0
    bias = (columns == codes.ALL) & (rows >= 0)
    if bool((columns == codes.SEVERAL).any()) or bool((rows[matrix] < 0).any()):
        raise Unreadable("rows")
    cells = {"W": fill("W", (vocab, d_model), matrix, (rows, columns))}
    if bool(bias.any()):
        cells["b"] = fill("b", (vocab,), bias, (rows,))
    elif int(rest.sum()) == vocab:  # it has no effect: only its number can be seen
        cells["b"] = rest.nonzero().squeeze(-1)
    return Map(cells, scalars.count)


def traits(generator: nn.Module, d_model: int, draw: Draw) -> dict[str, object]:
    """What can be told of a generator whose weights cannot be read: it tells the ways apart."""
    x = draw.normal("traits", 2, 6, d_model)
    y, loud = generator.eval()(x).detach(), generator(10 * x).detach()
    return {
        "sums_to_one": _sums_to_one(y),
        "exp_sums_to_one": _sums_to_one(y.exp()),
        "stays_small": bool((loud.amax(-1) - loud.amin(-1) < 1.01).all()),
    }


def _sums_to_one(y: Tensor) -> list[int]:
    """Along which axes."""
    return [a for a in range(y.dim()) if bool(((y.sum(a) - 1).abs() < 1e-4).all())]


def _felt(gradient: Tensor) -> Tensor:
    size = gradient.abs()
    return size > _FELT * size.max()


def _asking(on: Tensor) -> Tensor:
    """float32 (2, 3, vocab): small integers that sum to 0 on the chosen rows, at one token."""
    asking = torch.zeros(2, 3, len(on))
    chosen = on.nonzero().squeeze(-1)
    asking[0, 0, chosen] = -1.0
    asking[0, 0, chosen[0]] = len(chosen) - 1.0
    return asking
