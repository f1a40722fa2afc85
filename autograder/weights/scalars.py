"""The trainable scalars of a module as one flat vector, and which of them a loss can feel."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import see
from autograder.core.subject import Unreadable

Call = Callable[..., Tensor]


class Scalars:
    """All trainable parameters of `module`, in registration, then storage order; values are kept.

    Another module of the class was looked at before where it is `known`.

    Raises:
        Unreadable: there are none, or two parameters share their memory.
    """

    def __init__(self, module: nn.Module, known: bool = False) -> None:
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.count = sum(p.numel() for p in self.parameters)
        if known:
            return
        if not self.count:
            raise Unreadable("no_parameters")
        fresh = self.vector()
        marks = torch.arange(self.count, dtype=torch.float32) / self.count
        self.write(marks)
        if not torch.equal(self.vector(), self._rounded(marks)):
            raise Unreadable("shared_memory")
        self.write(fresh)

    def _rounded(self, values: Tensor) -> Tensor:
        """What parameters that may be of half precision can hold of these values."""
        parts = values.split([p.numel() for p in self.parameters])
        held = [v.to(p.dtype).float() for v, p in zip(parts, self.parameters, strict=True)]
        return torch.cat(held)

    def vector(self) -> Tensor:
        """float32 (count,): a copy of the values."""
        return torch.cat([p.detach().reshape(-1).float() for p in self.parameters])

    def write(self, values: Tensor) -> None:
        """Set all scalars from float32 (count,)."""
        with torch.no_grad():
            for p, part in zip(
                self.parameters, values.split([p.numel() for p in self.parameters]), strict=True
            ):
                p.copy_(part.view(p.shape))

    def gradient(self, output: Tensor, cotangent: Tensor, keep: bool = False) -> Tensor:
        """float32 (count,): gradient of sum(output * cotangent); zero where a scalar plays no part.

        Raises:
            Unreadable: the output is not connected to any weight, or its shape is not the
            cotangent's.
        """
        if output.shape != cotangent.shape:
            raise Unreadable("output_shape", seen=list(output.shape), asked=list(cotangent.shape))
        if not output.requires_grad:
            raise Unreadable("no_gradient")
        # A weighed sum: given the weights as `grad_outputs`, torch first loads sympy.
        weighed = (output * cotangent.to(output)).sum()
        found = torch.autograd.grad(weighed, self.parameters, retain_graph=keep, allow_unused=True)
        parts = [
            torch.zeros(p.numel()) if g is None else g.to_dense().reshape(-1).float()
            for p, g in zip(self.parameters, found, strict=True)
        ]
        return torch.cat(parts)


def idle(module: nn.Module, x: Tensor, draw: Draw) -> int:
    """How many trainable scalars the output for x does not depend on; values are re-drawn.

    0 where the output is no tensor, or one without a gradient.

    Args:
        x: positive, so that with positive weights no ReLU is dead.
    """
    if not any(p.requires_grad for p in module.parameters()):
        return 0
    scalars = Scalars(module)
    scalars.write(draw.uniform("idle/weights", scalars.count) / x.shape[-1])
    output = module(x)
    if not isinstance(see(output), Tensor) or not output.requires_grad:
        return 0  # nothing can be seen there, and other checks tell why
    felt = scalars.gradient(output, draw.uniform("idle/cotangent", *output.shape))
    return int((felt == 0).sum())


def in_common(one: nn.Module, two: nn.Module) -> int:
    """How many trainable scalars of one module are the other's too."""
    theirs = {id(p) for p in two.parameters()}
    return sum(p.numel() for p in one.parameters() if p.requires_grad and id(p) in theirs)
