"""What becomes of masks of other shapes and of None: handed on as they are, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.compare import kind_of
from autograder.core.observation import see
from autograder.wiring.recorder import Call, Record

Tensors = Mapping[str, Tensor]
Taken = Callable[[Sequence[Call]], list[Any]]  # calls -> the masks in them


def others_handed(
    module: nn.Module,
    record: Record,
    inputs: Tensors,
    others: Iterable[Tensors],
    taken: Taken,
    handed: Sequence[str],
) -> list[str]:
    """What is handed on of other masks: of each of `others`, then of None for all.

    Args:
        module: around recorders.
        record: of these.
        inputs: what it is called with, in order, the masks among them.
        others: masks by name, in place of those.
        taken: finds the masks in the recorders' calls.
        handed: what these were told to be before: where they were others than those that came in,
            that has been told, and how others fare is left aside.
    """
    names = list(next(iter(others)))
    if not set(handed) <= set(names):
        return ["—"]
    found: list[str] = []
    for masks in (*others, dict.fromkeys(names)):
        record.calls, record.shape = [], tuple(next(iter(inputs.values())).shape)
        try:
            with torch.no_grad():
                module(*_copies({**inputs, **masks}))
        except Exception as e:
            found.append(f"{type(e).__name__}: {e}"[:120])
        else:
            found += [_told(mask, masks) for mask in taken(record.calls)]
    return found


def same_mask(seen: Tensor, mask: Tensor) -> bool:
    """Same rank, and the same may be looked at: any dtype, broadcast or not."""
    if seen.dim() != mask.dim() or seen.size(-1) != mask.size(-1):
        return False
    try:
        one, two = torch.broadcast_tensors(seen != 0, mask != 0)
    except RuntimeError:
        return False
    return torch.equal(one, two)


def _copies(inputs: Mapping[str, Tensor | None]) -> list[Tensor | None]:
    return [None if t is None else t.clone() for t in inputs.values()]


def _told(value: Any, masks: Mapping[str, Tensor | None]) -> str:
    seen = see(value)
    if not isinstance(seen, Tensor):
        return kind_of(seen)
    same = (n for n, m in masks.items() if m is not None and same_mask(seen, m))
    return next(same, f"? {tuple(seen.shape)}")
