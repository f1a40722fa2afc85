"""Step 02, the reference: the mask that hides the future (paper, section 3.2.3)."""

import torch
from torch import Tensor

__all__ = ["subsequent_mask"]


def subsequent_mask(size: int) -> Tensor:
    """Let each position look at itself and at what came before it.

    Args:
        size: the length of the sequence, 0 or more.

    Returns:
        (1, size, size), bool, on the default device: row i, column j is True where j <= i.

    Raises:
        RuntimeError: from torch, when size is negative.
    """
    return torch.ones(1, size, size, dtype=torch.bool).tril()
