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
        ### BEGIN SOLUTION
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(p=dropout)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform every position by itself.

        Args:
            x: (..., d_model), float; in the model (B, L, d_model), batch first.

        Returns:
            The same shape as x.
        """
        ### BEGIN SOLUTION
        # nn.Linear works on the last dimension only, so positions cannot mix: (..., d_ff).
        hidden = self.w_1(x)

        # Without the bend, two linear layers in a row would be no more than one.
        hidden = hidden.relu()

        hidden = self.dropout(hidden)

        # Back to the width that the next layer expects: (..., d_model).
        return self.w_2(hidden)
        ### END SOLUTION
