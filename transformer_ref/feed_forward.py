"""Step 04, the reference: the position-wise feed-forward network (paper, section 3.3)."""

from torch import Tensor, nn

__all__ = ["PositionwiseFeedForward"]


class PositionwiseFeedForward(nn.Module):
    """Two linear maps with a ReLU between them, the same at every position (equation 2).

        FFN(x) = max(0, x W_1 + b_1) W_2 + b_2

    Args:
        d_model: the width of inputs and outputs.
        d_ff: the width of the hidden layer.
        dropout: the probability of dropping a hidden unit, after the ReLU, in train mode.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., d_model) to (..., d_model), of the parameters' dtype."""
        out: Tensor = self.w_2(self.dropout(self.w_1(x).relu()))
        return out
