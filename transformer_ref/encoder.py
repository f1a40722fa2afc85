"""Step 07, the reference: the encoder, a stack of layers (paper, section 3.1, figure 1, left)."""

from torch import Tensor, nn

from .multi_head import clones
from .residual import LayerNorm, SublayerConnection

__all__ = ["Encoder", "EncoderLayer"]


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each in a residual connection.

    The two sublayers are used as they are, not copied.

    Args:
        size: the width of inputs and outputs; kept as `.size`.
        self_attn: called as self_attn(query, key, value, mask), e.g. a `MultiHeadedAttention`.
        feed_forward: maps (B, L, size) to the same shape, e.g. a `PositionwiseFeedForward`.
        dropout: the probability of dropping an element of a branch in train mode.
    """

    def __init__(
        self, size: int, self_attn: nn.Module, feed_forward: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.size = size
        self.self_attn = self_attn
        self.feed_forward = feed_forward
        self.sublayer = clones(SublayerConnection(size, dropout), 2)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Apply both sublayers.

        Args:
            x: (B, S, size), of the parameters' dtype.
            mask: (B, 1, S) or (B, S, S), any dtype, 0 or False = hidden; None hides nothing.

        Returns:
            (B, S, size), of the parameters' dtype.
        """
        attend, transform = self.sublayer
        x = attend(x, lambda query: self.self_attn(query, query, query, mask))
        x = transform(x, self.feed_forward)
        return x


class Encoder(nn.Module):
    """N copies of a layer, one after the other, and a last norm.

    The norm is needed because the layers normalize what enters their branches, not their sums.

    Args:
        layer: what is copied; the layer itself is not part of the stack.
        N: how many copies, 0 or more.
    """

    def __init__(self, layer: EncoderLayer, N: int) -> None:
        super().__init__()
        self.layers = clones(layer, N)
        self.norm = LayerNorm(layer.size)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Map (B, S, size) to the same shape; each layer gets the same mask, see `EncoderLayer`."""
        for layer in self.layers:
            x = layer(x, mask)
        out: Tensor = self.norm(x)
        return out
