"""Step 13, the reference: label smoothing (paper, section 5.4; Szegedy et al., 2015)."""

import math
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["LabelSmoothing"]


class LabelSmoothing(nn.Module):
    """The Kullback-Leibler divergence from a smoothed target distribution, summed over positions.

    A position's distribution has 1 - smoothing at the target, smoothing / (size - 2) at every
    other id, and 0 at the padding id. A position whose target is padding counts for nothing.
    What has weight 0 is not looked at: it may be -inf.

    Args:
        size: the number of ids.
        padding_idx: the id of padding.
        smoothing: how much probability the target gives away, 0 or more and below 1.
    """

    def __init__(self, size: int, padding_idx: int, smoothing: float = 0.0) -> None:
        super().__init__()
        self.size = size
        self.padding_idx = padding_idx
        self.smoothing = smoothing

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """Compute the loss.

        Args:
            x: (N, size), log-probabilities.
            target: (N,), int64.

        Returns:
            A scalar, of the dtype of x or float32 if wider: the sum over all positions.
        """
        others = max(self.size - 2, 1)
        loss: Tensor = _Divergence.apply(
            x, target, self.padding_idx, 1 - self.smoothing, self.smoothing / others
        )
        return loss


class _Divergence(torch.autograd.Function):
    """The divergence from rows that hold `right` at the target, 0 at padding, `wrong` elsewhere.

    The gradient is minus these rows. Only there are they ever written down: the loss itself needs
    no more than a row's sum and its value at the target.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, target: Tensor, padding: int, right: float, wrong: float) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)  # A sum of thousands needs its digits.
        at_target = x.gather(1, target.unsqueeze(1)).squeeze(1).to(wide)
        cross_entropy = (wrong - right) * at_target
        entropy = -_xlogx(right)
        if wrong > 0:
            before = x[:, :padding].sum(dim=1, dtype=wide)
            after = x[:, padding + 1 :].sum(dim=1, dtype=wide)
            cross_entropy = cross_entropy - wrong * (before + after)
            entropy -= (x.size(1) - 2) * _xlogx(wrong)
        return (cross_entropy - entropy).masked_fill(target == padding, 0).sum()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, target, ctx.padding, ctx.right, ctx.wrong = inputs
        ctx.save_for_backward(target)
        ctx.size, ctx.dtype = x.size(1), x.dtype

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (target,) = ctx.saved_tensors
        shape = (target.size(0), ctx.size)
        rows = target.new_full(shape, -ctx.wrong, dtype=ctx.dtype)
        rows = rows.scatter(1, target.unsqueeze(1), -ctx.right)
        rows[:, ctx.padding] = 0
        rows = rows * (gradient * (target != ctx.padding)).unsqueeze(1).to(ctx.dtype)
        return rows, None, None, None, None


def _xlogx(p: float) -> float:
    return p * math.log(p) if p > 0 else 0.0
