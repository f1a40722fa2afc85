"""Watch the branch of a residual block: what its sublayer receives, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value, apart


class Sublayer(nn.Module):
    """A sublayer that keeps what it is called with, and what it gave."""

    def __init__(self, answer: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.answer = answer
        self.inputs: list[Any] = []
        self.outputs: list[Tensor] = []

    def forward(self, h: Tensor) -> Tensor:
        with torch.enable_grad():  # a block that calls it without, loses what it gives
            self.inputs.append(h.clone() if isinstance(h, Tensor) else h)
        self.outputs.append(self.answer(h))
        return self.outputs[-1].clone()


def run(block: nn.Module, x: Tensor, answer: Tensor) -> tuple[Any, list[Any]]:
    """The block's output, and what its sublayer, which gives `answer`, received."""
    sublayer = Sublayer(lambda h: answer)
    return block(x.clone(), sublayer), sublayer.inputs


def left(block: nn.Module, x: Tensor, kind: str, answer: Callable[[Tensor], Tensor]) -> Value:
    """The output minus x minus what the sublayer, a thing of that kind, gave."""
    sublayer = Sublayer(answer)
    kinds = {"function": lambda h: sublayer(h), "method": sublayer.forward, "module": sublayer}
    y = block(x, kinds[kind])
    return apart(y, x + sublayer.outputs[0] if sublayer.outputs else x)


def gradient(y: Any, x: Tensor, weigh: Tensor) -> Any:
    """That of sum(y * weigh) by x, zero where there is none; or y, if it is no such tensor."""
    if not isinstance(y, Tensor) or y.shape != weigh.shape:
        return y
    if not y.requires_grad:
        return torch.zeros_like(x)
    dx = torch.autograd.grad((y * weigh).sum(), x, allow_unused=True)[0]
    return torch.zeros_like(x) if dx is None else dx


def teaches(block: nn.Module, x: Tensor, draw: Draw) -> bool:
    """Whether the gradient that the sublayer's output gets is the slope of the block's output.

    Along one direction, as the mode is; what is dropped is the same in all calls.
    """
    given, weigh = draw.normal("given", *x.shape), draw.normal("cotangent", *x.shape)
    leaf, step = given.clone().requires_grad_(), 0.05

    def call(answer: Tensor) -> Any:
        with draw.torch_seeded("teaches"):
            return block(x, lambda h: answer * 1.0)

    felt = gradient(call(leaf), leaf, weigh)
    ends = [call(given + step * weigh), call(given - step * weigh)]
    if not all(isinstance(y, Tensor) and y.shape == x.shape for y in (felt, *ends)):
        return False
    rise = ((ends[0] - ends[1]).detach() * weigh).sum() / (2 * step)
    return bool(((felt * weigh).sum() - rise).abs() < 0.02 * weigh.square().sum())
