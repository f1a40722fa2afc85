"""Label smoothing written in more ways, all right: as a table, with slopes by hand."""

from __future__ import annotations

HONEST = {
    "a table of all distributions": """
import torch
from torch import nn


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        table = torch.full((size, size), smoothing / (size - 2))
        table.fill_diagonal_(1 - smoothing)
        table[padding_idx, :] = table[:, padding_idx] = 0
        self.wanted = nn.Embedding.from_pretrained(table, freeze=True)

    def forward(self, x, target):
        return nn.functional.kl_div(x, self.wanted(target), reduction="none").sum()
""",
    "a backward pass by hand": """
import torch
from torch import nn


class Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, q):
        ctx.save_for_backward(q)
        return torch.special.entr(q).sum().neg() - torch.einsum("nv,nv->", q, x)

    @staticmethod
    def backward(ctx, slope):
        (q,) = ctx.saved_tensors
        return -slope * q, None


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        words = torch.arange(size)
        q = torch.where(words[:, None] == words, 1.0 - smoothing, smoothing / (size - 2))
        q[padding_idx], q[:, padding_idx] = 0.0, 0.0
        self.register_buffer("wanted", q, persistent=False)

    def forward(self, x, target):
        return Smoothed.apply(x, self.wanted[target].to(x))
""",
}
