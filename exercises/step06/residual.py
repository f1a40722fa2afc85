"""Step 06: layer normalization and the residual connection. Fill in the bodies, then run
`pytest exercises/step06`.

Deep networks learn when a signal can pass them unchanged. Each sublayer therefore only *adds* to
its input, and is given a normalized copy of it, so that it always works on numbers of one size.

Paper: "Attention Is All You Need", sections 3.1 and 5.4; Ba et al., "Layer Normalization" (2016).
"""

from collections.abc import Callable

import torch
from torch import nn


class LayerNorm(nn.Module):
    """Bring each row to mean 0 and spread 1, then let it learn another: a gain and a bias.

    LayerNorm(x) = gain * (x - mean) / (std + eps) + bias

    Mean and std are taken over the last dimension. std is the unbiased one (divided by n - 1), and
    eps is added to the std itself, not to the variance. This differs from `nn.LayerNorm`, which
    divides by n and adds eps to the variance, under the root.
    """

    def __init__(self, features: int, eps: float = 1e-6) -> None:
        """Make the gain and the bias: one trainable number a feature each.

        Args:
            features: size of the last dimension of the input.
            eps: added to the std, so that a constant row is not divided by zero.

        At the start the gain is 1 and the bias is 0 for every feature.
        """
        super().__init__()
        raise NotImplementedError("step 06: LayerNorm.__init__ is not implemented yet")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize each row over its features.

        Args:
            x: (..., features), float; in the model (B, L, features), batch first.

        Returns:
            The same shape as x. A constant row gives the bias, never NaN.
        """
        raise NotImplementedError("step 06: LayerNorm.forward is not implemented yet")


class SublayerConnection(nn.Module):
    """A residual connection around any sublayer: x + Dropout(sublayer(LayerNorm(x))).

    This is the *pre-norm* order: the norm stands before the sublayer, on the branch, and nothing
    stands on the path of x itself. (The paper's text has the post-norm order,
    LayerNorm(x + Dropout(sublayer(x))).)
    """

    def __init__(self, size: int, dropout: float) -> None:
        """Make the norm (this step's own `LayerNorm`) and the dropout.

        Args:
            size: size of the last dimension of the input.
            dropout: probability of dropping a number of the sublayer's output in training.
        """
        super().__init__()
        raise NotImplementedError("step 06: SublayerConnection.__init__ is not implemented yet")

    def forward(
        self, x: torch.Tensor, sublayer: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        """Add to x what the sublayer makes of its normalized copy.

        Args:
            x: (..., size), float; in the model (B, L, size), batch first.
            sublayer: any callable from (..., size) to (..., size): a module, a function, a lambda.
                It is called once, with one tensor.

        Returns:
            The same shape as x. x itself is not changed in place.
        """
        raise NotImplementedError("step 06: SublayerConnection.forward is not implemented yet")
