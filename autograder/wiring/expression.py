"""Parts that say how they are joined: what comes out is told as an expression of what went in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw


class Expressions:
    """Tensors and what they are: inputs by their names, outputs of parts as "part(argument, ...)".

    Tensors are told by their values, so that copies are seen as what they are; masks by what they
    hide, whatever their dtype.
    """

    def __init__(self, draw: Draw, width: int, inputs: Mapping[str, Tensor]) -> None:
        self.draw, self.width = draw, width
        self._known: list[tuple[str, Tensor]] = list(inputs.items())

    def __deepcopy__(self, memo: dict[int, Any]) -> Expressions:
        return self  # a copy of a part tells what it does in the same place

    def part(self, name: str, *arguments: str) -> Part:
        """A module that stands for this part; its inputs may be given by keyword, too."""
        return Part(self, name, arguments)

    def of(self, value: Any) -> str:
        """What a value is: an expression, 'None', or '?' for what it is none of."""
        if value is None:
            return "None"
        if isinstance(value, Tensor):
            return next((text for text, known in self._known if _same(known, value)), "?")
        return f"? ({type(value).__name__})"

    def note(self, name: str, inputs: list[Any], weight: Tensor) -> Tensor:
        """What a part gives: other numbers for every expression, connected to all it was given."""
        text = f"{name}({', '.join(map(self.of, inputs))})"
        first = inputs[0] if inputs else None
        shape = tuple(first.shape) if isinstance(first, Tensor) else ()
        if not isinstance(first, Tensor) or not first.is_floating_point():
            shape = (*shape, self.width)
        output = self.draw.normal(f"{text}/{shape}", *shape) * weight
        for value in inputs:
            if isinstance(value, Tensor) and value.is_floating_point() and value.requires_grad:
                output = output + 0.01 * value.sum()
        self._known.append((text, output.detach().clone()))
        return output


class Part(nn.Module):
    """Stands for one part, with one parameter; `given` is what it is, `name` what it is told as."""

    def __init__(self, log: Expressions, name: str, arguments: tuple[str, ...]) -> None:
        super().__init__()
        self.log, self.given, self.name, self.arguments = log, name, name, arguments
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """Note the call.

        Raises:
            TypeError: too many inputs, or one that the part does not know.
        """
        unknown = named.keys() - set(self.arguments[len(inputs) :])
        if unknown or len(inputs) > len(self.arguments):
            words = ", ".join(self.arguments)
            raise TypeError(f"the {self.name} is called as {self.name}({words})")
        found = {**dict(zip(self.arguments, inputs, strict=False)), **named}
        return self.log.note(self.name, list(map(found.get, self.arguments)), self.weight)


def _same(known: Tensor, value: Tensor) -> bool:
    if known.shape != value.shape:
        return False
    if known.dtype == torch.bool or value.dtype == torch.bool:
        return torch.equal(known != 0, value != 0)
    return torch.equal(known, value.detach().to(known.dtype))
