"""A toy model whose next-token probabilities are listed, so that every search can be followed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw

Tree = dict[str, dict[str, float]]  # "a b": what may come after a and b, and how likely; "." ends

_LEFT = 1e-5  # what a token that is not listed weighs against those that are
_END = "."


class Table(nn.Module):
    """Has the three doors of the model of step 09 that decoding uses, and a parameter.

    After beginnings that are not listed it wants to end. In training mode it wants something else
    everywhere. What it was asked for, in which mode, and whether with gradients, is in `calls`.

    Args:
        draw: where the ids of the tree's letters come from.
        start, end: the ids of these symbols.
        tree: likelihoods; they are made a little larger or smaller, and need not add up to 1.
        ids: of the letters, in a vocabulary of `vocab`; None draws both.
    """

    def __init__(
        self,
        draw: Draw,
        start: int,
        end: int,
        tree: Tree,
        ids: dict[str, int] | None = None,
        vocab: int = 0,
    ) -> None:
        super().__init__()
        self.calls: list[tuple[str, bool, bool]] = []
        self.sources: list[Tensor] = []
        self.masks: list[Tensor | None] = []
        self.weight = nn.Parameter(torch.ones(1))
        self.part = nn.Identity()  # has a mode of its own, as all parts of a model do
        letters = sorted({t for row in tree.values() for t in row} - {_END})
        self.vocab = vocab or draw.pick("table/vocab", (23, 29, 31))
        free = [
            i for i in draw.permutation("table/ids", self.vocab).tolist() if i not in (start, end)
        ]
        self.ids = ids or dict(zip(letters, free, strict=False))
        self.ids = {**self.ids, _END: end}
        self.start = start
        every = {**tree, "other": {_END: 1.0}}
        # No two of the unlikely tokens are alike, either.
        rest = draw.uniform("table/rest", len(every), self.vocab) * _LEFT
        rest[:, start] = _LEFT / 100
        factors = draw.uniform("table/factors", len(every), 8, low=0.995, high=1.005)
        for weights, row, factor in zip(rest, every.values(), factors.tolist(), strict=True):
            for (letter, likelihood), f in zip(row.items(), factor, strict=False):
                weights[self.ids[letter]] = likelihood * f
        *rows, self.other = rest.log()
        beginnings = [tuple(self.ids[t] for t in beginning.split()) for beginning in tree]
        self.rows = dict(zip(beginnings, rows, strict=True))
        square = draw.normal("table/basis", self.vocab + 3, self.vocab + 3)
        self.basis = torch.linalg.qr(square)[0][:, : self.vocab]

    def encode(self, src: Tensor, src_mask: Tensor | None) -> Tensor:
        """Turn ids (B, S) into memory (B, S, d_model)."""
        self._note("encode")
        self.sources.append(src)
        self.masks.append(src_mask)
        return src[..., None].float().repeat(1, 1, self.basis.size(0)) * self.weight

    def decode(
        self, memory: Tensor, src_mask: Tensor | None, tgt: Tensor, tgt_mask: Tensor | None
    ) -> Tensor:
        """Turn target ids (B, L) into features (B, L, d_model)."""
        self._note("decode")
        scores = torch.stack([torch.stack(self._scores(row)) for row in tgt.tolist()])
        return scores @ self.basis.T * self.weight

    def _scores(self, row: list[int]) -> list[Tensor]:
        right = row[0] == self.start
        found = [self.rows.get(tuple(row[1:n]), self.other) for n in range(1, len(row) + 1)]
        found = found if right else [self.other] * len(row)
        return [scores.roll(1) for scores in found] if self._trains() else found

    def generator(self, x: Tensor) -> Tensor:
        """Turn features (..., d_model) into log-probabilities (..., vocab)."""
        return (x @ self.basis).log_softmax(-1)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Any, tgt_mask: Any) -> Tensor:
        """As the model of step 09 does it."""
        return self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask)

    def said(self, ids: list[int]) -> str:
        """Ids as the tree's letters, '^' for the start symbol; what is in neither as a number."""
        letters = {i: letter for letter, i in self.ids.items()} | {self.start: "^"}
        return " ".join(letters.get(i, f"#{i}") for i in ids)

    def told(self, ids: list[int]) -> str:
        """The same without the start symbol in front; behind an end, '...' for all there is."""
        text = self.said(ids[1:] if ids[:1] == [self.start] else ids) or "nothing"
        before, end, behind = text.partition(" .")
        return f"{before}{end} ..." if behind else text

    def _note(self, door: str) -> None:
        self.calls.append((door, self._trains(), torch.is_grad_enabled()))

    def _trains(self) -> bool:
        return self.training or self.part.training
