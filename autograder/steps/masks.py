"""Probes of step 02: which positions a causal mask lets each position see, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, see
from autograder.core.subject import Subject


def shape(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The shapes of masks of several sizes."""
    found: dict[str, Value] = {}
    for name, size in _sizes(draw).items():
        mask = see(subject.subsequent_mask(size))
        found[f"shape_{name}"] = list(mask.shape) if isinstance(mask, Tensor) else mask
    if isinstance(found["shape_2"], list) and found["shape_2"] == found["shape_7"]:
        return {"depends": False}  # whatever the shape is
    mask = see(subject.subsequent_mask(_long(draw)))
    found["shape_long"] = list(mask.shape) if isinstance(mask, Tensor) else mask
    return {"depends": True, **found}


def future(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What a position may see of the ones after it."""
    return _parts(subject, draw, "future", lambda square: square.triu(1), usual=0)


def past(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What a position may see of the ones before it."""
    return _parts(subject, draw, "past", lambda square: square.tril(-1), usual=1)


def diagonal(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether a position may see itself."""
    return _parts(subject, draw, "diagonal", lambda square: square.diag().diag(), usual=1)


def dtype(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The type of the numbers, and whether it can be joined with a mask that hides padding."""
    mask = subject.subsequent_mask(7)
    found: dict[str, Value] = {"dtype": str(getattr(mask, "dtype", None)).removeprefix("torch.")}
    if found["dtype"] == "bool":
        lengths = 2 + draw.permutation("lengths", 5)[:2, None, None]
        joined = (torch.arange(mask.shape[-1]) < lengths) & mask
        found["joins"] = joined.shape == (2, *mask.shape[-2:])
    return found


def _sizes(draw: Draw) -> dict[str, int]:
    return {"1": 1, "2": 2, "7": 7, "other": draw.pick("size", (5, 6, 9, 11))}


def _long(draw: Draw) -> int:
    """Longer than a table for a few words, and than what an int8 can count."""
    return draw.pick("long", (130, 137, 141))


def _parts(
    subject: Subject, draw: Draw, name: str, part: Callable[[Tensor], Tensor], usual: int
) -> dict[str, Value]:
    """One part of the masks, 0 elsewhere; of what is no square of its size, the shape.

    Where a part is not all `usual`, the rest of the mask is seen too: it tells mistakes apart.
    """
    found: dict[str, Value] = {}
    for kind, size in _sizes(draw).items():
        if size == 1 and name != "diagonal":
            continue  # it has no other part, and its shape is another check's matter
        square = _square(see(subject.subsequent_mask(size)), size)
        found[f"{name}_{kind}"] = part(square) if isinstance(square, Tensor) else square
        where = part(torch.ones(size, size)) == 1
        if isinstance(square, Tensor) and bool((square[where] != usual).any()):
            found[f"whole_{kind}"] = square
    return {**found, f"{name}_long": _far(subject, draw, part, usual)}


def _far(subject: Subject, draw: Draw, part: Callable[[Tensor], Tensor], usual: int) -> bool:
    """Whether one part of a large mask is all `usual`.

    It is granted where there is no such mask: that is the shape's matter.
    """
    size = _long(draw)
    try:
        square = _square(see(subject.subsequent_mask(size)), size)
    except Exception:
        return True
    where = part(torch.ones(size, size)) == 1
    return not isinstance(square, Tensor) or bool((square[where] == usual).all())


def _square(mask: Value, size: int) -> Value:
    """float32 (size, size): 1 where one may look, 0 where not, -1 for what is made to be added."""
    if not isinstance(mask, Tensor):
        return mask
    if mask.numel() != size**2 or mask.shape[-2:] != (size, size):
        return Odd(f"tensor {tuple(mask.shape)}")  # which may be very large
    seen = (mask != 0).float().masked_fill(mask < 0, -1.0)
    return seen.reshape(size, size)
