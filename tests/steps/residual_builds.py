"""Norms and residual blocks of many people's choices, right and wrong: a text that tests grade.

A test appends classes `LayerNorm(ComposedNorm)` and `SublayerConnection(ComposedBlock)` whose
`choices` say how they are built.
"""

import math
import typing

import torch
from torch import nn
from torch.nn import functional as F


class Vectors(nn.Module):
    """Gain and bias as parameters, in any order and shape."""

    def __init__(self, features, order, shape):
        super().__init__()
        size = {"vector": (features,), "row": (1, 1, features), "scalar": (1,)}[shape]
        for which in order:
            start = torch.ones(size) if which == "g" else torch.zeros(size)
            self.register_parameter(which, nn.Parameter(start))

    def gain(self):
        return self.g if hasattr(self, "g") else 1.0

    def bias(self):
        return self.b if hasattr(self, "b") else 0.0


class OnePlus(Vectors):
    """The gain is kept as what it has beyond 1."""

    def __init__(self, features, order, shape):
        super().__init__(features, order, shape)
        nn.init.zeros_(self.g)

    def gain(self):
        return 1 + self.g


class Dictionary(nn.Module):
    def __init__(self, features, order, shape):
        super().__init__()
        start = {"g": torch.ones(features), "b": torch.zeros(features)}
        self.kept = nn.ParameterDict({which: nn.Parameter(start[which]) for which in order})

    def gain(self):
        return self.kept.get("g", 1.0)

    def bias(self):
        return self.kept.get("b", 0.0)


class Table(nn.Module):
    """Both in one parameter: two rows."""

    def __init__(self, features, order, shape):
        super().__init__()
        self.order = order
        rows = [torch.full((features,), float(which == "g")) for which in order]
        self.rows = nn.Parameter(torch.stack(rows))

    def gain(self):
        return self.rows[self.order.index("g")]

    def bias(self):
        return self.rows[self.order.index("b")]


STORES = {"vectors": Vectors, "one_plus": OnePlus, "dictionary": Dictionary, "table": Table}


def spread(x, how):
    if how == "by_root":
        return x.var(-1, keepdim=True).sqrt()
    if how == "by_hand":
        gap = x - x.mean(-1, keepdim=True)
        return torch.sqrt((gap**2).sum(-1, keepdim=True) / (x.size(-1) - 1))
    if how == "together":
        return torch.std_mean(x, dim=-1, keepdim=True)[0]
    if how == "biased":
        return x.std(-1, keepdim=True, unbiased=False)
    if how == "variance":
        return x.var(-1, keepdim=True)
    if how == "sequence":
        return x.std(-2, keepdim=True)
    if how == "batch":
        return x.std(0, keepdim=True)
    if how == "sentence":
        return x.std(tuple(range(1, x.dim())), keepdim=True)
    if how == "narrow":
        return x.std(-1)
    if how == "math":
        return math.sqrt(x.var(-1, keepdim=True))
    return x.std(-1, keepdim=True)


def center(x, how):
    axes = {"sequence": -2, "batch": 0, "sentence": tuple(range(1, x.dim()))}
    if how == "narrow":
        return x.mean(-1)
    return x.mean(axes.get(how, -1), keepdim=True)


class ComposedNorm(nn.Module):
    choices: typing.ClassVar = {}

    def __init__(self, features, eps=1e-6):
        super().__init__()
        choose = {"store": "vectors", "order": "gb", "shape": "vector", "std": "", "mistake": ""}
        choose |= self.choices
        self.choose = choose
        self.store = STORES[choose["store"]](features, choose["order"], choose["shape"])
        self.eps = 1e-6 if choose["mistake"] == "fixed_eps" else eps
        for p in self.store.parameters():
            if choose["mistake"] == "bias_one" and p.sum() == 0:
                nn.init.ones_(p)
            elif choose["mistake"] == "gain_zero":
                nn.init.zeros_(p)

    def forward(self, x):
        gain, bias, mistake = self.store.gain(), self.store.bias(), self.choose["mistake"]
        if mistake == "gain_first":
            x = gain * x
        mean, std = center(x, self.choose["std"]), spread(x, self.choose["std"])
        if mistake == "detached":
            mean, std = mean.detach(), std.detach()
        if mistake == "no_mean":
            mean = 0.0
        if mistake == "rms":
            mean, std = 0.0, x.pow(2).mean(-1, keepdim=True).sqrt()
        below = std if mistake == "no_eps" else std + self.eps
        if mistake in ("eps_inside", "torch"):
            biased = mistake != "torch"
            below = (x.var(-1, keepdim=True, unbiased=biased) + self.eps).sqrt()
        if mistake == "gain_first":
            return (x - mean) / below + bias
        if mistake == "bias_inside":
            return (gain * (x - mean) + bias) / below
        if mistake == "bias_first":
            return gain * ((x - mean) / below + bias)
        return (
            torch.addcmul(bias, gain, (x - mean) / below)
            if mistake == "fused"
            else ((x - mean) * gain / below + bias)
        )


class Stock(nn.Module):
    """torch's own layer, wrapped."""

    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.inner = nn.LayerNorm(features, eps=eps)

    def forward(self, x):
        return self.inner(x)


class ComposedBlock(nn.Module):
    choices: typing.ClassVar = {}
    norm_class: typing.ClassVar = None

    def __init__(self, size, dropout):
        super().__init__()
        choose = {"drop": "module", "mistake": ""} | self.choices
        self.choose = choose
        if choose["mistake"] != "no_norm":
            self.my_norm = self.norm_class(size)
        p = dropout
        if choose["mistake"] == "fixed_rate":
            p = 0.1
        elif choose["mistake"] == "keep":
            p = 1 - dropout
        self.layers = nn.ModuleDict({"drop": nn.Dropout(p)})
        self.p = p

    def dropped(self, x):
        if self.choose["mistake"] == "always_on":
            return F.dropout(x, self.p)
        if self.choose["drop"] == "function":
            return F.dropout(x, self.p, self.training)
        return self.layers["drop"](x)

    def forward(self, x, sublayer):
        mistake = self.choose["mistake"]
        if mistake == "post":
            return self.my_norm(self.dropped(sublayer(x)) + x)
        if mistake == "norm_of_output":
            return x + self.dropped(self.my_norm(sublayer(x)))
        if mistake == "of_normalized":
            y = self.my_norm(x)
            return y + self.dropped(sublayer(y))
        if mistake == "lost":
            return x + self.dropped(self.my_norm(x))
        if mistake == "doubled":
            return x + self.dropped(x)
        if mistake == "overwritten":
            y = self.my_norm(x)
            sublayer(y)
            return x + self.dropped(y)
        if mistake in ("no_norm", "norm_unused"):
            return x + self.dropped(sublayer(x))
        if mistake == "drop_sum":
            return self.dropped(x + sublayer(self.my_norm(x)))
        if mistake == "drop_missing":
            return x + sublayer(self.my_norm(x))
        if mistake == "drop_input":
            return x + sublayer(self.dropped(self.my_norm(x)))
        if mistake == "tensor":
            return self.dropped(sublayer) + x
        y = self.dropped(sublayer(self.my_norm(x)))
        if mistake == "no_residual":
            return y
        if mistake == "of_output":
            return y + y
        if mistake == "norm_twice":
            return self.my_norm(x + y)
        if mistake == "twice":
            return x + y + x
        if mistake == "slice":
            return y + x[:, :1]
        if mistake == "in_place":
            x += y
            return x
        return y + x
