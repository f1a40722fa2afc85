"""Step 01: scaled dot-product attention. Fill in the body, then run `pytest exercises/step01`.

One function is the core of the whole Transformer: every query looks at every key, decides how
much each of them matters, and takes home the weighted mean of the values.

Paper: "Attention Is All You Need", section 3.2.1, equation 1.
"""

import math

import torch
from torch import nn


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
    dropout: nn.Module | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Let each query gather the values whose keys fit it: softmax(Q K^T / sqrt(d_k)) V.

    Args:
        query: (..., Lq, d_k), float. Any number of leading dimensions, batch first.
        key: (..., Lk, d_k). Lk may differ from Lq.
        value: (..., Lk, d_v). d_v may differ from d_k.
        mask: broadcastable to (..., Lq, Lk), bool or 0/1 numbers. True or 1 means "this query
            may look at this key", False or 0 means "hidden". None hides nothing.
            A hidden score is replaced by a very negative number *before* the softmax.
        dropout: a callable such as an `nn.Dropout`, applied to the attention weights (after the
            softmax, before they meet the values). None leaves them alone.

    Returns:
        (output, p_attn): the output (..., Lq, d_v), and the attention weights (..., Lq, Lk) that
        made it. Without dropout each row of p_attn (one query, all keys) sums to 1.

    The inputs stay as they are: nothing is changed in place. Write it with plain tensor
    operations; `F.scaled_dot_product_attention` would be this exercise handed in ready-made.
    """
    raise NotImplementedError("step 01: attention is not implemented yet")
