"""Step 08, the reference: the decoder, a stack of layers (paper, section 3.1, figure 1, right)."""

from torch import Tensor, nn

from .multi_head import clones
from .residual import LayerNorm, SublayerConnection

__all__ = ["Decoder", "DecoderLayer"]


class DecoderLayer(nn.Module):
    """Self-attention, attention to the memory, then the feed-forward network (section 3.2.3).

    Each stands in a residual connection. The three sublayers are used as they are, not copied.

    Args:
        size: the width of inputs, memory and outputs; kept as `.size`.
        self_attn: called as self_attn(query, key, value, mask), e.g. a `MultiHeadedAttention`.
        src_attn: likewise; its keys and values are the encoder's output.
        feed_forward: maps (B, T, size) to the same shape, e.g. a `PositionwiseFeedForward`.
        dropout: the probability of dropping an element of a branch in train mode.
    """

    def __init__(
        self,
        size: int,
        self_attn: nn.Module,
        src_attn: nn.Module,
        feed_forward: nn.Module,
        dropout: float,
    ) -> None:
        super().__init__()
        self.size = size
        self.self_attn = self_attn
        self.src_attn = src_attn
        self.feed_forward = feed_forward
        self.sublayer = clones(SublayerConnection(size, dropout), 3)

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None, tgt_mask: Tensor | None
    ) -> Tensor:
        """Apply the three sublayers.

        Args:
            x: (B, T, size), of the parameters' dtype.
            memory: (B, S, size), the encoder's output, likewise. It is not normalized again.
            src_mask: (B, 1, S) or (B, T, S), which part of the memory may be looked at; any dtype,
                0 or False = hidden; None hides nothing.
            tgt_mask: (B, 1, T) or (B, T, T), likewise for x itself.

        Returns:
            (B, T, size), of the parameters' dtype.
        """
        attend, consult, transform = self.sublayer
        x = attend(x, lambda query: self.self_attn(query, query, query, tgt_mask))
        x = consult(x, lambda query: self.src_attn(query, memory, memory, src_mask))
        x = transform(x, self.feed_forward)
        return x


class Decoder(nn.Module):
    """N copies of a layer, one after the other, and a last norm.

    Args:
        layer: what is copied; the layer itself is not part of the stack.
        N: how many copies, 0 or more.
    """

    def __init__(self, layer: DecoderLayer, N: int) -> None:
        super().__init__()
        self.layers = clones(layer, N)
        self.norm = LayerNorm(layer.size)

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None, tgt_mask: Tensor | None
    ) -> Tensor:
        """Map (B, T, size) to the same shape; each layer gets the same rest, see `DecoderLayer`."""
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        out: Tensor = self.norm(x)
        return out
