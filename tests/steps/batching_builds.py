"""Batches and their masks made in more ways, all right: when asked for, as a namespace."""

from __future__ import annotations

HONEST = {
    "worked out when asked for": """
import torch
from functools import cached_property


def make_std_mask(tgt, pad):
    n = tgt.size(-1)
    later = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
    blank = torch.where(tgt == pad, float("-inf"), 0.0)
    return torch.isfinite(later + blank[:, None, :])


class Batch:
    def __init__(self, src, tgt=None, pad=2):
        self.pad, self.src = pad, src
        if tgt is not None:
            self.tgt, self.tgt_y = tgt.unfold(1, tgt.size(1) - 1, 1).unbind(1)

    @cached_property
    def src_mask(self):
        return torch.stack([row != self.pad for row in self.src])[:, None]

    @cached_property
    def tgt_mask(self):
        return make_std_mask(self.tgt, self.pad)

    @cached_property
    def ntokens(self):
        return self.tgt_y.numel() - torch.count_nonzero(self.tgt_y == self.pad).item()
""",
    "a namespace, and places compared": """
import torch
from types import SimpleNamespace


def make_std_mask(tgt, pad):
    order = torch.arange(tgt.size(1)).expand_as(tgt)
    order = order.masked_fill(tgt == pad, tgt.size(1))
    return order.unsqueeze(1) <= torch.arange(tgt.size(1)).view(1, -1, 1)


def Batch(src, tgt=None, pad=2):
    batch = SimpleNamespace(src=src, src_mask=src.ne(pad).view(src.size(0), 1, -1))
    if tgt is not None:
        *read, _ = tgt.unbind(1)
        _, *said = tgt.unbind(1)
        batch.tgt, batch.tgt_y = torch.stack(read, 1), torch.stack(said, 1)
        batch.tgt_mask = make_std_mask(batch.tgt, pad)
        batch.ntokens = int(batch.tgt_y.ne(pad).sum())
    return batch
""",
}
