"""Probes of step 16: what a batch of sentence pairs holds, and which sentences share a batch."""

from __future__ import annotations

from itertools import compress

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Value
from autograder.core.subject import Subject
from autograder.toys.pairs import Sides, batch_of, rows_of, sides_made
from autograder.toys.plans import (
    area_of,
    batches_of,
    drawn,
    goes_one_way,
    length_at,
    sentence_lengths,
)


def sentences(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Each sentence with its markers, in any order; what comes behind is another's matter."""
    sides = Sides(draw, "sentences", [(3, 5), (6, 2), (1, 7), (0, 3), (4, 0)])
    found: dict[str, Value] = {}
    batch = batch_of(subject, sides)
    for name, side, ids in zip(("source", "target"), sides.both, batch, strict=True):
        rows = rows_of(ids)
        found[name] = sorted(map(side.sentence, rows)) if isinstance(rows, list) else rows
        found[f"{name}_whole_numbers"] = isinstance(ids, Tensor) and not ids.is_floating_point()
    return found


def pairs(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which source and which target stand in rows of one number, by rank of their lengths."""
    # Orders that go neither up nor down, on either side or from side to side.
    first = draw.pick("sources", ((2, 0, 3, 1, 4), (1, 3, 0, 4, 2), (3, 4, 0, 2, 1)))
    second = draw.pick("targets", ((3, 1, 4, 0, 2), (0, 4, 2, 1, 3), (4, 2, 3, 0, 1)))
    sides = Sides(
        draw, "pairs", [(1 + 2 * s, 2 + 2 * t) for s, t in zip(first, second, strict=True)]
    )
    ranks = []
    for ids in batch_of(subject, sides):
        rows = rows_of(ids)
        if not isinstance(rows, list):
            return {"pairs": rows}
        content = [len(row) - _run(row) - _run(row[::-1]) for row in rows]
        ranks.append([sorted(content).index(n) for n in content])
    source, target = ranks
    if len(source) != len(target):
        return {"pairs": f"{len(source)} and {len(target)} rows"}
    # As places in the list that was handed in: right is 0-0, 1-1, ...
    places = zip(map(first.index, source), map(second.index, target), strict=True)
    return {"pairs": sorted(f"{s}-{t}" for s, t in places)}


def width(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many columns hold padding only, and whether padding stands in front.

    With and without a limit that nothing reaches, and for a pair alone.
    """
    sides = Sides(draw, "width", [(2, 4), (5, 3), (3, 8)])
    alone = Sides(draw, "alone", [(draw.pick("alone", (2, 3, 4)), 6)])
    found: dict[str, Value] = {}
    for name, given, limit in (("", sides, ()), ("limit_", sides, (29,)), ("alone_", alone, ())):
        batch = batch_of(subject, given, "cpu", *limit)
        for side, words, ids in zip(("source", "target"), given.both, batch, strict=True):
            rows = rows_of(ids)
            if not isinstance(rows, list):
                found[f"{name}{side}"] = rows
                continue
            columns = list(zip(*rows, strict=True))
            blank = words.vocabulary["<blank>"]
            empty = sum(set(column) == {blank} for column in columns)
            # Far too wide is far too wide, by whatever number.
            found[f"{name}{side}"] = [len(rows), empty if empty < 30 else "30 or more"]
            found[f"{name}{side}_in_front"] = blank in columns[0] if columns else False
    return found


def ids(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What the cells hold that are no words, where the two vocabularies number otherwise."""
    sides = Sides(draw, "ids", [(2, 5), (4, 1), (6, 3)], usual=False)
    found: dict[str, Value] = {}
    batch = batch_of(subject, sides)
    for name, side, cells in zip(("source", "target"), sides.both, batch, strict=True):
        rows = rows_of(cells)
        if not isinstance(rows, list):
            return {name: rows}
        every = [side.name(i) for row in rows for i in row]
        markers = ("<s>", "</s>")
        found[f"{name}_foreign"] = sorted(set(every) - {"word", "<unk>", "<blank>", *markers})
        found[f"{name}_padded"] = "<blank>" in every
        found[f"{name}_repeated"] = [m for m in markers if every.count(m) > len(rows)]
    return found


def cut(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which words are left under a limit that some sentences pass, and whether all end alike.

    And how wide rows are under the smallest limit there is.
    """
    limit = draw.pick("limit", (5, 6, 7))
    just, over = limit - 2, limit - 1
    lengths = [(just, over + 3), (over, 1), (limit, just), (2, just - 1), (over + 4, limit)]
    sides = Sides(draw, "cut", lengths)
    found: dict[str, Value] = {}
    batch = batch_of(subject, sides, "cpu", limit)
    for name, side, cells in zip(("source", "target"), sides.both, batch, strict=True):
        rows = rows_of(cells)
        if not isinstance(rows, list):
            return {name: rows}
        found[name] = sorted(map(side.words, rows))
        found[f"{name}_alike"] = len(set(map(side.behind, rows))) == 1
        found[f"{name}_within"] = len(rows[0]) <= limit
    batch = batch_of(subject, Sides(draw, "shortest", [(3, 2), (0, 0), (1, 4)]), "cpu", 2)
    for name, cells in zip(("source", "target"), batch, strict=True):
        found[f"{name}_shortest"] = list(cells.shape) if isinstance(cells, Tensor) else cells
    return found


def tensors(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The tensors' type."""
    batch = batch_of(subject, Sides(draw, "tensors", [(2, 3), (4, 1)]))
    return {"dtype": [str(getattr(i, "dtype", None)).removeprefix("torch.") for i in batch]}


def device(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which sides lie elsewhere than on the device that is asked for.

    It is "meta", which every machine has. It holds no values, and some code that is right on a GPU
    asks for them: where an exception comes, nothing is said.
    """
    sides = Sides(draw, "device", [(2, 3), (4, 1)])
    batch_of(subject, sides)  # whether anything is made at all is another check's matter
    try:
        made = sides_made(subject, sides, "meta")
    except Exception:
        return {"elsewhere": []}
    # What is no tensor is another check's matter, too.
    here = [isinstance(ids, Tensor) and not ids.is_meta for ids in made]
    return {"elsewhere": list(compress(("source", "target"), here))}


def every(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How often the indices occur, in order and shuffled."""
    found: dict[str, Value] = {}
    for name, shuffle in (("ordered", False), ("shuffled", True)):
        lengths, most = sentence_lengths(draw)
        given = list(lengths)
        indices = [i for batch in batches_of(subject, given, most, shuffle) for i in batch]
        found[f"{name}_missing"] = len(set(range(len(lengths))) - set(indices))
        found[f"{name}_repeated"] = len(indices) - len(set(indices))
        found[f"{name}_strange"] = len(set(indices) - set(range(len(lengths))))
        found[f"{name}_untouched"] = given == lengths
    return found


def budget(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The areas that are larger than allowed, and whether there are empty batches."""
    lengths, most = sentence_lengths(draw)
    found: dict[str, Value] = {}
    for name, shuffle in (("ordered", False), ("shuffled", True)):
        batches = batches_of(subject, lengths, most, shuffle)
        areas = [area_of(batch, lengths) for batch in batches]
        found[f"{name}_over"] = sorted(area - most for area in areas if area > most)[-5:]
        found[f"{name}_empty"] = [] in batches
    try:
        found["exact"] = all(
            len(batch) == 1 for batch in batches_of(subject, [most] * 2, most, False)
        )
    except Exception as e:
        found["exact"] = type(e).__name__
    return found


def similar(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether batches are mostly words, and not far from full, in order and shuffled."""
    lengths, most = sentence_lengths(draw)
    found: dict[str, Value] = {}
    for name, shuffle in (("ordered", False), ("shuffled", True)):
        batches = [batch for batch in batches_of(subject, lengths, most, shuffle) if batch]
        area = sum(area_of(batch, lengths) for batch in batches)
        real = sum(length_at(i, lengths) for batch in batches for i in batch)
        found[f"{name}_little_padding"] = real > 0.85 * area
        found[f"{name}_well_filled"] = area > 0.4 * most * len(batches)
        rows = max(map(len, batches), default=0)
        found[f"{name}_more_rows"] = rows > most // max(lengths)
    return found


def shuffled(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What the order of the batches depends on."""
    lengths, most = sentence_lengths(draw)
    handed = [drawn(subject, lengths, most, own=seed, default=8) for seed in (1, 2, 3, 4)]
    again = drawn(subject, lengths, most, own=1, default=9)
    default = [drawn(subject, lengths, most, default=seed) for seed in (5, 5, 6)]
    longest = [[max(length_at(i, lengths) for i in b) for b in batches if b] for batches in handed]
    ordered = [drawn(subject, lengths, most, False, default=seed) for seed in (5, 6)]
    unsaid = [drawn(subject, lengths, most, None, default=seed) for seed in (5, 6)]
    same = handed[0] == ordered[0]
    goes_on = torch.Generator().manual_seed(1)
    epochs = [batches_of(subject, lengths, most, True, goes_on) for _ in range(2)]
    return {
        "as_ordered": same,
        "by_length": same or any(map(goes_one_way, longest)),
        "by_default": unsaid[0] != unsaid[1],
        "repeats": again == handed[0],
        "varies": handed[1] != handed[0],
        "epochs_vary": epochs[0] != epochs[1],
        "default_repeats": default[0] == default[1],
        "default_varies": default[0] != default[2],
        "ordered_repeats": ordered[0] == ordered[1],
    }


def company(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether sentences of equal length meet others when they are shuffled anew."""
    lengths, most = sentence_lengths(draw)
    one, two = (drawn(subject, lengths, most, own=seed, default=seed) for seed in (1, 2))
    if sorted(i for batch in one for i in batch) != list(range(len(lengths))):
        return {"same_company": False}  # which indices there are is another check's matter
    same = set(map(frozenset, one)) == set(map(frozenset, two))
    return {"same_company": same and len(one) > 4}  # of a few batches it says nothing


def too_long(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What becomes of a sentence that is longer than a batch may be large."""
    lengths, most = sentence_lengths(draw)
    batches_of(subject, lengths, most, False)
    found: dict[str, Value] = {}
    for name, at, shuffle in (("first", 0, True), ("later", 17, True), ("in_order", 17, False)):
        given = [*lengths[:at], most + 1, *lengths[at:]]
        found[name] = _refusal(subject, given, most, shuffle)[0]
    return found


def too_long_named(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the refusal tells the length."""
    lengths, most = sentence_lengths(draw)
    batches_of(subject, lengths, most, False)
    length = most + draw.pick("excess", (13, 17, 19))
    kind, message = _refusal(subject, [*lengths, length], most)
    # Whether it is refused at all is another check's matter.
    return {"named": str(length) in message or kind != "ValueError"}


def _refusal(
    subject: Subject, lengths: list[int], most: int, shuffle: bool = True
) -> tuple[str, str]:
    """The kind of error, ValueError and its kin counting as one, and what it says."""
    try:
        batches_of(subject, lengths, most, shuffle)
    except ValueError as e:
        return "ValueError", str(e)
    except Exception as e:
        return type(e).__name__, str(e)
    return "no error", ""


def _run(row: list[int]) -> int:
    """How many cells at the beginning hold the same: the padding, if it is there."""
    return next((n for n, i in enumerate(row) if i != row[0]), len(row))
