"""Step 06, the reference: layer normalization and the residual connection around a sublayer.

The paper (section 3.1) normalizes after adding; here as in The Annotated Transformer the branch's
input is normalized and the sum is left alone (pre-norm).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

__all__ = ["LayerNorm", "SublayerConnection"]


class LayerNorm(nn.Module):
    """Normalize the last dim, then scale and shift each feature (section 3.1; Ba et al., 2016).

        y = a_2 * (x - mean) / (std + eps) + b_2

    The std is the unbiased one (divided by features - 1), and eps is added to it, not to the
    variance; `nn.LayerNorm` differs in both. A row whose features are all equal becomes b_2 up to
    the mean's rounding over eps, and its gradients are finite.

    Args:
        features: the size of the last dim, 2 or more.
        eps: keeps the division finite.

    Raises:
        ValueError: when features is below 2, since one number has no unbiased std.
    """

    def __init__(self, features: int, eps: float = 1e-6) -> None:
        super().__init__()
        if features < 2:
            raise ValueError(f"the unbiased std needs at least 2 features: {features=}")
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., features) to (..., features), of the input's and parameters' dtype."""
        # The distance from the mean is at hand, so that the std is a norm and not another mean;
        # a product with the reciprocal of one number a row has a cheaper gradient than a quotient.
        centered = x - x.mean(dim=-1, keepdim=True)
        std = torch.linalg.vector_norm(centered, dim=-1, keepdim=True) / math.sqrt(x.size(-1) - 1)
        return torch.addcmul(self.b_2, self.a_2, centered * (std + self.eps).reciprocal())


class SublayerConnection(nn.Module):
    """A residual connection around a sublayer, normalized before it (sections 3.1 and 5.4).

        y = x + dropout(sublayer(norm(x)))

    Args:
        size: the width of the input, which the sublayer keeps.
        dropout: the probability of dropping an element of the branch in train mode.
    """

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Add what the sublayer makes of the normalized input to the input.

        Args:
            x: (..., size), of the parameters' dtype.
            sublayer: any callable that maps (..., size) to (..., size).

        Returns:
            (..., size), of the input's dtype.
        """
        out: Tensor = x + self.dropout(sublayer(self.norm(x)))
        return out
