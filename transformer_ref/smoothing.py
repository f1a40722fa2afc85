"""Step 13, the reference: label smoothing (paper, section 5.4; Szegedy et al., 2015)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["LabelSmoothing"]


class LabelSmoothing(nn.Module):
    """The Kullback-Leibler divergence from a smoothed target distribution, summed over positions.

    A position's distribution has 1 - smoothing at the target, smoothing / (size - 2) at every
    other id, and 0 at the padding id. A position whose target is padding counts for nothing.

    Args:
        size: the number of ids.
        padding_idx: the id of padding.
        smoothing: how much probability the target gives away, from 0 to 1.
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
            A scalar of the dtype of x: the sum over all positions.
        """
        wanted = torch.full_like(x, self.smoothing / (self.size - 2), requires_grad=False)
        wanted.scatter_(1, target.unsqueeze(1), 1 - self.smoothing)
        wanted[:, self.padding_idx] = 0
        wanted[target == self.padding_idx] = 0
        return F.kl_div(x, wanted, reduction="sum")
