"""Recorders: stand for the parts of a learner's module and note what they are called with."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw

_numbers = itertools.count()
_records: WeakValueDictionary[int, Record] = WeakValueDictionary()


@dataclass(frozen=True)
class Call:
    """One call of a recorder: which part it stands for, its inputs by name, and what it gave.

    `weight` is where the recorder's parameter lies: copies that share it are not independent.
    """

    part: str
    inputs: dict[str, Any]
    output: Tensor
    weight: int


class Record:
    """The calls of some recorders and of all their copies, in order.

    Recorders give tensors of `shape` = (B, L, size), whatever they get, so that a module that is
    wired wrongly can be watched to its end: tanh of a fixed affine map of all inputs. `silent` ones
    give zeros.
    """

    def __init__(self, draw: Draw, *shape: int) -> None:
        self.draw, self.shape = draw, shape
        self.silent = False
        self.calls: list[Call] = []
        self._fixed: dict[str, Tensor] = {}
        self.key = next(_numbers)
        _records[self.key] = self

    def recorder(self, part: str, *arguments: str) -> Recorder:
        """A new recorder that notes its inputs under these names."""
        return Recorder(self.key, part, arguments, self.shape[-1])

    def note(self, recorder: Recorder, inputs: dict[str, Any]) -> Tensor:
        """Keep a call; what the recorder gives."""
        total = self._drawn(recorder.part, self.shape[-1]).expand(self.shape)
        for name, value in inputs.items():
            if not self.silent and isinstance(value, Tensor) and value.is_floating_point():
                total = total + self._mixed(f"{recorder.part}/{name}", value)
        output = torch.zeros(self.shape) if self.silent else torch.tanh(total * recorder.weight)
        kept = {n: v.clone() if isinstance(v, Tensor) else v for n, v in inputs.items()}
        self.calls.append(Call(recorder.part, kept, output, recorder.weight.data_ptr()))
        return output.clone()

    def _mixed(self, name: str, value: Tensor) -> Tensor:
        size = self.shape[-1]
        if not value.dim() or value.size(-1) != size:
            return torch.zeros(self.shape)
        if value.shape != self.shape:
            value = value.reshape(-1, size).mean(0)
        return value @ self._drawn(name, size, size) * size**-0.5

    def _drawn(self, name: str, *shape: int) -> Tensor:
        if name not in self._fixed:
            self._fixed[name] = self.draw.normal(name, *shape)
        return self._fixed[name]


class Recorder(nn.Module):
    """Notes its calls in a `Record`. It keeps the record's key only: copies note theirs, too."""

    def __init__(self, key: int, part: str, arguments: Sequence[str], size: int) -> None:
        super().__init__()
        self.key, self.part, self.arguments, self.size = key, part, tuple(arguments), size
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        found = {**dict(zip(self.arguments, inputs, strict=False)), **named}
        asked = {name: found.get(name) for name in self.arguments}
        return _records[self.key].note(self, asked)


def parts_of(module: nn.Module) -> dict[int, str]:
    """The recorders that a module has registered: where the parameter lies -> part."""
    found = (m for m in module.modules() if isinstance(m, Recorder))
    return {m.weight.data_ptr(): m.part for m in found}


def own_parameters(module: nn.Module) -> list[nn.Parameter]:
    """The trainable parameters of a module that are not those of recorders."""
    theirs = parts_of(module)
    return [p for p in module.parameters() if p.requires_grad and p.data_ptr() not in theirs]
