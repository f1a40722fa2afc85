"""Plans of batches: lengths that are drawn, lists of indices asked for, and their areas."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import torch

from autograder.core.draw import Draw
from autograder.core.subject import Subject

Batches = list[list[int]]


def goes_one_way(sizes: list[int]) -> bool:
    """Whether these are sorted, from wherever they begin; a few may be so by chance."""
    ups = sum(a < b for a, b in pairwise(sizes))
    downs = sum(a > b for a, b in pairwise(sizes))
    return len(sizes) > 12 and min(ups, downs) <= 1


def sentence_lengths(draw: Draw) -> tuple[list[int], int]:
    """Lengths of sentences, many of them equal, in no order; and how large a batch may be."""
    numbers = draw.uniform("lengths", 160, low=2, high=24).long().tolist()
    return numbers, draw.pick("most", (97, 103, 109, 113))


def drawn(
    subject: Subject,
    lengths: list[int],
    most: int,
    shuffle: bool | None = True,
    *,
    own: int | None = None,
    default: int = 0,
) -> Batches:
    """The batches, under seeds of a generator of their own, if any, and of torch's default one."""
    torch.default_generator.manual_seed(default)
    generator = None if own is None else torch.Generator().manual_seed(own)
    return batches_of(subject, lengths, most, shuffle, generator)


def batches_of(
    subject: Subject,
    lengths: list[int],
    most: int,
    shuffle: bool | None,
    generator: torch.Generator | None = None,
) -> Batches:
    """The batches; where `shuffle` is None, nothing is said about shuffling."""
    said = () if shuffle is None else (shuffle, generator)
    found: Iterable[Any] = subject.batches_by_length(lengths, most, *said)
    return [[int(i) for i in batch] for batch in found]


def length_at(index: int, lengths: list[int]) -> int:
    """A sentence's length; an index that is none is another check's matter."""
    return lengths[index] if 0 <= index < len(lengths) else 0


def area_of(batch: list[int], lengths: list[int]) -> int:
    """The longest length times the rows."""
    return len(batch) * max((length_at(i, lengths) for i in batch), default=0)
