"""Step 03: multi-head attention. Fill in the bodies, then run `pytest exercises/step03`.

One attention can follow one relation at a time. Here h of them work side by side, each in its
own narrow space, and a last linear layer mixes what they found.

Paper: "Attention Is All You Need", section 3.2.2 and figure 2 (right).
"""

import copy

import torch
from torch import nn

from transformer_ref import attention


def clones(module: nn.Module, N: int) -> nn.ModuleList:
    """Make N independent copies of a module.

    Args:
        module: the layer to copy. It is not itself part of the result.
        N: how many copies.

    Returns:
        An `nn.ModuleList` of N modules: equal values to begin with, but no parameter in common,
        so that training one leaves the others alone. (A plain Python list would hide the copies'
        parameters from the module that owns it.)
    """
    raise NotImplementedError("step 03: clones is not implemented yet")


class MultiHeadedAttention(nn.Module):
    """h attentions side by side, each d_k = d_model / h wide.

    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O
    head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i)

    The h small projections of one role are kept together in one (d_model, d_model) linear layer
    with a bias, so there are four linear layers in all: query, key, value, output.

    After each call `.attn` holds the attention weights of that call, (B, h, Lq, Lk).

    Use the given `attention`; `nn.MultiheadAttention` and `F.scaled_dot_product_attention` would
    be this exercise handed in ready-made.
    """

    def __init__(self, h: int, d_model: int, dropout: float = 0.1) -> None:
        """Make the layers.

        Args:
            h: number of heads.
            d_model: width of the inputs and of the output.
            dropout: probability of dropping an attention weight in training. It is handed to
                `attention` and used nowhere else.

        Raises:
            ValueError: h does not divide d_model. (Any exception will do.)
        """
        super().__init__()
        raise NotImplementedError("step 03: MultiHeadedAttention.__init__ is not implemented yet")

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Project, split into heads, attend, join, project.

        Args:
            query: (B, Lq, d_model), float, batch first.
            key: (B, Lk, d_model). Lk may differ from Lq.
            value: (B, Lk, d_model).
            mask: (B, 1, Lk) or (B, Lq, Lk), bool or 0/1 numbers, True or 1 = may look. It has no
                dimension for the heads: all heads of a sentence use the same one.

        Returns:
            (B, Lq, d_model). The weights stay behind in `self.attn`, (B, h, Lq, Lk).
        """
        raise NotImplementedError("step 03: MultiHeadedAttention.forward is not implemented yet")
