"""Tell what a tensor is: a sum of known ones, the normalization of a sum, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from autograder.core.draw import Draw

# Of the size of what is told. Rounding and the eps of norms stay below; wrong formulas miss by 1.
_EXACT = 1e-3


@dataclass
class Told:
    """A formula; gain and bias of the normalization in it, where there is one."""

    text: str
    norm: Tensor | None = None


@dataclass
class Known:
    """A tensor that formulas may name. Inputs and what parts gave are plain, norms are not."""

    name: str
    value: Tensor
    plain: bool = True


@dataclass
class Sums:
    """Names sums of known tensors, whoever made them.

    Gain and bias of a normalization are fitted feature by feature: so torch's formula and the
    step's are one and the same, norm(...). Gains should be about 1, and biases about 0: what they
    are instead, to the nearest half, is written down. A sum of all plain tensors is written
    `x + ...`, x being the first, where there are several.
    """

    draw: Draw
    known: list[Known] = field(default_factory=list)

    def add(self, name: str, value: Tensor, plain: bool = True) -> None:
        """Let formulas name this tensor."""
        self.known.append(Known(name, value.detach(), plain))

    def tell(self, value: Tensor) -> Told:
        """The shortest formula; where none fits, '?', the shape and a number of the tensor's."""
        known = [k for k in self.known if k.value.shape == value.shape]
        if not known or not value.isfinite().all():
            return self._other(value)
        target = value.detach().double().flatten(0, -2)
        items = torch.stack([k.value.double().flatten(0, -2) for k in known])
        for formula in (_plain, _normed, _scaled):
            if told := formula(known, items, target):
                return told
        return self._other(value)

    def _other(self, value: Tensor) -> Told:
        number = (value.detach() * self.draw.normal("other", *value.shape)).mean().item() * 10
        return Told(f"? {tuple(value.shape)} {number:.3g}")


def _plain(known: Sequence[Known], items: Tensor, target: Tensor) -> Told | None:
    if target.abs().max() < 1e-5:
        return Told("0")
    size = target.square().sum()
    for coefficients in _subsets(len(known)):
        found = (target - _sums(coefficients, items)).square().sum((1, 2)) < _EXACT**2 * size
        if found.any():
            return Told(_formula(known, coefficients[found][0]))
    return None


def _scaled(known: Sequence[Known], items: Tensor, target: Tensor) -> Told | None:
    """Any multiples, added up."""
    matrix = items.flatten(1).T
    solved = torch.linalg.lstsq(matrix, target.reshape(-1, 1), driver="gelsd").solution
    left = matrix @ solved - target.reshape(-1, 1)
    if left.square().sum() < _EXACT**2 * target.square().sum():
        return Told(_formula(known, solved[:, 0].mul(100).round() / 100))
    return None


def _normed(known: Sequence[Known], items: Tensor, target: Tensor) -> Told | None:
    """norm(sum), or else sum + norm(sum)."""
    inner = torch.cat(_subsets(len(known)))
    outer = torch.cat([torch.zeros(1, len(known), dtype=torch.float64), inner])
    twice = _subsets(len(known), (0.0, 1.0, 2.0))[-1] if len(known) <= 4 else inner
    for plus, within in ((outer[:1], inner), (outer, inner), (outer[:1], twice)):
        rest = target - _sums(plus, items)
        normed = _standard(_sums(within, items))
        gap, scale = _misfit(rest, normed), target.square().sum()
        found = (gap < _EXACT**2 * scale).nonzero()
        if len(found):
            costs = plus[found[:, 0]].sum(1) + within[found[:, 1]].sum(1)
            p, q = found[costs.argmin()].tolist()
            norm = _gain_and_bias(rest[p], normed[q])
            text = _scaled_norm(_formula(known, within[q]), norm)
            if plus[p].any():
                text = f"{_formula(known, plus[p])} + {text}"
            return Told(text, norm)
    return None


def _sums(coefficients: Tensor, items: Tensor) -> Tensor:
    """(n, k) and (k, t, d) -> (n, t, d)"""
    return (coefficients @ items.flatten(1)).unflatten(1, items.shape[1:])


def _subsets(n: int, values: Sequence[float] = (0.0, 1.0)) -> list[Tensor]:
    """Coefficients of sums: those of one item, then all others, short ones first."""
    rows = torch.tensor(list(product(values, repeat=n)), dtype=torch.float64)
    rows = rows[rows.sum(1).argsort(stable=True)]
    return [rows[rows.sum(1) == 1], rows[rows.sum(1) > 1]] if n > 1 else [rows[1:]]


def _standard(x: Tensor) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-12)


def _misfit(rest: Tensor, normed: Tensor) -> Tensor:
    """(p, t, d) and (q, t, d) -> (p, q): squares left of each rest, with the best gain and bias.

    Infinite where the rest is the same for every token: the bias alone fits, nothing is normalized.
    """
    rest, normed = rest - rest.mean(1, keepdim=True), normed - normed.mean(1, keepdim=True)
    squares = rest.square().sum(1)
    shared = torch.matmul(rest.permute(2, 0, 1), normed.permute(2, 1, 0)).permute(1, 2, 0)
    left = squares[:, None] - shared.square() / (normed.square().sum(1) + 1e-12)
    still = squares.sum(1) < 1e-6 * rest.size(1) * rest.size(2)
    return left.sum(-1).masked_fill(still[:, None], torch.inf)


def _gain_and_bias(rest: Tensor, normed: Tensor) -> Tensor:
    """(2, d)"""
    centred = normed - normed.mean(0)
    gain = (centred * rest).sum(0) / centred.square().sum(0)
    return torch.stack([gain, rest.mean(0) - gain * normed.mean(0)])


def _scaled_norm(inner: str, norm: Tensor) -> str:
    """norm(inner), with a factor and a constant where gains are not about 1, biases not about 0."""
    gain, bias = (norm.mean(1) * 2).round().div(2).tolist()
    text = f"norm({inner})" if gain == 1 else f"{gain:g} norm({inner})"
    return f"{text} + {bias:g}" if bias else text


def _formula(known: Sequence[Known], coefficients: Tensor) -> str:
    terms = [(c, k) for c, k in zip(coefficients.tolist(), known, strict=True) if c]
    plain = [k for k in known if k.plain]
    if len(plain) > 1 and [k for c, k in terms if c == 1] == plain and len(terms) == len(plain):
        return f"{plain[0].name} + ..."
    text = " + ".join(k.name if c == 1 else f"{c:g} {k.name}" for c, k in terms)
    return text or "0"
