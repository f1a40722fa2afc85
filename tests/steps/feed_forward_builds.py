"""Feed-forward networks of many people's choices, right and wrong: a text that tests grade.

A test appends a class `PositionwiseFeedForward(Composed)` whose `choices` say how it is built.
"""

import typing

import torch
from torch import nn
from torch.nn import functional as F


class Linear(nn.Module):
    """Two layers declared in any order."""

    def __init__(self, d_in, d_ff, d_out, order, biases):
        super().__init__()
        sizes = {"1": (d_in, d_ff), "2": (d_ff, d_out)}
        for which in order:
            self.add_module(f"layer{which}", self.layer(*sizes[which], which in biases))

    def layer(self, n, m, bias):
        return nn.Linear(n, m, bias=bias)

    def one(self, x):
        return self.layer1(x)

    def two(self, h):
        return self.layer2(h)


class Lazy(Linear):
    def layer(self, n, m, bias):
        return nn.LazyLinear(m, bias=bias)


class Convolution(Linear):
    kernel = 1

    def layer(self, n, m, bias):
        return nn.Conv1d(n, m, self.kernel, padding=self.kernel // 2, bias=bias)

    def over_tokens(self, layer, x):
        batch = x.reshape(-1, *x.shape[-2:])
        return layer(batch.transpose(1, 2)).transpose(1, 2).reshape(*x.shape[:-1], -1)

    def one(self, x):
        return self.over_tokens(self.layer1, x)

    def two(self, h):
        return self.over_tokens(self.layer2, h)


class WideConvolution(Convolution):
    kernel = 3


class Raw(Linear):
    """Parameters on the right of x."""

    def layer(self, n, m, bias):
        kept = {"weight": nn.Parameter(torch.randn(n, m) / n**0.5)}
        if bias:
            kept["bias"] = nn.Parameter(torch.zeros(m))
        return nn.ParameterDict(kept)

    def apply_raw(self, kept, x):
        y = torch.einsum("...n,nm->...m", x, kept["weight"])
        return y + kept["bias"] if "bias" in kept else y

    def one(self, x):
        return self.apply_raw(self.layer1, x)

    def two(self, h):
        return self.apply_raw(self.layer2, h)


class Fused(nn.Module):
    """Everything in one parameter, unit by unit: its inner row, inner bias and outer column."""

    def __init__(self, d_in, d_ff, d_out, order, biases):
        super().__init__()
        self.d_in, self.biases = d_in, biases
        self.all = nn.Parameter(torch.randn(d_ff, d_in + ("1" in biases) + d_out) * 0.2)
        if "2" in biases:
            self.last = nn.Parameter(torch.zeros(d_out))

    def one(self, x):
        h = x @ self.all[:, : self.d_in].T
        return h + self.all[:, self.d_in] if "1" in self.biases else h

    def two(self, h):
        y = h @ self.all[:, self.d_in + ("1" in self.biases) :]
        return y + self.last if "2" in self.biases else y


class Units(nn.Module):
    """A pair of layers for each hidden unit."""

    def __init__(self, d_in, d_ff, d_out, order, biases):
        super().__init__()
        self.outs = nn.ModuleList(nn.Linear(1, d_out, bias=False) for _ in range(d_ff))
        self.ins = nn.ModuleList(nn.Linear(d_in, 1, bias="1" in biases) for _ in range(d_ff))
        self.last = nn.Parameter(torch.zeros(d_out), requires_grad="2" in biases)

    def one(self, x):
        return torch.cat([unit(x) for unit in self.ins], dim=-1)

    def two(self, h):
        parts = h.split(1, dim=-1)
        return sum(unit(p) for unit, p in zip(self.outs, parts, strict=True)) + self.last


STORES = {
    "linear": Linear,
    "lazy": Lazy,
    "convolution": Convolution,
    "wide_convolution": WideConvolution,
    "raw": Raw,
    "fused": Fused,
    "units": Units,
}
BENDS = {
    "method": lambda h: h.relu(),
    "function": F.relu,
    "module": nn.ReLU(inplace=True),
    "clamp": lambda h: h.clamp(min=0),
    "maximum": lambda h: torch.maximum(h, torch.zeros_like(h)),
    "where": lambda h: torch.where(h > 0, h, torch.zeros(())),
    "product": lambda h: h * (h > 0),
    "none": lambda h: h,
    "gelu": F.gelu,
    "leaky": F.leaky_relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": lambda h: h.softmax(-1),
    "square": lambda h: h.relu().square(),
}


class Composed(nn.Module):
    choices: typing.ClassVar = {}

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        choose = {
            "store": "linear",
            "order": "12",
            "biases": "12",
            "bend": "method",
            "drop": "module",
            "mistake": "",
        }
        choose |= self.choices
        self.choose = choose
        mistake = choose["mistake"]
        d_ff = d_model if mistake == "square" else 4 * d_model if mistake == "ratio" else d_ff
        store = STORES[choose["store"]]
        self.layers = store(d_model, d_ff, d_model, choose["order"], choose["biases"])
        self.p = 0.1 if mistake == "fixed_rate" else 1 - dropout if mistake == "keep" else dropout
        self.module = nn.Dropout(self.p)
        if "norm" in mistake:
            self.norm = nn.LayerNorm(d_model)

    def dropped(self, h):
        mistake, drop = self.choose["mistake"], self.choose["drop"]
        if mistake == "always_on":
            return F.dropout(h, self.p)
        if drop == "function":
            return F.dropout(h, self.p, self.training)
        if drop == "by_hand" and self.training:
            kept = torch.rand_like(h) >= self.p
            return h * kept / max(1 - self.p, 1e-9)
        return self.module(h)

    def forward(self, x):
        mistake = self.choose["mistake"]
        bend = BENDS[self.choose["bend"]]
        begin = self.norm(x) if mistake in ("norm_first", "residual_norm_first") else x
        if mistake in ("drop_input", "drop_input_too"):
            begin = self.dropped(begin)
        if mistake == "bend_first":
            begin = bend(begin)
        h = self.layers.one(begin)
        here = mistake not in ("drop_missing", "drop_output", "drop_input")
        if self.choose["drop"] == "before":
            h = self.dropped(h) if here else h
        if mistake not in ("bend_last", "bend_first"):
            h = bend(h)
        if self.choose["drop"] != "before":
            h = self.dropped(h) if here else h
        y = self.layers.two(h)
        if mistake in ("bend_last", "bend_both"):
            y = bend(y)
        if mistake in ("drop_output", "drop_output_too"):
            y = self.dropped(y)
        if mistake.startswith("residual"):
            y = x + y
        return self.norm(y) if mistake in ("norm_last", "residual_norm_last") else y
