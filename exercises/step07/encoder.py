"""Step 07: the encoder. Fill in the bodies, then run `pytest exercises/step07`.

One layer lets the words exchange what they know, then lets each of them think. The encoder is a
stack of such layers. What leaves it is called the memory: a vector for each word of the source
sentence that knows of all the others.

Paper: "Attention Is All You Need", section 3.1 and figure 1 (left).
"""

import torch
from torch import nn

from transformer_ref import LayerNorm, SublayerConnection, clones


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection of its own.

    The residual connections are pre-norm (the given `SublayerConnection`): each normalizes what it
    hands to its sublayer, and adds what comes back to its input.

    `.size` keeps the width of the layer. The stack asks for it when it makes its last norm.
    """

    def __init__(
        self, size: int, self_attn: nn.Module, feed_forward: nn.Module, dropout: float
    ) -> None:
        """Take the two sublayers, and make a residual connection for each.

        Args:
            size: width of the input and of the output (d_model).
            self_attn: called as `self_attn(query, key, value, mask)`, a `MultiHeadedAttention`.
            feed_forward: called as `feed_forward(x)`, a `PositionwiseFeedForward`.
            dropout: probability that both residual connections drop a number of their branch. The
                sublayers come with dropouts of their own.
        """
        super().__init__()
        raise NotImplementedError("step 07: EncoderLayer.__init__ is not implemented yet")

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Let the words exchange, then let each of them think.

        Args:
            x: (B, L, size), float, batch first.
            mask: (B, 1, L) or (B, L, L), bool or 0/1 numbers, True or 1 = may look. It is handed
                to the attention as it is. None hides nothing.

        Returns:
            The same shape as x.
        """
        raise NotImplementedError("step 07: EncoderLayer.forward is not implemented yet")


class Encoder(nn.Module):
    """A stack of N layers, and a last `LayerNorm` on top.

    In a pre-norm layer nothing normalizes the sum that leaves it. The next layer does that, and
    behind the last layer the stack itself.
    """

    def __init__(self, layer: nn.Module, N: int) -> None:
        """Make the stack.

        Args:
            layer: an `EncoderLayer`, or any module with `.size` that is called as
                `layer(x, mask)`. The stack holds N independent copies of it (the given `clones`).
            N: how many layers.

        The last norm is `layer.size` wide.
        """
        super().__init__()
        raise NotImplementedError("step 07: Encoder.__init__ is not implemented yet")

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Send x through all layers and normalize what comes out.

        Args:
            x: (B, L, size), float, batch first: the embedded source sentence.
            mask: (B, 1, L) or (B, L, L), True or 1 = may look. Every layer gets the same one.

        Returns:
            The memory, of the same shape as x.
        """
        raise NotImplementedError("step 07: Encoder.forward is not implemented yet")
