"""Step 03, the reference: multi-head attention (paper, section 3.2.2) and copies of a layer."""

from copy import deepcopy

from torch import Tensor, nn

from .scaled_dot_product import attention

__all__ = ["MultiHeadedAttention", "clones"]


def clones(module: nn.Module, N: int) -> nn.ModuleList:
    """Make N deep copies of a module: equal at the start, and sharing no storage.

    Args:
        module: what to copy; it is not itself among the copies.
        N: how many, 0 or more.

    Returns:
        An `nn.ModuleList` of length N.
    """
    return nn.ModuleList(deepcopy(module) for _ in range(N))


class MultiHeadedAttention(nn.Module):
    """Attention in h subspaces of width d_model / h at once (section 3.2.2).

        MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O
        head_i = attention(Q W_i^Q, K W_i^K, V W_i^V)

    `linears` holds the projections of query, key, value and output, each with a bias.
    `attn` holds the last call's weights (B, h, Lq, Lk), cut off from the graph, or None.

    Args:
        h: the number of heads; it must divide d_model.
        d_model: the width of inputs and outputs.
        dropout: the probability of dropping an attention weight in train mode.

    Raises:
        ValueError: when h is below 1 or does not divide d_model.
    """

    def __init__(self, h: int, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        if h < 1 or d_model % h != 0:
            raise ValueError(f"h must be at least 1 and divide d_model: {h=}, {d_model=}")
        self.h = h
        self.d_k = d_model // h
        # Four layers of their own rather than clones of one: they should not start equal.
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)
        self.attn: Tensor | None = None

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Let each query position attend to the key positions.

        Args:
            query: (B, Lq, d_model), of the parameters' dtype.
            key: (B, Lk, d_model), likewise.
            value: (B, Lk, d_model), likewise.
            mask: (B, 1, Lk) or (B, Lq, Lk), any dtype, 0 or False = hidden; the same for all heads.

        Returns:
            (B, Lq, d_model), of the parameters' dtype.
        """
        # One product for all three projections, or torch's fused attention, which does not return
        # the weights, would not train faster at the lengths of sentences (measured on CPUs).
        to_query, to_key, to_value, to_output = self.linears
        if mask is not None:
            mask = mask.unsqueeze(1)
        x, p_attn = attention(
            self._split(to_query(query)),
            self._split(to_key(key)),
            self._split(to_value(value)),
            mask,
            self.dropout,
        )
        # With the graph attached, the module could not be copied and would keep the graph alive.
        self.attn = p_attn.detach()
        out: Tensor = to_output(x.transpose(1, 2).flatten(-2))
        return out

    def _split(self, x: Tensor) -> Tensor:
        """Deal the features out to the heads: (B, L, d_model) -> (B, h, L, d_k)."""
        return x.unflatten(-1, (self.h, self.d_k)).transpose(1, 2)
