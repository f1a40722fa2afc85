"""Compare two observations: what agrees within tolerance, and how the rest differs, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.core.observation import STOPPED, Observation, Odd, Raised, Value


@dataclass(frozen=True)
class Difference:
    """How one observed value differs: `kind` names a message, `facts` fill it.

    Kinds: raised, unreadable, unusable, absent, kind, shape, dtype, not_finite, value, plain.
    """

    key: str
    kind: str
    facts: dict[str, Any]


def difference(asked: Observation, seen: Observation, tolerance: float) -> Difference | None:
    """The first difference, in the order of the values in `asked`; None where they agree."""
    for key in STOPPED:
        if key in seen.values and key not in asked.values:
            return _stopped(key, seen.values[key])
    for key, value in asked.values.items():
        if key not in seen.values:
            return Difference(key, "absent", {})
        found = _differs(key, value, seen.values[key], tolerance)
        if found:
            return found
    return None


def equal(one: Observation, two: Observation, tolerance: float) -> bool:
    """Whether both saw the same, exceptions included."""
    if one.values.keys() != two.values.keys():
        return False
    return all(_differs(k, v, two.values[k], tolerance) is None for k, v in one.values.items())


def _alike(one: Tensor, two: Tensor) -> Tensor:
    return (one == two) | (one.isnan() & two.isnan())


def _largest(tensor: Tensor) -> float:
    return tensor.nan_to_num(0, 0, 0).abs().max().item()


def _stopped(key: str, value: Value) -> Difference:
    if isinstance(value, Raised):
        return Difference(key, "raised", vars(value))
    return Difference(key, key, dict(value) if isinstance(value, dict) else {})


def _differs(key: str, asked: Value, seen: Value, tolerance: float) -> Difference | None:
    if isinstance(asked, Raised) and isinstance(seen, Raised):
        same = (asked.kind, asked.message) == (seen.kind, seen.message)
        return None if same else _stopped("raised", seen)
    if isinstance(asked, Tensor):
        return _tensors_differ(key, asked, seen, tolerance)
    if isinstance(seen, Tensor) or type(asked) is not type(seen):
        return Difference(key, "kind", {"seen": kind_of(seen), "asked": kind_of(asked)})
    if isinstance(asked, float) and isinstance(seen, float):
        if abs(asked - seen) <= tolerance * (1 + abs(asked)):
            return None
    elif asked == seen:
        return None
    return Difference(key, "plain", {"seen": seen, "asked": asked})


def _tensors_differ(key: str, asked: Tensor, seen: Value, tolerance: float) -> Difference | None:
    if not isinstance(seen, Tensor):
        return Difference(key, "kind", {"seen": kind_of(seen), "asked": kind_of(asked)})
    if asked.shape != seen.shape:
        shapes = {"seen": tuple(seen.shape), "asked": tuple(asked.shape)}
        return Difference(key, "shape", shapes)
    if asked.dtype != seen.dtype:
        return Difference(key, "dtype", {"seen": _dtype(seen), "asked": _dtype(asked)})
    one, two = asked.double(), seen.double()
    finite = torch.isfinite(two)
    if bool((torch.isfinite(one) & ~finite).any()):
        where = (torch.isfinite(one) & ~finite).nonzero()[0].tolist()
        facts = {"where": where, "seen": two[tuple(where)].item(), "share": _share(~finite)}
        return Difference(key, "not_finite", facts)
    near = (one - two).abs() <= tolerance * (1 + _largest(one))
    far = ~(near | _alike(one, two))  # a number where NaN was asked for is far, too
    if not bool(far.any()):
        return None
    where = far.nonzero()[0].tolist()
    facts = {
        "where": where,
        "seen": two[tuple(where)].item(),
        "asked": one[tuple(where)].item(),
        "share": _share(far),
    }
    return Difference(key, "value", facts)


def _share(mask: Tensor) -> float:
    return mask.double().mean().item()


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def kind_of(value: Value) -> str:
    """In words: 'tensor', 'None', 'tuple of 3', 'numpy.ndarray' ..."""
    if isinstance(value, Tensor):
        return "tensor"
    if isinstance(value, Odd):
        return value.kind.removeprefix("builtins.")
    return "None" if value is None else type(value).__name__
