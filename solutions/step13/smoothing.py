"""Step 13: label smoothing. Fill in the bodies, then run `pytest exercises/step13`.

A model that is only rewarded for the one right word learns to be sure of everything. Label
smoothing asks for a little doubt: most of the probability on the right word, the rest shared among
the others. The model becomes less certain of its words, and its translations better.

Paper: "Attention Is All You Need", section 5.4 (label smoothing).
"""

import torch
from torch import nn
from torch.nn import functional as F


class LabelSmoothing(nn.Module):
    """The distance between what the model says and a smoothed distribution of the right words.

    For each row, the wanted distribution q over the vocabulary is

        1 - smoothing             on the target,
        smoothing / (size - 2)    on every other word,
        0                         on the padding word, which is never to be said,

    and all zero where the target itself is padding. The share is divided by size - 2 because two
    words get none of it: the target and the padding. A row of q sums to 1, or to 0 for padding.
    """

    def __init__(self, size: int, padding_idx: int, smoothing: float = 0.0) -> None:
        """Keep what is needed to make the distributions; there is nothing to train.

        Args:
            size: the number of words in the vocabulary, 3 or more.
            padding_idx: the id of the padding word.
            smoothing: the probability taken from the target, from 0 to 1. The paper has 0.1.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.size = size
        self.padding_idx = padding_idx
        self.smoothing = smoothing
        ### END SOLUTION

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Compare the model's log-probabilities with the wanted distribution.

        Args:
            x: (N, size), float: *log*-probabilities, as `Generator` gives them. It is not changed.
            target: (N,), int64: the ids of the right words. Any number of them, or none, may be
                padding.

        Returns:
            A scalar: the Kullback-Leibler divergence of q from the model's distribution, the *sum*
            over all rows and words of q * (log q - x), where 0 * log 0 is 0. It is not divided by
            anything. (The cross-entropy, the sum of -q * x, is right, too: it differs by a number
            that x has no part in, so that the gradients are the same.)
        """
        ### BEGIN SOLUTION
        share = self.smoothing / (self.size - 2)
        confidence = 1.0 - self.smoothing

        # Every word gets a share; then the target and the padding word get what is theirs.
        wanted = torch.full_like(x, share)
        wanted = wanted.scatter(1, target.unsqueeze(1), confidence)
        wanted[:, self.padding_idx] = 0.0

        # Where the target is padding, nothing is wanted at all.
        is_padding = target == self.padding_idx
        wanted = wanted.masked_fill(is_padding.unsqueeze(1), 0.0)

        return F.kl_div(x, wanted, reduction="sum")
        ### END SOLUTION
