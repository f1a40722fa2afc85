"""Step 01, the reference: scaled dot-product attention (paper, section 3.2.1, equation 1)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["attention"]


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Average the values, each weighed by how well its key matches the query.

        attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    Args:
        query: (..., Lq, d_k), floating point; the leading dims are free and broadcast.
        key: (..., Lk, d_k), of the query's dtype.
        value: (..., Lk, d_v), of the query's dtype.
        mask: any dtype, broadcastable to (..., Lq, Lk); 0 or False hides the key from the query.
            A row that hides every key gets equal weights, never NaN.
        dropout: applied to the weights before they meet the values, e.g. an `nn.Dropout`.

    Returns:
        The output (..., Lq, d_v) and p_attn (..., Lq, Lk), the weights as they were used
        (after dropout), both of the query's dtype.

    Raises:
        RuntimeError: from torch, when shapes or dtypes do not fit together.
    """
    # The query is smaller than the scores, and scaled first it cannot overflow in half precision.
    scores = (query / math.sqrt(query.size(-1))) @ key.transpose(-2, -1)
    if mask is not None:
        # The lowest finite number fits every dtype, and unlike -inf it has a softmax on its own.
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return p_attn @ value, p_attn
