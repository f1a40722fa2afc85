"""Layers and stacks composed of many people's choices, right and wrong: a text that tests grade.

A test appends `EncoderLayer(ComposedEncoderLayer)`, `Encoder(ComposedEncoder)` and the like, with
`choices` that say how they are built.
"""

import copy
import functools
import typing

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from transformer_ref import LayerNorm, clones


class OnePlus(nn.Module):
    """A gain that is kept as what it differs from 1 by; declared after the bias."""

    def __init__(self, width):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(1, 1, width))
        self.more = nn.Parameter(torch.zeros(1, 1, width))

    def forward(self, x):
        spread, centre = torch.std_mean(x, dim=-1, keepdim=True)
        return (1 + self.more) * ((x - centre) / (spread + 1e-6)) + self.shift


class Dictionary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.p = nn.ParameterDict({"beta": torch.zeros(width), "gamma": torch.ones(width)})

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        variance = x.square().mean(-1, keepdim=True)
        return self.p["gamma"] * x * torch.rsqrt(variance + 1e-5) + self.p["beta"]


NORMS = {"torch": nn.LayerNorm, "given": LayerNorm, "one_plus": OnePlus, "dictionary": Dictionary}


class Composed(nn.Module):
    choices: typing.ClassVar = {}
    sublayers = 2

    def __init__(self, size, dropout):
        super().__init__()
        self.c = {"norm": "torch", "drop": "module", "call": "positional", "mistake": ""}
        self.c |= self.choices
        self.mistake = self.c["mistake"]
        if self.mistake != "no_size":
            self.size = size
        number = {"shared": 1, "spare": self.sublayers + 1}.get(self.mistake, self.sublayers)
        norms = [
            NORMS[self.c["norm"]](size) for _ in range(0 if "no_norm" in self.mistake else number)
        ]
        self.norms = norms if self.mistake == "plain_norms" else nn.ModuleList(norms)
        if self.mistake == "norm_at_end":
            self.last = LayerNorm(size)
        self.rate = {"no_dropout": 0.0, "fixed_rate": 0.1}.get(self.mistake, dropout)
        self.dropout = nn.Dropout(self.rate)

    def keep(self, **parts):
        """The sublayers, under names of one's own."""
        if self.mistake == "plain_parts":
            self.parts = list(parts.values())
        else:
            for name, part in parts.items():
                self.add_module(f"my_{name}", part)
            self.parts = parts.values()

    def drop(self, i, y):
        if self.mistake == "always_on":
            return F.dropout(y, self.rate)
        if self.mistake == "first_only" and i:
            return y
        if self.c["drop"] == "functional":
            return F.dropout(y, p=self.rate, training=self.training)
        return self.dropout(y)

    def norm(self, i, x):
        reused = {"reused": {1: 0}, "reused_last": {2: 1}, "reused_all": {1: 0, 2: 0}}
        i = reused.get(self.mistake, {}).get(i, i)
        return self.norms[0 if self.mistake == "shared" else i](x)

    def residual(self, i, x, f):
        m = self.mistake
        if m == "post_norm":
            return self.norm(i, self.drop(i, f(x)) + x)
        if m == "norm_of_result":
            return x + self.drop(i, self.norm(i, f(x)))
        if m == "no_norm":
            return x + self.drop(i, f(x))
        normed = self.norm(i, x)
        if m == "drop_input":
            return x + f(self.drop(i, normed))
        branch = self.drop(i, f(normed))
        if m == "of_normed":
            return normed + branch
        if m == "no_residual":
            return branch
        if m == "added_again":
            return x + branch + x
        if m == "drop_sum":
            return self.dropout(x + branch)
        if m == "in_place":
            x += branch
            return x
        return branch + x

    def attend(self, attention, query, key, value, mask):
        if self.c["call"] == "keywords":
            return attention(query=query, key=key, value=value, mask=mask)
        if self.c["call"] == "forward":
            return attention.forward(query, key, value, mask=mask)
        return attention(query, key, value, mask)

    def ended(self, x, mask):
        if self.mistake == "norm_at_end":
            return self.last(x)
        return (x, mask) if self.mistake == "returns_more" else x


class ComposedEncoderLayer(Composed):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__(size, dropout)
        self.keep(network=feed_forward, attention=self_attn)

    def forward(self, x, mask):
        network, attention = self.parts
        m, start = self.mistake, x
        if mask is not None:
            mask = {"no_mask": None, "inverted": mask == 0, "widened": mask[:, None]}.get(m, mask)
            mask = mask.float() if self.c["call"] == "float mask" else mask

        def look(normed):
            if m == "outer_x":
                return self.attend(attention, start, start, start, mask)
            if m == "half_outer_x":
                return self.attend(attention, normed, start, start, mask)
            return self.attend(attention, normed, normed, normed, mask)

        if m == "swapped":
            return self.residual(1, self.residual(0, x, network), look)
        if m == "no_attention":
            return self.residual(1, x, network)
        if m == "parallel":
            return x + self.drop(0, look(self.norm(0, x))) + self.drop(1, network(self.norm(1, x)))
        x = self.residual(0, x, functools.partial(look) if self.c["call"] == "partial" else look)
        if m == "first_lost":
            x = start
        if m == "bare":
            return network(x)
        if m == "cut":
            x = x.detach()
        y = x if m == "no_network" else self.residual(1, x, lambda n: network(n))
        return self.ended(x if m == "last_lost" else y, mask)


class ComposedDecoderLayer(Composed):
    sublayers = 3

    def __init__(self, size, self_attn, src_attn, feed_forward, dropout):
        super().__init__(size, dropout)
        if self.mistake == "one_for_both":
            src_attn = self_attn
        if self.mistake == "exchanged":
            self_attn, src_attn = src_attn, self_attn
        self.keep(network=feed_forward, across=src_attn, back=self_attn)

    def forward(self, x, memory, src_mask, tgt_mask):
        network, across, back = self.parts
        m, start = self.mistake, x
        before = {
            "no_back_mask": None,
            "back_mask_is_source": src_mask,
            "masks_exchanged": src_mask,
        }
        source = {"no_mask": None, "mask_is_target": tgt_mask, "masks_exchanged": tgt_mask}

        def look_back(n):
            asked = start if m == "outer_x" else n
            rest = start if m in ("outer_x", "half_outer_x") else n
            return self.attend(back, asked, rest, rest, before.get(m, tgt_mask))

        def look_across(n):
            key, value = self.source(n, memory)
            asked = {"query_is_memory": memory, "all_memory": memory, "across_outer_x": x}.get(m, n)
            if m == "query_from_input":
                asked = self.norm(1, start)
            attention = back if m == "across_uses_self" else across
            return self.attend(attention, asked, key, value, source.get(m, src_mask))

        if m == "across_first":
            x = self.residual(1, self.residual(0, x, look_across), look_back)
            return self.residual(2, x, network)
        if m != "no_back":
            x = self.residual(0, x, look_back)
        if m == "first_lost":
            x = start
        if m == "network_between":
            return self.residual(2, self.residual(1, x, network), look_across)
        if m == "residual_from_input":
            x = start + self.drop(1, look_across(self.norm(1, x)))
        elif m not in ("no_across", "across_lost"):
            x = self.residual(1, x, look_across)
        elif m == "across_lost":
            self.residual(1, x, look_across)
        if m == "bare":
            return network(x)
        if m == "cut":
            x = x.detach()
        y = x if m == "no_network" else self.residual(2, x, network)
        return self.ended(x if m == "last_lost" else y, src_mask)

    def source(self, n, memory):
        """Key and value of the attention to the source."""
        wrong = {
            "value_from_target": (memory, n),
            "key_from_target": (n, memory),
            "memory_ignored": (n, n),
            "query_is_memory": (n, n),
        }
        if self.mistake == "memory_normed":
            memory = self.norm(1, memory)
        return wrong.get(self.mistake, (memory, memory))


class ComposedStack(nn.Module):
    choices: typing.ClassVar = {}

    def __init__(self, layer, N):
        super().__init__()
        self.c = {
            "copies": "clones",
            "loop": "plain",
            "norm": "torch",
            "mistake": "",
            **self.choices,
        }
        self.mistake = m = self.c["mistake"]
        if m == "original_kept":
            self.kept = layer
        N = {"one_more": N + 1, "one_less": N - 1, "fixed": 6}.get(m, N)
        if m == "same":
            stack = nn.ModuleList([layer] * N)
        elif m == "shallow":
            stack = nn.ModuleList(copy.copy(layer) for _ in range(N))
        elif self.c["copies"] == "first is the original":
            stack = nn.ModuleList([layer, *(copy.deepcopy(layer) for _ in range(N - 1))])
        elif self.c["copies"] == "named":
            for i in range(N):
                self.add_module(f"layer_{i}", copy.deepcopy(layer))
            stack = [getattr(self, f"layer_{i}") for i in range(N)]
        else:
            stack = clones(layer, N)
        width = 512 if m == "guessed" else layer.size
        self.blocks = list(stack) if m == "plain_list" or self.c["copies"] == "named" else stack
        self.final = nn.Identity() if m == "no_norm" else NORMS[self.c["norm"]](width)

    def call(self, layer, x, rest):
        if self.c["loop"] == "checkpoint":
            return checkpoint(layer, x, *rest, use_reentrant=False)
        return layer(x, *rest)

    def run(self, x, *rest):
        m, start = self.mistake, x
        if m == "norm_first":
            x = self.final(x)
        if m == "list_called":
            return self.final(self.blocks(x, *rest))
        blocks = reversed(self.blocks) if self.c["loop"] == "reversed" else self.blocks
        for layer in blocks:
            if m == "stuck":
                layer = self.blocks[0]
            if m == "memory_not_passed":
                rest = (x, *rest[1:])
            y = self.call(layer, start if m == "fed_with_x" else x, rest)
            if m == "memory_replaced":
                rest = (y, *rest[1:])
            x = x + y if m == "residual" else y
            if m in ("norm_every", "norm_twice"):
                x = self.final(x)
            if m == "inside":
                break
        return x if m in ("norm_unused", "norm_every", "norm_first") else self.final(x)


class ComposedEncoder(ComposedStack):
    def forward(self, x, mask):
        return self.run(x, None if self.mistake == "no_mask" else mask)


class ComposedDecoder(ComposedStack):
    def forward(self, x, memory, src_mask, tgt_mask):
        source, target = src_mask, tgt_mask
        rests = {
            "no_memory": (x, source, target),
            "masks_exchanged": (memory, target, source),
            "no_source_mask": (memory, None, target),
            "no_target_mask": (memory, source, None),
            "no_masks": (memory, None, None),
            "source_twice": (memory, source, source),
            "target_twice": (memory, target, target),
        }
        if self.mistake == "x_and_memory":
            return self.run(memory, x, source, target)
        return self.run(x, *rests.get(self.mistake, (memory, source, target)))
