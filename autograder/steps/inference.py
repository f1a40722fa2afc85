"""Probes of step 10: which tokens greedy decoding writes, and what it asks the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.core.compare import kind_of
from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, see
from autograder.core.subject import Subject
from autograder.toys.translator import PAD, Translator, length_of

_LONG = 9  # more than any toy's translation has tokens
_TWO, _FIVE = 8, 11  # sources that begin with these have translations of so many tokens


def tokens(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The tokens of one sentence, then of another, longer one; and of a toy of a single word."""
    found: dict[str, Value] = {}
    for name, max_len in (("tokens", 8), ("longer", 13)):
        src = _sources(draw, name, 1)
        written = _written(subject, draw, _toy(draw), src, max_len)
        # One too few or one too many is another check's matter.
        found[name] = written[:, : max_len - 2] if isinstance(written, Tensor) else written
    src[:, 0] = _FIVE
    written = _written(subject, draw, _toy(draw, words=1), src, 8)
    found["again_and_again"] = isinstance(written, Tensor) and len(written[:, :5].unique()) == 1
    return found


def form(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is returned: its dims, type and first column."""
    src = _sources(draw, "form", 1)
    result = _call(subject, draw, _toy(draw), src, 6)
    seen = see(result)
    if not isinstance(seen, Tensor):
        return {"kind": kind_of(seen)}
    start, _ = _symbols(draw)
    first = seen.flatten()[0].item() if seen.numel() else None
    found: dict[str, Value] = {
        "kind": "tensor",
        "dims": seen.dim(),
        "dtype": str(seen.dtype).removeprefix("torch."),
        "begins": first == start,
    }
    return found if first == start else {**found, "first": first}


def length(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many tokens follow the start symbol when no end symbol is given, and if that can be so.

    The toys say ids that often end a sentence.
    """
    src = _sources(draw, "length", 1)
    found: dict[str, Value] = {"needs_end": _needs_end(subject.greedy_decode)}
    for max_len, end in ((1, 9), (2, 9), (7, 1), (_LONG, 2)):
        written = _written(subject, draw, _toy(draw, end=end), src, max_len)
        found[f"of_{max_len}"] = _columns(written)
    return found


def batch(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether each sentence of a batch is translated as if it were alone."""
    src, toy = _sources(draw, "batch", 3), _toy(draw, "source", "target")
    alone = [_written(subject, draw, toy, src[i : i + 1], 7) for i in range(3)]
    together = _written(subject, draw, toy, src, 7)
    shape = list(together.shape) if isinstance(together, Tensor) else together
    if not isinstance(together, Tensor) or len(together) != 3:
        return {"rows": _rows(together), "shape": shape}
    same = [_same(row[None], one) for row, one in zip(together, alone, strict=True)]
    return {"rows": 3, "alike": same} if all(same) else {"rows": 3, "alike": same, "seen": together}


def filled(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What stands after the first end symbol of each sentence of a batch."""
    src, (_, end) = _three(draw), _symbols(draw)
    written = _written(subject, draw, _toy(draw), src, _LONG, end)
    if not isinstance(written, Tensor):
        return {"unfilled": written}
    columns = int(length_of(src).max()) + 1
    tails = [_after(row[:columns].tolist(), end) for row in written]
    unfilled = [sum(i != end for i in tail) for tail in tails]
    unfilled += [0] * (3 - len(written))  # rows that are lacking are another check's matter
    return {"unfilled": unfilled, "tails": tails} if any(unfilled) else {"unfilled": unfilled}


def stops(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many tokens are written after all sentences have ended, alone and together."""
    src, (_, end) = _three(draw), _symbols(draw)
    toy, single, short = _toy(draw), src[:1], src[:1].clone()
    short[:, 0] = _TWO
    found: dict[str, Value] = {
        "alone": _beyond(_written(subject, draw, toy, single, _LONG, end), end),
        "by_zero": _beyond(_written(subject, draw, _toy(draw, end=0), single, _LONG, 0), 0),
        "at_once": _beyond(_written(subject, draw, _toy(draw, sooner=2), short, _LONG, end), end),
    }
    for name, several in (("together", src), ("turned", src.flip(0))):
        written = _written(subject, draw, toy, several, _LONG, end)
        lacking = isinstance(written, Tensor) and len(written) != 3  # another check's matter
        found[name] = found["alone"] if lacking else _beyond(written, end)
    cut, endless = (_written(subject, draw, toy, single, 4, *e) for e in ((end,), ()))
    found["cut_off"] = _columns(cut) == _columns(endless)
    found["forced"] = isinstance(cut, Tensor) and bool((cut[:, -1:] == end).any())
    return found


def causal(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the target mask that the model is given hides the future, and only that."""
    return _as_if_right(subject, draw, "target")


def source_mask(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the encoder and the decoder are given the source mask."""
    return _as_if_right(subject, draw, "source")


def quiet(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the source is encoded again, what is recorded, and the mode afterwards."""
    toy = _toy(draw).eval()
    _call(subject, draw, toy, _sources(draw, "quiet", 1), 6)
    recorded = sorted({door for door, grad in toy.calls if grad})
    switched_off = not (torch.is_grad_enabled() and toy.weight.requires_grad)
    modes = [toy.training]
    _call(subject, draw, toy.train(), _sources(draw, "quiet", 1), 3)
    encoded = sum(door == "encode" for door, _ in toy.calls)
    return {
        "again": encoded > 2,
        "recorded": recorded,
        "switched_off": switched_off,
        "modes": [*modes, toy.training],
    }


# ---------------------------------------------------------------- sentences, toys, what they gave


def _symbols(draw: Draw) -> tuple[int, int]:
    """The start and the end symbol."""
    return draw.pick("start", (5, 6, 7)), draw.pick("end", (9, 10, 12))


def _toy(draw: Draw, *heeds: str, end: int | None = None, **kind: int) -> Translator:
    start, usual = _symbols(draw)
    return Translator(draw, start, usual if end is None else end, heeds, **kind).eval()


def _sources(draw: Draw, name: str, rows: int) -> Tensor:
    """int64 (rows, 7): each with padding at its end, and no two with as much."""
    ids = draw.permutation(f"{name}/ids", 30)[: rows * 7].view(rows, 7) + 4
    words = 3 + draw.permutation(f"{name}/words", 4)[:rows, None]
    return ids.masked_fill(torch.arange(7) >= words, PAD)


def _three(draw: Draw) -> Tensor:
    """int64 (3, 7): sentences whose translations are 5, 2 and 3 tokens long."""
    src = _sources(draw, "three", 3)
    src[:, 0] = 4 * draw.permutation("first", 5)[:3] + 8 + torch.tensor([3, 0, 1])
    return src


def _call(
    subject: Subject, draw: Draw, toy: Translator, src: Tensor, max_len: int, *end: int
) -> Any:
    start, _ = _symbols(draw)
    src_mask = (src != PAD).unsqueeze(1)
    decode = subject.greedy_decode
    # That it cannot be called without an end symbol is another check's matter.
    nothing = (None,) if _needs_end(decode) else ()
    return decode(toy, src.clone(), src_mask, max_len, start, *(end or nothing))


def _needs_end(function: Callable[..., Any]) -> bool:
    """Whether it can be called with an end symbol only."""
    return _takes(function, 6) and not _takes(function, 5)


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def _written(
    subject: Subject, draw: Draw, toy: Translator, src: Tensor, max_len: int, *end: int
) -> Value:
    """int64 (B, L): what follows the start symbol, whatever holds it; or what is no ids at all.

    Where a result begins with another id, it is dropped if it also stands there before any word is
    asked for; else it is a word, and the start symbol is missing.
    """
    ids = _ids(_call(subject, draw, toy, src, max_len, *end))
    if not isinstance(ids, Tensor):
        return ids
    start, _ = _symbols(draw)
    if not (ids.size(1) and bool((ids[:, 0] == start).all())):
        empty = _ids(_call(subject, draw, toy, src, 1))
        if not isinstance(empty, Tensor) or not empty.size(1):
            return ids
    return ids[:, 1:]


def _ids(result: Any) -> Value:
    """int64 (B, L), whatever holds it; or what is no ids at all."""
    if isinstance(result, tuple) and result and isinstance(result[0], Tensor):
        result = result[0] if result[0].dim() == 2 else result  # the ids, and something else
    seen = see(_listed(result) if isinstance(result, list | tuple) else result)
    if not isinstance(seen, Tensor):
        return seen
    ids = seen.round().long() if seen.is_floating_point() else seen.long()
    ids = ids[None] if ids.dim() == 1 else ids
    return ids if ids.dim() == 2 else Odd(f"tensor {tuple(ids.shape)}")


def _listed(result: Sequence[Any]) -> Any:
    try:
        return torch.tensor([r.tolist() if isinstance(r, Tensor) else r for r in result])
    except (TypeError, ValueError):
        return result


def _columns(written: Value) -> Value:
    return written.size(1) if isinstance(written, Tensor) else written


def _beyond(written: Value, end: int) -> Value:
    """How many tokens follow once all rows have ended; less than 0, where some have not."""
    if not isinstance(written, Tensor):
        return written
    firsts = [row.index(end) + 1 if end in row else _LONG - 1 for row in written.tolist()]
    return written.size(1) - max(firsts, default=0)


def _rows(written: Value) -> Value:
    return len(written) if isinstance(written, Tensor) else written


def _same(one: Value, two: Value) -> bool:
    return isinstance(one, Tensor) and isinstance(two, Tensor) and torch.equal(one, two)


def _after(ids: list[int], end: int) -> list[int]:
    return ids[ids.index(end) + 1 :] if end in ids else []


def _as_if_right(subject: Subject, draw: Draw, side: str) -> dict[str, Value]:
    """Whether the tokens are the same when the model goes by the masks it is given."""
    src = _sources(draw, side, 1)
    heeding, right = (_written(subject, draw, t, src, 9) for t in (_toy(draw, side), _toy(draw)))
    same = _same(heeding, right)
    return {"heeded": same} if same else {"heeded": same, "seen": heeding, "right": right}
