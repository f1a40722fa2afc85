"""A normalization's gain and bias: which scalar belongs to which feature, and what it is effectively worth."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.weights import codes
from autograder.weights.layers import Map, fill
from autograder.weights.scalars import Call, Scalars, Unreadable


@dataclass
class NormMap(Map):
    """A map whose gains are stored as gain - shift (1 + g is kept as g, with shift 1)."""

    shift: Tensor | None = None

    def place(self, weights: dict[str, Tensor]) -> Tensor:
        if self.shift is None:
            return super().place(weights)
        return super().place({**weights, "gain": weights["gain"] - self.shift})


def read_norm(scalars: Scalars, call: Call, features: int, draw: Draw) -> NormMap:
    """The map of gain and bias: y = gain * n(x) + bias, feature by feature.

    The gradient of a bias is the same for every token, that of a gain is n(x). A class in which both depend on the
    token (the bias added before the division) is told apart by its fresh values, 1 for a gain and 0 for a bias.

    Args:
        scalars: the module's trainable scalars, as they are when fresh; left unchanged.
        call: float32 (1, 1, features) -> same shape.
        features: width.
        draw: where random numbers come from.

    Raises:
        Unreadable: a scalar acts on several features, or a gain or bias is missing.
    """
    fresh = scalars.vector()
    tokens = [draw.normal(f"norm/token{i}", 1, 1, features, scale=1.0) for i in (1, 2)]
    outputs = [call(t) for t in tokens]
    ones = torch.ones(1, 1, features)
    rows = codes.sort(
        features, lambda on: scalars.gradient(outputs[0], ones * on, keep=True) != 0
    )
    one, two = (scalars.gradient(y, ones, keep=True) for y in outputs)
    if bool(((rows == codes.SEVERAL) | (rows == codes.ALL)).any()):
        raise Unreadable("shared", plays=["feature"])
    same = (one - two).abs() <= 1e-5 * one.abs()
    bias = same if int(same.sum()) == features else fresh == 0
    bias = bias & (rows >= 0)
    gain = ~bias & (rows >= 0)
    cells = {"gain": fill("gain", (features,), gain, (rows,))}
    if bias.any():
        cells["bias"] = fill("bias", (features,), bias, (rows,))
    shift = None
    if int(same.sum()) == features:
        shift = _shift(fresh[cells["gain"]], [y.detach().view(-1) for y in outputs],
                       [g[cells["gain"]] for g in (one, two)])
    return NormMap(cells, scalars.count, shift)


def _shift(stored: Tensor, outputs: list[Tensor], normed: list[Tensor]) -> Tensor | None:
    """Effective minus stored gain, from two tokens; None where it is 0."""
    step = normed[0] - normed[1]
    usable = step.abs() > 0.1
    effective = torch.where(usable, (outputs[0] - outputs[1]) / step, stored)
    shift = (effective - stored)[usable].median() if usable.any() else torch.tensor(0.0)
    return None if shift.abs() < 1e-3 else shift
