"""Copy data as step 14's data_gen makes them, asked for with as much as it takes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Value
from autograder.core.subject import Subject


def length_of(draw: Draw) -> int:
    """How long sequences are to be; not as long as they are by default."""
    return draw.pick("length", (7, 8, 9))


def made(
    subject: Subject, draw: Draw, sizes: Sequence[int], length: int | None = None, seed: int = 0
) -> list[Any]:
    """Batches of that length and from that seed, where data_gen takes them."""
    generator = None
    if takes(subject.data_gen, "generator"):
        numbers = int(draw.permutation("seed", 1000)[seed])
        generator = torch.Generator().manual_seed(numbers)
    return _drawn(subject, sizes, length, generator)


def drawing(subject: Subject, draw: Draw, sizes: Sequence[int], length: int) -> dict[str, Value]:
    """What two calls have in common: with generators of one seed, and of two, with one generator
    that is used twice, and with none.

    What a generator is needed for is granted where data_gen takes none.
    """
    found: dict[str, Value] = {"repeats": True, "varies": True, "goes_on": True}
    if takes(subject.data_gen, "generator"):
        one, two, other = (_ids(made(subject, draw, sizes, length, seed)) for seed in (1, 1, 2))
        generator = torch.Generator().manual_seed(int(draw.permutation("seed", 1000)[3]))
        first, then = (_ids(_drawn(subject, sizes, length, generator)) for _ in range(2))
        found = {
            "repeats": torch.equal(one, two),
            "varies": not torch.equal(one, other),
            "goes_on": not torch.equal(first, then),
        }
    first, then = (_ids(_drawn(subject, sizes, length, None)) for _ in range(2))
    return {**found, "anew_each_time": not torch.equal(first, then)}


def takes(function: Any, name: str) -> bool:
    """Whether a function has an argument of that name."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return name in found or any(p.kind is p.VAR_KEYWORD for p in found.values())


def whole(batch: Any) -> Tensor:
    """(B, T): the target that a batch was made of."""
    return torch.cat([batch.tgt, batch.tgt_y[:, -1:]], dim=1)


def _drawn(
    subject: Subject,
    sizes: Sequence[int],
    length: int | None,
    generator: torch.Generator | None,
) -> list[Any]:
    options: dict[str, Any] = {}
    if length is not None and takes(subject.data_gen, "length"):
        options["length"] = length
    if generator is not None:
        options["generator"] = generator
    return list(subject.data_gen(*sizes, **options))


def _ids(batches: Sequence[Any]) -> Tensor:
    return torch.cat([b.src for b in batches])
