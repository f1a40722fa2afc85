"""Step 05: embeddings and positions. Fill in the bodies, then run `pytest exercises/step05`.

The model calculates with vectors, and a sentence is a row of numbers from a dictionary. A table
gives each word its vector. Since attention does not care for order, a second vector, made of waves,
tells where the word stands.

Paper: "Attention Is All You Need", sections 3.4 and 3.5.
"""

import math

import torch
from torch import nn


class Embeddings(nn.Module):
    """A trainable vector for each token, times sqrt(d_model)."""

    def __init__(self, d_model: int, vocab: int) -> None:
        """Make the table.

        Args:
            d_model: width of a vector. (It comes first here. `nn.Embedding` has it second.)
            vocab: how many different tokens there are.

        The table is (vocab, d_model), and all its rows are trained: no id is set apart as padding.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Look the tokens up.

        Args:
            x: (B, L), int64: token ids from 0 to vocab - 1, batch first.

        Returns:
            (B, L, d_model), float: each token's row of the table, multiplied by sqrt(d_model).
        """
        ### BEGIN SOLUTION
        vectors = self.lut(x)

        # In the model the table starts with small numbers. The positions must not drown the words.
        return vectors * math.sqrt(self.d_model)
        ### END SOLUTION


class PositionalEncoding(nn.Module):
    """Add to each vector where it stands in the sentence, as a pattern of sines and cosines.

    PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))
    PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))

    Sine and cosine take turns (columns 0, 2, 4, ... and 1, 3, 5, ...), and the two of a pair have
    the same frequency. The first position is 0. Nothing here is trained.
    """

    def __init__(self, d_model: int, dropout: float, max_len: int = 5000) -> None:
        """Make the table of positions.

        Args:
            d_model: width of the vectors. It is enough if this works for an even one.
            dropout: probability of dropping a number of the sum in training.
            max_len: the longest sentence that will come. What happens to a longer one is up to you.

        The table is no parameter: no optimizer may move it. Keep it as a buffer, so that
        `.to(...)` takes it along with the rest of the module.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.dropout = nn.Dropout(p=dropout)

        # Down the rows the positions, (max_len, 1).
        position = torch.arange(max_len).unsqueeze(1)

        # Along the columns the frequencies, one a pair: from 1 down to nearly 1 / 10000.
        exponent = torch.arange(0, d_model, 2) / d_model
        frequency = 10000.0**-exponent

        angle = position * frequency

        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(angle)
        # If d_model is odd, the last sine has no cosine beside it.
        pe[:, 1::2] = torch.cos(angle[:, : d_model // 2])

        # The same for every sentence of a batch: (1, max_len, d_model).
        pe = pe.unsqueeze(0)
        self.register_buffer("pe", pe)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add the first L positions to x, then apply dropout to the sum.

        Args:
            x: (B, L, d_model), float, batch first; L is at most max_len.

        Returns:
            The same shape as x. x itself is not changed in place.
        """
        ### BEGIN SOLUTION
        # Only as many rows of the table as the sentence is long.
        positions = self.pe[:, : x.size(1)]
        x = x + positions
        return self.dropout(x)
        ### END SOLUTION
