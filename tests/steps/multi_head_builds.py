"""Multi-head attention composed of many people's choices, right and wrong: a text that tests grade.

A test appends a class `MultiHeadedAttention(Composed)` whose `choices` say how it is built.
"""

import copy
import math
import typing

import torch
from torch import nn
from torch.nn import functional as F

from transformer_ref import attention


def clones(module, N):
    return nn.ModuleList(copy.deepcopy(module) for _ in range(N))


class Named(nn.Module):
    """Four layers of any kind, declared in any order."""

    def __init__(self, h, d, order, biases):
        super().__init__()
        for role in order:
            self.add_module(role, self.layer(d, role in biases))

    def layer(self, d, bias):
        return nn.Linear(d, d, bias=bias)

    def project(self, role, x):
        return getattr(self, role)(x)


class Lazy(Named):
    def layer(self, d, bias):
        return nn.LazyLinear(d, bias=bias)


class Convolution(Named):
    def layer(self, d, bias):
        return nn.Conv1d(d, d, 1, bias=bias)

    def project(self, role, x):
        return getattr(self, role)(x.transpose(1, 2)).transpose(1, 2)


class Raw(Named):
    """Parameters on the right of x."""

    def layer(self, d, bias):
        one = nn.ParameterDict({"weight": torch.randn(d, d) / d**0.5})
        if bias:
            one["bias"] = torch.zeros(d)
        return one

    def project(self, role, x):
        one = getattr(self, role)
        y = x @ one["weight"]
        return y + one["bias"] if "bias" in one else y


class PerHead(nn.Module):
    """A small layer for each head and role."""

    def __init__(self, h, d, order, biases):
        super().__init__()
        for role in order:
            bias = role in biases
            one = nn.Linear(d, d, bias=bias)
            many = nn.ModuleList(nn.Linear(d, d // h, bias=bias) for _ in range(h))
            self.add_module(role, one if role == "o" else many)

    def project(self, role, x):
        if role == "o":
            return self.o(x)
        return torch.cat([layer(x) for layer in getattr(self, role)], dim=-1)


class Cells(nn.Module):
    """Parameters (h, d, d_k), and (h, d_k, d) for the output."""

    def __init__(self, h, d, order, biases):
        super().__init__()
        self.h = h
        for role in order:
            shape = (h, d // h, d) if role == "o" else (h, d, d // h)
            self.register_parameter(role, nn.Parameter(torch.randn(shape) / d**0.5))
            bias = nn.Parameter(torch.zeros(d)) if role in biases else None
            self.register_parameter(f"bias_{role}", bias)

    def project(self, role, x):
        if role == "o":
            y = torch.einsum("blhk,hkd->bld", x.unflatten(-1, (self.h, -1)), self.o)
        else:
            y = torch.einsum("bld,hdk->blhk", x, getattr(self, role)).flatten(-2)
        bias = getattr(self, f"bias_{role}")
        return y if bias is None else y + bias


class Fused(nn.Module):
    """One matrix for query, key and value, role by role."""

    def __init__(self, h, d, order, biases):
        super().__init__()
        self.h, self.d = h, d
        self.roles = order.replace("o", "")
        layers = {
            "fused": nn.Linear(d, 3 * d, bias=bool(set("qkv") & set(biases))),
            "o": nn.Linear(d, d, bias="o" in biases),
        }
        for name in ("o", "fused") if order[0] == "o" else ("fused", "o"):
            self.add_module(name, layers[name])

    def project(self, role, x):
        return self.o(x) if role == "o" else self.part(self.fused(x), self.roles.index(role))

    def part(self, y, i):
        return y.chunk(3, dim=-1)[i]


class FusedByHead(Fused):
    """The same, head by head."""

    def part(self, y, i):
        return y.unflatten(-1, (self.h, 3, -1))[..., i, :].flatten(-2)


class FusedByUnit(Fused):
    """The same, unit by unit."""

    def part(self, y, i):
        return y.unflatten(-1, (self.d, 3))[..., i]


class QueryAndRest(nn.Module):
    """One layer for query, one for key and value."""

    def __init__(self, h, d, order, biases):
        super().__init__()
        self.q = nn.Linear(d, d, bias="q" in biases)
        self.rest = nn.Linear(d, 2 * d, bias=bool(set("kv") & set(biases)))
        self.o = nn.Linear(d, d, bias="o" in biases)
        self.first = "kv".index(order.replace("o", "").replace("q", "")[0])

    def project(self, role, x):
        if role in "qo":
            return getattr(self, role)(x)
        return self.rest(x).chunk(2, dim=-1)["kv".index(role) ^ self.first]


STORES = {
    "named": Named,
    "lazy": Lazy,
    "convolution": Convolution,
    "raw": Raw,
    "per_head": PerHead,
    "cells": Cells,
    "fused": Fused,
    "fused_by_head": FusedByHead,
    "fused_by_unit": FusedByUnit,
    "query_and_rest": QueryAndRest,
}


def split(layout, x, h):
    """(B, L, d) -> (B, h, L, d_k)."""
    if layout == "interleaved":
        return x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2)
    if layout == "shuffled":
        x = x[..., torch.randperm(x.size(-1), generator=torch.Generator().manual_seed(5))]
    if layout == "by_view":  # a mistake
        return x.reshape(x.size(0), h, x.size(1), -1)
    if layout == "stacked":
        return torch.stack(x.chunk(h, dim=-1), dim=1)
    return x.unflatten(-1, (h, -1)).transpose(1, 2)


def merge(layout, x):
    """(B, h, L, d_k) -> (B, L, d)."""
    if layout == "reversed":
        x = x.flip(1)
    if layout == "unit_major":
        return x.permute(0, 2, 3, 1).flatten(-2)
    if layout == "cat":
        return torch.cat(x.unbind(1), dim=-1)
    if layout == "untransposed":  # a mistake
        return x.reshape(x.size(0), x.size(2), -1)
    if layout == "einsum":
        return torch.einsum("bhlk->blhk", x).reshape(x.size(0), x.size(2), -1)
    return x.transpose(1, 2).contiguous().view(x.size(0), x.size(2), -1)


class Composed(nn.Module):
    choices: typing.ClassVar = {}

    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.h = h
        self.c = {
            "store": "named",
            "order": "qkvo",
            "biases": "qkvo",
            "split": "contiguous",
            "split_v": "contiguous",
            "score": "plain",
            "merge": "transposed",
            "mistake": "",
            **self.choices,
        }
        self.register_buffer("unused", torch.ones(3, d_model))
        self.store = STORES[self.c["store"]](h, d_model, self.c["order"], self.c["biases"])
        self.p = dropout

    def forward(self, query, key, value, mask=None):
        mistake, c = self.c["mistake"], self.c
        inputs = {
            "values_from_key": (query, key, key),
            "inputs_ignored": (query, query, query),
            "keys_and_values_exchanged": (query, value, key),
        }.get(mistake, (query, key, value))
        roles = {
            "one_projection": "qqq",
            "keys_and_values_share": "qkk",
            "queries_and_keys_share": "qqv",
        }.get(mistake, "qkv")
        projected = zip(roles, inputs, strict=True)
        q, k, v = (self.store.project(role, x) for role, x in projected)
        if mistake == "relu_on_projections":
            q, k, v = q.relu(), k.relu(), v.relu()
        by_view = mistake == "split_by_view"
        q, k = (split("by_view" if by_view else c["split"], x, self.h) for x in (q, k))
        v = split("by_view" if by_view else c["split_v"], v, self.h)
        x, self.attn = getattr(self, c["score"])(
            q, k, v, None if mistake == "mask_ignored" else mask
        )
        if mistake == "heads_averaged":
            x = x.mean(dim=1, keepdim=True).expand_as(x)
        x = merge("untransposed" if mistake == "merge_untransposed" else c["merge"], x)
        if mistake == "no_output_projection":
            return x
        y = self.store.project("o", x)
        return self.drop(y) if mistake == "dropout_on_output" else y

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def scale(self, q):
        d_k = q.size(-1)
        kinds = {"no_scale": 1.0, "scale_by_d_model": math.sqrt(d_k * self.h)}
        return kinds.get(self.c["mistake"], math.sqrt(d_k))

    def plain(self, q, k, v, mask):
        """Everything written out; mistakes are made here."""
        scores = q @ k.transpose(-2, -1) / self.scale(q)
        late = self.c["mistake"] == "mask_after_softmax"
        if mask is not None and not late:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        p = scores.softmax(dim=-2 if self.c["mistake"] == "softmax_over_queries" else -1)
        if mask is not None and late:
            p = p.masked_fill(mask.unsqueeze(1) == 0, 0)
        return self.drop(p) @ v, p

    def given(self, q, k, v, mask):
        return attention(q, k, v, None if mask is None else mask[:, None], self.drop)

    def by_hand(self, q, k, v, mask):
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.size(-1) ** -0.5
        if mask is not None:
            scores = torch.where(mask.unsqueeze(1).bool(), scores, torch.finfo(scores.dtype).min)
        e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
        p = e / e.sum(dim=-1, keepdim=True)
        return torch.einsum("bhqk,bhkd->bhqd", self.drop(p), v), p

    def scaled_query(self, q, k, v, mask):
        q = q / q.size(-1) ** 0.5
        hide = 0 if mask is None else (1.0 - mask.float().unsqueeze(1)) * -1e9
        p = torch.softmax(torch.matmul(q, k.mT) + hide, dim=-1)
        return torch.matmul(self.drop(p), v), p.detach()

    def folded(self, q, k, v, mask):
        """Heads beside each other in the batch, head by head."""
        q, k, v = (x.transpose(0, 1).flatten(0, 1) for x in (q, k, v))
        scores = torch.bmm(q, k.mT) / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.repeat(self.h, 1, 1) == 0, float("-inf"))
        p = scores.softmax(-1)
        back = [x.unflatten(0, (self.h, -1)).transpose(0, 1) for x in (self.drop(p) @ v, p)]
        return back[0], back[1]

    def one_by_one(self, q, k, v, mask):
        """A loop over the heads."""
        heads = [
            attention(q[:, i], k[:, i], v[:, i], mask, self.drop) for i in reversed(range(self.h))
        ]
        x, p = (torch.stack(parts, dim=1) for parts in zip(*heads, strict=True))
        return x.flip(1), p
