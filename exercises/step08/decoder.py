"""Step 08: the decoder. Fill in the bodies, then run `pytest exercises/step08`.

The decoder writes the translation. Each of its layers first looks back at what is written already,
then across at the memory of the source sentence, then thinks.

Paper: "Attention Is All You Need", sections 3.1 and 3.2.3, figure 1 (right).
"""

import torch
from torch import nn

from transformer_ref import LayerNorm, SublayerConnection, clones


class DecoderLayer(nn.Module):
    """Self-attention, attention to the source, then feed-forward, each in a residual connection.

    The residual connections are pre-norm (the given `SublayerConnection`). They normalize the
    decoder's own x; the memory is used as it comes, since the encoder has normalized it.

    `.size` keeps the width of the layer. The stack asks for it when it makes its last norm.
    """

    def __init__(
        self,
        size: int,
        self_attn: nn.Module,
        src_attn: nn.Module,
        feed_forward: nn.Module,
        dropout: float,
    ) -> None:
        """Take the three sublayers, and make a residual connection for each.

        Args:
            size: width of the input and of the output (d_model).
            self_attn: called as `self_attn(query, key, value, mask)`, looks at the target.
            src_attn: called likewise, looks at the source. Another module than self_attn.
            feed_forward: called as `feed_forward(x)`.
            dropout: probability that the three residual connections drop a number of their branch.
                The sublayers come with dropouts of their own.
        """
        super().__init__()
        raise NotImplementedError("step 08: DecoderLayer.__init__ is not implemented yet")

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        src_mask: torch.Tensor | None,
        tgt_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Look back, look across, think.

        Args:
            x: (B, T, size), float, batch first: the target so far.
            memory: (B, S, size), what the encoder made of the source. S may differ from T.
            src_mask: (B, 1, S) or (B, T, S), bool or 0/1 numbers, True or 1 = may look: which
                source positions may be looked at. For the attention to the source.
            tgt_mask: (B, 1, T), (B, T, T) or (1, T, T), likewise for the target. For the
                self-attention, and usually with a `subsequent_mask` in it.

        Returns:
            The same shape as x.
        """
        raise NotImplementedError("step 08: DecoderLayer.forward is not implemented yet")


class Decoder(nn.Module):
    """A stack of N layers, and a last `LayerNorm` on top.

    In a pre-norm layer nothing normalizes the sum that leaves it. The next layer does that, and
    behind the last layer the stack itself.
    """

    def __init__(self, layer: nn.Module, N: int) -> None:
        """Make the stack.

        Args:
            layer: a `DecoderLayer`, or any module with `.size` that is called as
                `layer(x, memory, src_mask, tgt_mask)`. The stack holds N independent copies of it
                (the given `clones`).
            N: how many layers.

        The last norm is `layer.size` wide.
        """
        super().__init__()
        raise NotImplementedError("step 08: Decoder.__init__ is not implemented yet")

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        src_mask: torch.Tensor | None,
        tgt_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Send x through all layers and normalize what comes out.

        Args:
            x: (B, T, size), float, batch first: the embedded target sentence.
            memory: (B, S, size). Every layer looks at the same memory.
            src_mask: (B, 1, S) or (B, T, S), True or 1 = may look.
            tgt_mask: (B, 1, T), (B, T, T) or (1, T, T), likewise.

        Returns:
            The same shape as x.
        """
        raise NotImplementedError("step 08: Decoder.forward is not implemented yet")
