"""Step 04: the position-wise feed-forward network. Fill in the bodies, then run
`pytest exercises/step04`.

Attention lets tokens exchange what they know. After it, each token works through what it got
alone: it is widened, bent by a ReLU and narrowed again, with the same weights at every position.

Paper: "Attention Is All You Need", section 3.3, equation 2.
"""

import torch
from torch import nn


class PositionwiseFeedForward(nn.Module):
    """Two linear layers with a ReLU between: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2.

    Both layers have a bias. No token sees another one.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        """Make the layers.

        Args:
            d_model: width of the input and of the output.
            d_ff: width of the hidden layer (2048 in the paper, four times d_model).
            dropout: probability of dropping a hidden unit in training, after the ReLU. There is
                no other dropout in this block.
        """
        super().__init__()
        raise NotImplementedError(
            "step 04: PositionwiseFeedForward.__init__ is not implemented yet"
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform every position by itself.

        Args:
            x: (..., d_model), float; in the model (B, L, d_model), batch first.

        Returns:
            The same shape as x.
        """
        raise NotImplementedError("step 04: PositionwiseFeedForward.forward is not implemented yet")
