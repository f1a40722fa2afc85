"""A table of vectors, one for each id: which scalar is which cell.

Ids carry no gradient, so a sentence of some of the ids takes the place of switching inputs on: the
scalars that live belong to their rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.subject import Unreadable
from autograder.weights import codes
from autograder.weights.layers import Map
from autograder.weights.scalars import Call, Scalars

PAD = 2  # the kit's padding id: its row may be trained or not, and is never looked at


@dataclass
class TableMap(Map):
    """A map with the role "table" (vocab, d_model); cells of ids without any gradient are -1."""

    silent: list[int] = field(default_factory=list)

    def place(self, weights: dict[str, Tensor]) -> Tensor:
        """As `Map.place`, for the rows that were found."""
        cells = self.cells["table"]
        values = torch.zeros(self.count)
        values[cells[cells >= 0]] = weights["table"][cells >= 0]
        return values


def read_table(scalars: Scalars, call: Call, vocab: int, d_model: int, draw: Draw) -> TableMap:
    """The map of an embedding table.

    Args:
        scalars: the module's trainable scalars, as they are; left unchanged.
        call: int64 (1, n) -> (1, n, d_model), in eval mode.
        vocab: how many ids there are.
        d_model: the width of a row.
        draw: where random numbers come from.

    Raises:
        Unreadable: a scalar acts on several cells, a cell is played twice or by none. An id for
            which no scalar acts at all is no error: it is in `silent`.
    """
    ids = probed(vocab)
    rows = codes.sort(len(ids), lambda on: _live(scalars, call, ids[on], d_model, draw))
    sentence = call(ids[None])
    cotangent = draw.uniform("table/cotangent", 1, len(ids), d_model)
    columns = codes.sort(
        d_model, lambda on: scalars.gradient(sentence, cotangent * on, keep=True) != 0
    )
    for plays, kind in (("id", rows), ("column", columns)):
        if bool((kind == codes.SEVERAL).any()):
            raise Unreadable("shared", plays=[plays])
    members = ((rows >= 0) & (columns >= 0)).nonzero().squeeze(-1)
    cells = torch.full((vocab, d_model), -1)
    cells[ids[rows[members]], columns[members]] = members
    filled = (cells >= 0).sum(1)
    if int(filled.sum()) != len(members) or not set(filled.tolist()) <= {0, d_model}:
        raise Unreadable("size", role="table", asked=[vocab, d_model], found=len(members))
    silent = [i for i in ids.tolist() if not filled[i]]
    return TableMap({"table": cells}, scalars.count, silent)


def probed(vocab: int) -> Tensor:
    """int64 (vocab - 1,): all ids but that of padding."""
    ids = torch.arange(vocab)
    return ids[ids != PAD]


def _live(scalars: Scalars, call: Call, ids: Tensor, d_model: int, draw: Draw) -> Tensor:
    cotangent = draw.uniform("table/cotangent", 1, len(ids), d_model)
    return scalars.gradient(call(ids[None]), cotangent) != 0
