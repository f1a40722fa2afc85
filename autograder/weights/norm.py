"""A normalization's gain and bias: which scalar belongs to which feature, and what it is worth."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.subject import Unreadable
from autograder.weights import codes
from autograder.weights.layers import Map, fill
from autograder.weights.scalars import Call, Scalars


@dataclass
class NormMap(Map):
    """A map whose gains are stored as gain - shift (1 + g is kept as g, with shift 1)."""

    shift: float = 0.0

    def place(self, weights: dict[str, Tensor]) -> Tensor:
        """As `Map.place`, for the effective gain."""
        return super().place({**weights, "gain": weights["gain"] - self.shift})


def read_norm(scalars: Scalars, call: Call, features: int, draw: Draw) -> NormMap:
    """The map of gain and bias: y = gain * n(x) + bias, feature by feature.

    The gradient of a bias is the same for every input, that of a gain is n(x). A class in which
    both depend on the input (the bias added before the division) is told apart by its fresh values,
    1 for a gain and 0 for a bias. Several sentences of several tokens are looked at together, so
    that statistics over another axis are finite too.

    Args:
        scalars: the module's trainable scalars, as they are when fresh; left unchanged.
        call: float32 (B, L, features) -> same shape.
        features: width.
        draw: where random numbers come from.

    Raises:
        Unreadable: a scalar acts on several features, or gains or biases are not one a feature.
    """
    inputs = [draw.normal(f"norm/x{i}", 3, 4, features) for i in (1, 2)]
    weigh = draw.uniform("norm/cotangent", 3, 4, features)  # not alike: a row of n(x) sums to 0
    outputs = [call(x) for x in inputs]
    rows = codes.sort(features, lambda on: scalars.gradient(outputs[0], weigh * on, keep=True) != 0)
    one, two = (scalars.gradient(y, weigh, keep=True) for y in outputs)
    constant = (one - two).abs() <= 1e-5 * one.abs()
    shared = (rows == codes.SEVERAL) | (rows == codes.ALL)
    if bool(shared.any()):
        gains, biases = int((shared & ~constant).sum()), int((shared & constant).sum())
        raise Unreadable("shared", plays=["feature"], gains=gains, biases=biases)
    live = rows >= 0
    bias = constant & live
    if not bool(bias.any()) and int(live.sum()) != features:
        bias = live & (scalars.vector() == 0)
    gain = live & ~bias
    cells = {"gain": fill("gain", (features,), gain, (rows,))}
    if bool(bias.any()):
        cells["bias"] = fill("bias", (features,), bias, (rows,))
    return NormMap(cells, scalars.count, _shift(scalars, cells["gain"], outputs, weigh))


def _shift(scalars: Scalars, cells: Tensor, outputs: list[Tensor], weigh: Tensor) -> float:
    """Effective minus stored gain: the outputs' difference over that of the gains' gradients."""
    stored = scalars.vector()[cells]
    normed = [scalars.gradient(y, weigh, keep=True)[cells] for y in outputs]
    sums = [(y.detach() * weigh).sum((0, 1)) for y in outputs]
    step = normed[0] - normed[1]
    usable = step.abs() > 0.1 * step.abs().max()
    shift = ((sums[0] - sums[1]) / step - stored)[usable].median().item()
    return 0.0 if abs(shift) < 1e-3 else shift
