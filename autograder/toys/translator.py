"""A toy translator: its tokens are arithmetic on ids, and show which masks it was given."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw

PAD = 3  # the id that fills up short sources
_PRIME = 65521  # what is below it is exact in float32, and two sums are seldom alike
_CLASSES = 59  # what a position can want to say; 0 is the end
_WIDTH = 61  # d_model; no vocabulary is as large


class Translator(nn.Module):
    """Has the three doors of the model of step 09 that decoding uses, and a parameter.

    A token depends on all tokens before it, on their order, and on the whole source. A sentence is
    `length_of(src)` tokens long, the end symbol not counted; what comes after that means nothing.
    No token is likelier than another by a hair's breadth, and none is the start symbol. The
    likeliest is far from sure: who draws tokens by their probabilities mostly gets others. In
    training mode everything it says is different.

    Args:
        draw: fixes what it says.
        start, end: the ids of these symbols.
        heeds: the masks that its answers depend on, of "source" and "target". In the place of the
            others it takes those that are right, so that what is done with them costs nothing.
        words: how many words it can say, besides the end.
        sooner: by how many tokens its sentences are shorter than `length_of` tells.
    """

    def __init__(
        self,
        draw: Draw,
        start: int,
        end: int,
        heeds: tuple[str, ...] = (),
        words: int = _CLASSES - 1,
        sooner: int = 0,
    ) -> None:
        super().__init__()
        self.heeds, self.words, self.sooner = heeds, words, sooner
        self.calls: list[tuple[str, bool]] = []
        self.weight = nn.Parameter(torch.ones(1))
        self.factors = draw.permutation("toy/factors", 250) + 1
        table = draw.uniform("toy/table", _CLASSES, vocab_size(draw), low=0.0)
        likeliest = draw.permutation("toy/words", table.size(1))
        likeliest = likeliest[(likeliest != start) & (likeliest != end)][:_CLASSES]
        table[:, start], table[:, end] = -9.0, -8.0
        likeliest[0] = end
        table[torch.arange(_CLASSES), likeliest] = 3.0  # each class has a word of its own
        self.table = torch.cat([table, table.new_zeros(_WIDTH - _CLASSES, table.size(1))])

    def encode(self, src: Tensor, src_mask: Tensor | None) -> Tensor:
        """Turn ids (B, S) and mask (B, 1, S) into memory (B, S, d_model)."""
        self._note("encode")
        is_word = (src != PAD)[:, None]
        seen = self._seen("source", src_mask, is_word, src.size(0), 1, src.size(1))
        places = self.factors[: src.size(1)]
        whole = (seen * (src.long()[:, None] + 1) * places).sum(-1)
        codes = (src.long() * places + whole) % _PRIME
        memory = codes[..., None].float().repeat(1, 1, _WIDTH)
        memory[..., 1] = length_of(src)[:, None].float() - self.sooner
        memory[..., 2] = is_word[:, 0].float()
        return memory * self.weight

    def decode(
        self, memory: Tensor, src_mask: Tensor | None, tgt: Tensor, tgt_mask: Tensor | None
    ) -> Tensor:
        """Turn memory and target ids (B, L), with mask (1, L, L), into features (B, L, d_model)."""
        self._note("decode")
        rows, length = tgt.shape
        positions = torch.arange(length)
        causal = positions <= positions[:, None]
        seen = self._seen("target", tgt_mask, causal, rows, length, length)
        codes, lengths, is_word = memory.detach().round().long().unbind(-1)[:3]
        visible = self._seen("source", src_mask, is_word[:, None], len(codes), 1, codes.size(1))
        context = (visible[:, 0] * codes * self.factors[60 : 60 + codes.size(1)]).sum(-1)
        # Two layers, since only through the second does an earlier position's view show.
        values = tgt.long() + 1
        for places in (self.factors[100 : 100 + length], self.factors[150 : 150 + length]):
            values = ((seen * (values * places)[:, None]).sum(-1) + values + positions) % _PRIME
        values = values + context[:, None] * self.factors[200 : 200 + length] % _PRIME
        wanted = 1 + (values + 101 * self.training) % self.words
        wanted = wanted.masked_fill(positions == lengths[:, :1], 0)
        return nn.functional.one_hot(wanted, _WIDTH) * self.weight

    def generator(self, x: Tensor) -> Tensor:
        """Turn features (..., d_model) into log-probabilities (..., vocab)."""
        self._note("generator")
        return (x @ self.table).log_softmax(-1)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Any, tgt_mask: Any) -> Tensor:
        """As the model of step 09 does it."""
        return self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask)

    def _note(self, door: str) -> None:
        self.calls.append((door, torch.is_grad_enabled()))

    def _seen(self, side: str, given: Tensor | None, right: Tensor, *shape: int) -> Tensor:
        """The mask to go by, bool, of that shape.

        Raises:
            RuntimeError: from torch, where the mask given does not fit.
        """
        mask = right if side not in self.heeds else given
        return torch.ones(shape).bool() if mask is None else torch.broadcast_to(mask != 0, shape)


def vocab_size(draw: Draw) -> int:
    """How many ids there are."""
    return draw.pick("toy/vocab", (67, 71, 73))


def length_of(src: Tensor) -> Tensor:
    """int64 (B,): how long the translations are, as their sources' first ids say."""
    return src[:, 0].long() % 4 + 2
