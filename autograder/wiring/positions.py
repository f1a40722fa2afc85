"""Watch a positional encoding: which rows a sentence gets, what is left of x, and its gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, see


def lengths_served(encoding: nn.Module, width: int, longest: int) -> Value:
    """float32 (longest,), by length: 1, it gets the first rows; 0, it gets others; -1, neither.

    Where no length works, the exception is let through, or what came out is seen.
    """
    outputs: dict[int, Any] = {}
    failure: Exception | None = None
    for n in range(1, longest + 1):
        try:
            outputs[n] = in_float32(encoding(torch.zeros(1, n, width)))
        except Exception as e:  # tables that are too short, or not cut, fail for some lengths only
            failure = e
    right = {n: y for n, y in outputs.items() if isinstance(y, Tensor) and y.shape == (1, n, width)}
    if not right:
        if failure:
            raise failure
        return form(outputs[longest])
    table = right[max(right)]
    works = torch.full((longest,), -1.0)
    for n, y in right.items():
        works[n - 1] = float((y - table[:, :n]).abs().max() < 1e-4)
    return works


def shares(one: Tensor, plain: Value, own: Value) -> Value:
    """[share of x, share of the positions, anything else]: all 0 where nothing is left."""
    if not isinstance(plain, Tensor) or not isinstance(own, Tensor) or own.shape != one.shape:
        return form(one)
    parts = torch.stack([(plain - own).flatten(), own.flatten()], dim=1).double()
    whole = one.flatten().double()
    shares = torch.linalg.pinv(parts) @ whole
    rest = (whole - parts @ shares).abs().max()
    return torch.stack([*shares, rest]).float()


def slope_in_training(encoding: nn.Module, x: Tensor, draw: Draw) -> bool:
    """Whether the gradient of x is the slope of the output in training mode: it is linear in x.

    What is dropped, if it is in spite of the rate, is dropped alike.
    """
    leaf = x.clone().requires_grad_()
    with draw.torch_seeded("trained"):
        y = encoding(leaf * 1.0)
    with draw.torch_seeded("trained"):
        rise = ((y - encoding(torch.zeros_like(x))) * x).sum()
    felt = (slope_of(y, leaf, x) * x).sum()
    return bool((felt - rise).abs() < 0.01 * x.square().sum())


def slope_of(y: Tensor, leaf: Tensor, weigh: Tensor) -> Tensor:
    """The gradient of sum(y * weigh) by the leaf; zero where there is none."""
    slope = None
    if y.requires_grad:
        slope = torch.autograd.grad((y * weigh).sum(), leaf, allow_unused=True)[0]
    return torch.zeros_like(leaf) if slope is None else slope


def form(value: Value) -> Value:
    """What stood where a tensor of another shape was asked for; it may be very large."""
    return Odd(f"tensor {tuple(value.shape)}") if isinstance(value, Tensor) else value


def in_float32(value: Any) -> Any:
    """As it can be observed, in float32: its own type is one check's matter."""
    seen = see(value)
    return seen.float() if isinstance(seen, Tensor) else seen
