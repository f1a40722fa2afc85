"""Two linear layers, one after the other: which scalar is which cell of W_in, b_in, W_out, b_out.

Only liveness is read, never a value fitted: switch one thing on and see whose gradient is exactly
zero. One token, all weights and inputs positive, so that no ReLU is dead and nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.subject import Unreadable
from autograder.weights import codes
from autograder.weights.scalars import Call, Scalars


@dataclass
class Map:
    """For each role that was found, which scalar plays each of its cells (int64, its shape)."""

    cells: dict[str, Tensor]
    count: int

    def place(self, weights: dict[str, Tensor]) -> Tensor:
        """float32 (count,): the vector that holds these weights; scalars without a role are 0.

        Raises:
            Unreadable: a role that was found has another size.
        """
        values = torch.zeros(self.count)
        for role, index in self.cells.items():
            asked = list(weights[role].shape)
            if list(index.shape) != asked:
                raise Unreadable("size", role=role, asked=asked, found=index.numel())
            values[index.reshape(-1)] = weights[role].reshape(-1)
        return values


@dataclass(frozen=True)
class Shape:
    """Widths of input, hidden units and output, as the task gives them."""

    d_in: int
    hidden: int
    d_out: int


def read_layers(
    scalars: Scalars, call: Call, shape: Shape, draw: Draw, among: Tensor | None = None
) -> Map:
    """The map of a module of one or two layers.

    Args:
        scalars: the module's trainable scalars; left re-drawn.
        call: float32 (1, 1, d_in) -> (1, 1, d_out), in eval mode.
        shape: the widths that are asked for.
        draw: where random numbers come from.
        among: bool (count,), the scalars to look at; None for all.

    Raises:
        Unreadable: a cell is empty, is played twice, or a scalar plays several.
    """
    look = torch.ones(scalars.count, dtype=torch.bool) if among is None else among
    base = draw.uniform("layers/weights", scalars.count) * (2 / shape.d_in)
    scalars.write(base)
    columns, rows = _columns(scalars, call, shape, draw), _rows(scalars, call, shape, draw)
    columns[~look] = rows[~look] = codes.DEAD
    if bool(((columns == codes.SEVERAL) | (rows == codes.SEVERAL)).any()):
        raise Unreadable("shared", **_shared(columns, rows))
    is_in = (columns >= 0) & (rows == codes.ALL)
    if not bool(is_in.any()) and bool((columns >= 0).any()):
        return _one_layer(scalars, call, shape, draw, columns, rows)
    outer = (columns == codes.ALL) & (rows >= 0)
    felt, other = _felt(scalars, call, shape, draw, base)
    constant = outer & _same(
        felt, other
    )  # the outer bias: its gradient does not depend on the input
    found = {
        "W_in": is_in,
        "b_in": (columns == codes.ALL) & (rows == codes.ALL),
        "W_out": outer & ~constant,
        "b_out": constant,
    }
    unit_in, unit_out = _units(scalars, call, shape, draw, base, felt, found, rows)
    at = {
        "W_in": (unit_in, columns),
        "b_in": (unit_in,),
        "W_out": (rows, unit_out),
        "b_out": (rows,),
    }
    sizes = {
        "W_in": (shape.hidden, shape.d_in),
        "b_in": (shape.hidden,),
        "W_out": (shape.d_out, shape.hidden),
        "b_out": (shape.d_out,),
    }
    return Map({r: fill(r, sizes[r], m, at[r]) for r, m in found.items() if m.any()}, scalars.count)


def fill(role: str, size: tuple[int, ...], members: Tensor, at: tuple[Tensor, ...]) -> Tensor:
    """int64 of `size`: the member scalar at each cell.

    Raises:
        Unreadable: not exactly one member for each cell.
    """
    index = members.nonzero().squeeze(-1)
    where = [a[index] for a in at]
    inside = all(bool(((w >= 0) & (w < n)).all()) for w, n in zip(where, size, strict=True))
    cells = torch.full(size, -1)
    if inside and len(index) == cells.numel():
        cells[tuple(where)] = index
        if bool((cells >= 0).all()):
            return cells
    raise Unreadable("size", role=role, asked=list(size), found=len(index))


def _columns(scalars: Scalars, call: Call, shape: Shape, draw: Draw) -> Tensor:
    token = draw.uniform("layers/token", 1, 1, shape.d_in)
    cotangent = draw.uniform("layers/cotangent", 1, 1, shape.d_out)
    return codes.sort(shape.d_in, lambda on: scalars.gradient(call(token * on), cotangent) != 0)


def _rows(scalars: Scalars, call: Call, shape: Shape, draw: Draw) -> Tensor:
    output = call(draw.uniform("layers/token", 1, 1, shape.d_in))
    cotangent = draw.uniform("layers/cotangent", 1, 1, shape.d_out)
    return codes.sort(
        shape.d_out, lambda on: scalars.gradient(output, cotangent * on, keep=True) != 0
    )


def _felt(
    scalars: Scalars, call: Call, shape: Shape, draw: Draw, base: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of all scalars for two tokens."""
    cotangent = draw.uniform("layers/cotangent", 1, 1, shape.d_out)
    scalars.write(base)
    one, two = (draw.uniform(f"layers/token{i}", 1, 1, shape.d_in) for i in ("", "2"))
    return scalars.gradient(call(one), cotangent), scalars.gradient(call(two), cotangent)


def _same(one: Tensor, two: Tensor) -> Tensor:
    return (one - two).abs() <= 1e-6 * one.abs().clamp(min=1e-12)


def _units(
    scalars: Scalars,
    call: Call,
    shape: Shape,
    draw: Draw,
    base: Tensor,
    felt: Tensor,
    found: dict[str, Tensor],
    rows: Tensor,
) -> tuple[Tensor, Tensor]:
    """The hidden unit of each inner and of each outer scalar.

    Units are numbered by the outer scalars of output row 0, in storage order: with only some of
    those on, the inner scalars that live belong to the same units; with the inner scalars of some
    units changed, the outer gradients that change are theirs.
    """
    token = draw.uniform("layers/token", 1, 1, shape.d_in)
    cotangent = draw.uniform("layers/cotangent", 1, 1, shape.d_out)
    first = (found["W_out"] & (rows == 0)).nonzero().squeeze(-1)
    n = len(first)
    if n != shape.hidden:
        silent = int((rows == codes.DEAD).sum())
        size = [shape.d_out, shape.hidden]
        raise Unreadable("size", role="W_out", asked=size, found=n, silent=silent)

    def inner(on: Tensor) -> Tensor:
        values = base.masked_fill(found["W_out"], 0)
        values[first[on]] = base[first[on]]
        scalars.write(values)
        return scalars.gradient(call(token), cotangent) != 0

    unit_in = codes.sort(n, inner)

    def outer(on: Tensor) -> Tensor:
        changed = found["W_in"] & (unit_in >= 0) & on[unit_in.clamp(min=0)]
        scalars.write(torch.where(changed, base / 2, base))
        return ~_same(felt, scalars.gradient(call(token), cotangent))

    return unit_in, codes.sort(n, outer)


def _one_layer(
    scalars: Scalars, call: Call, shape: Shape, draw: Draw, columns: Tensor, rows: Tensor
) -> Map:
    """No W_out: the hidden units are the outputs themselves."""
    matrix, bias = (columns >= 0) & (rows >= 0), (columns == codes.ALL) & (rows >= 0)
    cells = {"W_in": fill("W_in", (shape.d_out, shape.d_in), matrix, (rows, columns))}
    if bias.any():
        cells["b_in"] = fill("b_in", (shape.d_out,), bias, (rows,))
    return Map(cells, scalars.count)


def _shared(columns: Tensor, rows: Tensor) -> dict[str, object]:
    several = [("column", columns), ("row", rows)]
    return {"plays": [name for name, kind in several if bool((kind == codes.SEVERAL).any())]}
