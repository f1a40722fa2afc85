"""What a probe saw: named values that can cross a trust boundary as JSON and tensor bytes."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

_HEADER = struct.Struct(">II")


class Malformed(ValueError):
    """Bytes that are no observation: the subject's process wrote something else, or stopped half way."""


@dataclass(frozen=True)
class Raised:
    """An exception of the subject's: its type and text, and the innermost line of the learner's own file."""

    kind: str
    message: str
    line: int | None = None
    code: str = ""
    function: str = ""


@dataclass(frozen=True)
class Odd:
    """What stood where an ordinary tensor was asked for: `kind` says what it is, e.g. 'tuple of 3'."""

    kind: str


Value = Tensor | Raised | Odd | None | bool | int | float | str | list[Any] | dict[str, Any]


@dataclass
class Observation:
    """Named values, and the `terms` under which they were seen (a bias that the subject does not have).

    The reference is then probed on the same terms, so that a convention the step leaves open costs nothing.
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
    """One frame: lengths, JSON, safetensors. Tensors are copied, so views and shared memory are fine."""
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


def frame_length(start: bytes) -> int | None:
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
        head = json.loads(frame[_HEADER.size : _HEADER.size + size])
        tensors = load_tensors(frame[_HEADER.size + size : _HEADER.size + size + rest])
        values: dict[str, Value] = {}
        for key in head["order"]:
            values[str(key)] = tensors[key] if key in tensors else _from_plain(head["plain"][key])
        terms = {str(k): [str(x) for x in v] for k, v in head["terms"].items()}
        return Observation(values, terms, float(head["seconds"]))
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, struct.error) as e:
        raise Malformed(str(e)) from None
    except RecursionError:
        raise Malformed("nested too deeply") from None


def _to_plain(value: Value) -> Any:
    if isinstance(value, Raised | Odd):
        return {"$": type(value).__name__, **asdict(value)}
    return value


def _from_plain(value: Any) -> Value:
    if isinstance(value, dict) and "$" in value:
        kinds: dict[str, type[Raised] | type[Odd]] = {"Raised": Raised, "Odd": Odd}
        return kinds[value["$"]](**{k: v for k, v in value.items() if k != "$"})
    return value  # type: ignore[no-any-return]


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
    """The difference of two results that should be the same, or what is no tensor, or their shapes."""
    first, second = see(one), see(two)
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return second if isinstance(first, Tensor) else first
    if first.shape != second.shape:
        return Odd(f"{tuple(first.shape)} and {tuple(second.shape)}")
    return first - second
