"""Step 05, the reference: token embeddings (section 3.4) and positions (section 3.5)."""

import math

import torch
from torch import Tensor, nn

__all__ = ["Embeddings", "PositionalEncoding"]


class Embeddings(nn.Module):
    """A vector for each token id, times sqrt(d_model) (section 3.4).

    Args:
        d_model: the width of a vector.
        vocab: the number of ids.
    """

    def __init__(self, d_model: int, vocab: int) -> None:
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x: Tensor) -> Tensor:
        """Look ids up: (...), int32 or int64, to (..., d_model), of the parameters' dtype.

        Raises:
            IndexError: from torch, on the CPU, when an id is not in 0 ... vocab - 1.
        """
        out: Tensor = self.lut(x) * math.sqrt(self.d_model)
        return out


class PositionalEncoding(nn.Module):
    """Add to each position its row of sines and cosines, then apply dropout (section 3.5).

        PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))
        PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))

    `pe` holds the table (1, max_len, d_model), of the default dtype at the time it is made. It is
    a buffer: not trained, but saved and moved with the module. An odd d_model ends with a sine.

    Args:
        d_model: the width of the input.
        dropout: the probability of dropping an element of the sum in train mode.
        max_len: the length of the longest sequence that can be encoded.
    """

    pe: Tensor

    def __init__(self, d_model: int, dropout: float, max_len: int = 5000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        # In float32 the angles of late positions would be off by more than the sines' last digits.
        table = _sinusoids(max_len, d_model).to(torch.get_default_dtype())
        self.register_buffer("pe", table.unsqueeze(0))

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Map (B, L, d_model) to the same shape, of the table's dtype or the input's if wider.

        Args:
            x: (B, L, d_model), embeddings.
            start: the position of the first; above 0 where earlier ones have been dealt with.

        Raises:
            ValueError: when the last position is not below max_len.
        """
        length, max_len = start + x.size(1), self.pe.size(1)
        if length > max_len:
            raise ValueError(f"the sequence has {length} positions, but max_len is {max_len}")
        out: Tensor = self.dropout(x + self.pe[:, start:length])
        return out


def _sinusoids(length: int, width: int) -> Tensor:
    """Make the table (length, width), float64, row by position, sine and cosine in turn."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angle = position / 10000 ** (even / width)
    pairs = torch.stack((angle.sin(), angle.cos()), dim=-1)
    return pairs.flatten(1)[:, :width].contiguous()
