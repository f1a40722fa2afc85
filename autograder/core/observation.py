"""What a probe saw: named values that can cross a trust boundary as JSON and tensor bytes."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

_HEADER = struct.Struct(">II")
_LONGEST_TEXT = 1 << 20


class Malformed(ValueError):
    """Bytes that are no observation: something else was written, or the writer stopped half way."""


@dataclass(frozen=True)
class Raised:
    """The subject's exception: type, text, and the innermost line of the learner's own file.

    In a notebook the line is one of a `cell`.
    """

    kind: str
    message: str
    line: int | None = None
    code: str = ""
    function: str = ""
    cell: int | None = None


@dataclass(frozen=True)
class Odd:
    """What stood where an ordinary tensor was asked for; `kind` says what, e.g. 'tuple of 3'."""

    kind: str


Value = Tensor | Raised | Odd | None | bool | int | float | str | list[Any] | dict[str, Any]


@dataclass
class Observation:
    """Named values, and the `terms` under which they were seen (a bias the subject does not have).

    The reference is then probed on the same terms, so that what the step leaves open costs nothing.
    """

    values: dict[str, Value] = field(default_factory=dict)
    terms: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0

    def only(self, keys: tuple[str, ...]) -> Observation:
        """The part that a check looks at; what stopped the probe is always part of it."""
        if not keys:
            return self
        kept = {k: v for k, v in self.values.items() if k in keys or k in STOPPED}
        return Observation(kept, self.terms, self.seconds)


# Values that stand for a probe that could not be carried through.
STOPPED = ("raised", "unreadable", "unusable")


def encode(observation: Observation) -> bytes:
    """One frame: lengths, JSON, safetensors. Tensors are copied: views are fine."""
    tensors = {k: v for k, v in observation.values.items() if isinstance(v, Tensor)}
    plain = {k: _to_plain(v) for k, v in observation.values.items() if k not in tensors}
    head = {
        "plain": plain,
        "order": list(observation.values),
        "terms": observation.terms,
        "seconds": observation.seconds,
    }
    text = json.dumps(head).encode()
    body = save_tensors({k: v.detach().clone().contiguous() for k, v in tensors.items()})
    return _HEADER.pack(len(text), len(body)) + text + body


def frame_length(start: bytes | bytearray) -> int | None:
    """Length in bytes of the frame that begins so, or None while its header is not complete."""
    if len(start) < _HEADER.size:
        return None
    return _HEADER.size + sum(_HEADER.unpack_from(start))


def decode(frame: bytes) -> Observation:
    """The observation in a frame.

    Raises:
        Malformed: whatever else the bytes are. Nothing in them is executed.
    """
    try:
        size, rest = _HEADER.unpack_from(frame)
        if len(frame) != _HEADER.size + size + rest or size > _LONGEST_TEXT:
            raise Malformed("lengths do not fit")
        head = json.loads(frame[_HEADER.size : _HEADER.size + size])
        tensors = load_tensors(frame[_HEADER.size + size :])
        values: dict[str, Value] = {}
        for key in head["order"]:
            values[key] = tensors[key] if key in tensors else _from_plain(head["plain"][key])
        return _checked(Observation(values, head["terms"], head["seconds"]))
    except Exception as e:  # the bytes may be anything, and so may what the parsers make of them
        raise Malformed(f"{type(e).__name__}: {e}"[:200]) from None


def _checked(seen: Observation) -> Observation:
    """The observation, if it is built as a probe's would be."""
    texts = [*seen.values, *seen.terms, *(name for names in seen.terms.values() for name in names)]
    right = (
        all(isinstance(text, str) and len(text) <= 200 for text in texts)
        and all(isinstance(names, list) for names in seen.terms.values())
        and isinstance(seen.seconds, float)
        and 0 <= seen.seconds < 1e6
        and all(_says_why(key, seen.values[key]) for key in STOPPED if key in seen.values)
    )
    if not right:
        raise Malformed("not what a probe sees")
    return seen


def _says_why(key: str, value: Value) -> bool:
    if key == "raised":
        return isinstance(value, Raised)
    reason = {"unreadable": "reason", "unusable": "problem"}[key]
    return isinstance(value, dict) and isinstance(value.get(reason), str)


def _to_plain(value: Value) -> Any:
    if isinstance(value, Raised | Odd):
        return {"$": type(value).__name__, **asdict(value)}
    return value


def _from_plain(value: Any, levels: int = 5) -> Value:
    if not levels:
        raise Malformed("nested too deeply")
    if isinstance(value, dict) and "$" in value:
        return _record(**value)
    if isinstance(value, dict):
        return {k: _from_plain(v, levels - 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_from_plain(v, levels - 1) for v in value]
    if isinstance(value, str):
        value.encode()  # no half of a surrogate pair, which could not be shown
    return value


def _record(**value: Any) -> Raised | Odd:
    record = {"Raised": Raised, "Odd": Odd}[value.pop("$")](**value)
    for name, content in vars(record).items():
        if name in ("line", "cell"):
            fits = content is None or type(content) is int
        else:
            fits = isinstance(content, str) and len(content.encode()) <= 4000
        if not fits:
            raise Malformed(f"{name} of another kind")
    return record


def see(value: Any) -> Value:
    """A result as it can be observed: an ordinary tensor, or what it is instead of one."""
    if isinstance(value, Tensor):
        if value.is_meta:
            return Odd("meta tensor")
        if value.is_sparse or value.is_quantized or value.is_complex():
            return Odd("sparse, quantized or complex tensor")
        return value.detach().as_subclass(torch.Tensor).cpu()
    if isinstance(value, tuple | list):
        return Odd(f"{type(value).__name__} of {len(value)}")
    return Odd("None" if value is None else f"{type(value).__module__}.{type(value).__qualname__}")


def apart(one: Any, two: Any) -> Value:
    """The difference of two results that should be equal; or what is no tensor, or both shapes."""
    first, second = see(one), see(two)
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return second if isinstance(first, Tensor) else first
    if first.shape != second.shape:
        return Odd(f"{tuple(first.shape)} and {tuple(second.shape)}")
    return first - second
