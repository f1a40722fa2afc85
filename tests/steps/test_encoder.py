"""Step 07: right builds get full marks, mistakes have names; test_stacks.py reads these tables."""

from pathlib import Path

from autograder.core.step import find_step
from tests.steps.harness import edited, failed, graded

STEP = find_step(7)
TEXT = Path(__file__).with_name("stack_builds.py").read_text(encoding="utf-8")
SOLUTION = STEP.solution.read_text(encoding="utf-8")
Choices = dict[str, str]

# Right in every check: the number is that of a kind of honest difference.
RIGHT: dict[str, tuple[Choices, Choices]] = {
    "0.5 other names, torch's norms": ({}, {}),
    "0.7 called through forward": ({"call": "forward"}, {}),
    "0.4 called by keywords": ({"call": "keywords", "norm": "one_plus"}, {"norm": "one_plus"}),
    "9.1 functional dropout": ({"drop": "functional"}, {}),
    "9.4 the given norm inside": ({"norm": "given"}, {"norm": "given"}),
    "9.5 sublayer is a partial": ({"call": "partial", "norm": "dictionary"}, {}),
    "10.2 list of norms and one dropout": ({"norm": "dictionary"}, {"norm": "dictionary"}),
    "10.4 the original is the first layer": ({}, {"copies": "first is the original"}),
    "10.8 layers by name": ({}, {"copies": "named", "norm": "given"}),
    "10.8 copies in another order": ({}, {"loop": "reversed"}),
    "1.4 mask as numbers": ({"call": "float mask"}, {}),
}

# Written by other people's habits, as whole files.
WHOLE = {
    "10.1 explicit calls, no residual class": """
from torch import nn
from copy import deepcopy

class EncoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super(EncoderLayer, self).__init__()
        self.ffn_norm = nn.LayerNorm(size)
        self.ffn = feed_forward
        self.attn_norm = nn.LayerNorm(size, eps=1e-6)
        self.attn = self_attn
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.size = size

    def forward(self, x, mask=None):
        h = self.attn_norm(x)
        h = self.drop1(self.attn(h, h, h, mask))
        x = x + h
        return x + self.drop2(self.ffn(self.ffn_norm(x)))

class Encoder(nn.Module):
    def __init__(self, layer, N):
        super().__init__()
        self.N = N
        self.stack = nn.ModuleList([deepcopy(layer) for i in range(N)])
        self.last_norm = nn.LayerNorm(self.stack[-1].size)

    def forward(self, x, mask=None):
        for i in range(self.N):
            x = self.stack[i](x, mask=mask)
        return self.last_norm(x)
""",
    "10.1 inner functions, 10.2 two named connections": """
import functools
from torch import nn
from transformer_ref import LayerNorm, SublayerConnection, clones

class EncoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__()
        self.around_attention = SublayerConnection(size, dropout)
        self.around_network = SublayerConnection(size, dropout)
        self.attention, self.network = self_attn, feed_forward
        self.size = size

    def forward(self, x, mask):
        def look(normed):
            return self.attention(query=normed, key=normed, value=normed, mask=mask)

        seen = self.around_attention(x, look)
        return self.around_network(seen, functools.partial(self.network))

class Encoder(nn.Sequential):
    def __init__(self, layer, N):
        super().__init__(*clones(layer, N), LayerNorm(layer.size))

    def forward(self, x, mask):
        *layers, norm = self
        return norm(functools.reduce(lambda y, layer: layer(y, mask), layers, x))
""",
    "10.2 a residual class of one's own": """
import torch
from torch import nn
from transformer_ref import clones

class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.beta = nn.Parameter(torch.zeros(d))
        self.gamma = nn.Parameter(torch.ones(d))
    def forward(self, x):
        m, s = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.gamma * (x - m) / (s + 1e-6) + self.beta

class Residual(nn.Module):
    def __init__(self, d, p, inner):
        super().__init__()
        self.norm, self.p, self.inner = Norm(d), p, inner
    def forward(self, x, *mask):
        y = self.norm(x)
        y = self.inner(y, y, y, *mask) if mask else self.inner(y)
        return x + nn.functional.dropout(y, self.p, self.training)

class EncoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__()
        self.one = Residual(size, dropout, self_attn)
        self.two = Residual(size, dropout, feed_forward)
    @property
    def size(self):
        return self.one.norm.beta.numel()
    def forward(self, x, mask):
        return self.two(self.one(x, mask))

class Encoder(nn.Module):
    def __init__(self, layer, N):
        super().__init__()
        self.norm = Norm(layer.size)
        self.layers = clones(layer, N)
    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
""",
}

PLACES: dict[str, Choices] = {
    "torch's norms": {},
    "norms of one's own": {"norm": "one_plus", "drop": "functional", "call": "keywords"},
    "dictionaries": {"norm": "dictionary", "call": "forward"},
}
# What the tests' builds call a mistake, and what it is called in the catalogue.
LAYER_MISTAKES = {
    "post_norm": "layer-post-norm",
    "norm_of_result": "layer-norm-of-result",
    "of_normed": "layer-residual-of-normed",
    "no_residual": "layer-residual-missing",
    "added_again": "layer-residual-added-again",
    "no_norm": "layer-norm-missing",
    "shared": "layer-norm-shared",
    "reused": "layer-sublayer-reused",
    "spare": "layer-norm-to-spare",
    "norm_at_end": "layer-norm-at-the-end",
    "outer_x": "layer-lambda-uses-outer-x",
    "half_outer_x": "layer-lambda-half-outer-x",
    "first_lost": "layer-attention-result-dropped",
    "last_lost": "layer-feed-forward-result-dropped",
    "no_network": "layer-feed-forward-missing",
    "bare": "layer-feed-forward-bare",
    "cut": "layer-gradient-cut",
    "no_dropout": "layer-dropout-missing",
    "fixed_rate": "layer-dropout-fixed",
    "drop_sum": "layer-dropout-on-sum",
    "drop_input": "layer-dropout-on-input",
    "always_on": "layer-dropout-always-on",
    "first_only": "layer-dropout-first-only",
    "no_size": "layer-size-missing",
    "plain_parts": "layer-parts-in-plain-list",
    "in_place": "layer-input-changed",
    "returns_more": "layer-returns-more",
    "no_mask": "layer-mask-not-passed",
    "inverted": "layer-mask-inverted",
    "widened": "layer-mask-widened",
    "swapped": "layer-order-swapped",
    "parallel": "layer-sublayers-in-parallel",
    "no_attention": "layer-attention-missing",
}
STACK_PLACES: dict[str, Choices] = {
    "torch's norm": {},
    "norm of one's own": {"norm": "one_plus", "loop": "reversed"},
    "dictionary": {"norm": "dictionary"},
}
STACK_MISTAKES = {
    "no_norm": "encoder-final-norm-missing",
    "norm_unused": "encoder-final-norm-unused",
    "norm_every": "encoder-norm-after-every-layer",
    "norm_first": "encoder-norm-first",
    "fed_with_x": "encoder-layers-fed-with-x",
    "same": "encoder-same-layer",
    "shallow": "encoder-same-layer",
    "plain_list": "encoder-plain-list",
    "original_kept": "encoder-original-kept",
    "one_more": "encoder-one-layer-more",
    "one_less": "encoder-one-layer-less",
    "fixed": "encoder-number-fixed",
    "inside": "encoder-returns-inside-loop",
    "stuck": "encoder-index-stuck",
    "residual": "encoder-residual-around-layers",
    "list_called": "encoder-list-called",
    "no_mask": "encoder-mask-not-passed",
}


def composed(layer: Choices, stack: Choices) -> str:
    return (
        f"{TEXT}\n\nclass EncoderLayer(ComposedEncoderLayer):\n    choices = {layer!r}\n"
        f"\n\nclass Encoder(ComposedEncoder):\n    choices = {stack!r}\n"
    )


HONEST = {name: composed(*choices) for name, choices in RIGHT.items()} | WHOLE


ATTEND = "lambda normed: self.self_attn(normed, normed, normed, mask))"
NETWORK = "self.sublayer[1](x, self.feed_forward)"
MADE = "self.sublayer = clones(SublayerConnection(size, dropout), 2)"
LOOP = "for layer in self.layers:"
END = "return self.norm(x)"
CALL = "x = layer(x, mask)"
UNKNOWN: dict[str, tuple[str, str]] = {
    "keys in reverse": (
        ATTEND,
        ATTEND.replace("normed, normed, mask", "normed.flip(1), normed, mask"),
    ),
    "values not normalized": (ATTEND, ATTEND.replace("normed, mask", "x, mask")),
    "values in reverse": (ATTEND, ATTEND.replace("normed, mask", "normed.flip(1), mask")),
    "attention twice": (
        ATTEND,
        "lambda n: self.self_attn(self.self_attn(n, n, n, mask), n, n, mask))",
    ),
    "tokens in reverse": (NETWORK, "self.sublayer[1](x, lambda n: self.feed_forward(n.flip(1)))"),
    "network twice": (
        NETWORK,
        "self.sublayer[1](x, lambda n: self.feed_forward(self.feed_forward(n)))",
    ),
    "network called again": (f"x = {NETWORK}", f"x = {NETWORK}\n        x = {NETWORK}"),
    "activation on the branch": (
        NETWORK,
        "self.sublayer[1](x, lambda n: self.feed_forward(n).relu())",
    ),
    "half of x": (NETWORK, f"0.5 * x + {NETWORK}"),
    "x over root two": (NETWORK, f"{NETWORK} / 2**0.5"),
    "sign": (f"x = {NETWORK}", f"x = -{NETWORK}"),
    "whole layer residual": (f"x = {NETWORK}", f"x = x + {NETWORK} - self.feed_forward(x)"),
    "mask in reverse": (ATTEND, ATTEND.replace("mask)", "mask.flip(-1))")),
    "mask lets all through": (ATTEND, ATTEND.replace("mask)", "torch.ones_like(mask))")),
    "mask of the first sentence": (ATTEND, ATTEND.replace("mask)", "mask[:1])")),
    "mask as a float of large numbers": (ATTEND, ATTEND.replace("mask)", "(mask - 1.0) * 1e9)")),
    "half the dropout": (MADE, MADE.replace("dropout)", "dropout / 2)")),
    "share to keep": (MADE, MADE.replace("dropout)", "1 - dropout)")),
    "another size": ("self.size = size", "self.size = size + 1"),
    "size as text": ("self.size = size", "self.size = str(size)"),
    "a layer to spare": (
        "self.size = size",
        "self.size = size\n        self.more = nn.Linear(3, 3)",
    ),
    "trained factor": (MADE, f"{MADE}\n        self.factor = nn.Parameter(torch.ones(1))"),
    "every other layer": (LOOP, LOOP.replace("self.layers", "self.layers[::2]")),
    "all layers twice": (LOOP, LOOP.replace("self.layers", "[*self.layers, *self.layers]")),
    "first layer left out": (LOOP, LOOP.replace("self.layers", "self.layers[1:]")),
    "normalized twice": (END, "return self.norm(self.norm(x))"),
    "half of the layers' sum": (CALL, "x = (x + layer(x, mask)) / 2"),
    "norm on the way": (CALL, "x = layer(self.norm(x), mask)"),
    "mask in reverse for all": (CALL, "x = layer(x, mask.flip(-1))"),
    "mask is used up": (CALL, "x, mask = layer(x, mask), None"),
    "tokens in reverse for all": (CALL, "x = layer(x.flip(1), mask)"),
    "output doubled": (END, "return 2 * self.norm(x)"),
    "norm doubled": (ATTEND, ATTEND.replace("normed, normed, normed", "*[2 * normed] * 3")),
    "output and x": (END, "return self.norm(x), x"),
    "mean over the tokens": (END, "return self.norm(x).mean(1)"),
    "norm without parameters": (
        "self.norm = LayerNorm(layer.size)",
        "self.norm = nn.LayerNorm(layer.size, elementwise_affine=False)",
    ),
}


# Right values, with these masks, in eval mode.
HIDDEN: dict[str, tuple[tuple[str, str], str]] = {
    "layers without gradient": (
        (
            f"{LOOP}\n            {CALL}",
            f"with torch.no_grad():\n          {LOOP}\n            {CALL}",
        ),
        "encoder_order",
    ),
    "x cut off": ((LOOP, f"x = x.detach()\n        {LOOP}"), "encoder_order"),
    "cut between layers": ((CALL, CALL.replace("(x,", "(x.detach(),")), "encoder_order"),
    "cut before the norm": ((END, "return self.norm(x.detach())"), "encoder_order"),
    "cut in training": (
        (LOOP, f"x = x.detach() if self.training else x\n        {LOOP}"),
        "encoder_order",
    ),
    "gradient doubled": (
        (END, "x = self.norm(x)\n        return 2 * x - x.detach()"),
        "encoder_order",
    ),
    "layer: gradient doubled": (
        (f"x = {NETWORK}", f"x = 2 * {NETWORK}\n        x = x - x.detach() / 2"),
        "layer_output",
    ),
    "layer: a little more": ((f"x = {NETWORK}", f"x = 1.0005 * {NETWORK}"), "layer_output"),
    "layer: first row of the mask": (
        (ATTEND, ATTEND.replace("mask)", "mask if mask is None else mask[:, :1])")),
        "layer_mask",
    ),
    "layer: None refused": ((ATTEND, ATTEND.replace("mask)", "mask.bool())")), "layer_mask"),
    "first row of the mask": (
        (LOOP, f"mask = mask if mask is None else mask[:, :1]\n        {LOOP}"),
        "encoder_order",
    ),
    "None refused": ((LOOP, f"mask = mask * 1\n        {LOOP}"), "encoder_order"),
    "dropout at the end": (
        (END, "return nn.functional.dropout(self.norm(x), 0.1, self.training)"),
        "encoder_norm",
    ),
    "dropout before the layers": (
        (LOOP, f"x = nn.functional.dropout(x, 0.1, self.training)\n        {LOOP}"),
        "encoder_order",
    ),
    "layers skipped in training": (
        (CALL, f"x = x if self.training and torch.rand(()) < 0.7 else {CALL[4:]}"),
        "encoder_order",
    ),
}
FINE: dict[str, tuple[str, str]] = {
    "mask as numbers": (ATTEND, ATTEND.replace("mask)", "mask if mask is None else mask.float())")),
    "mask for all rows": (
        ATTEND,
        ATTEND.replace("mask)", "mask if mask is None else mask.expand(-1, x.size(1), -1))"),
    ),
    "mask is a copy": (LOOP, f"mask = None if mask is None else mask.clone()\n        {LOOP}"),
    "x is a view": (LOOP, f"x = x.transpose(0, 1).contiguous().transpose(0, 1)\n        {LOOP}"),
}


ONE_CHECK = {
    "outer_x": {"layer_attention"},
    "no_mask": {"layer_mask"},
    "shared": {"layer_parameters"},
    "reused": {"layer_parameters"},
    "no_size": {"layer_parameters"},
    "post_norm": {"layer_attention"},
    "last_lost": {"layer_output"},
    "no_dropout": {"layer_dropout"},
    "always_on": {"layer_dropout"},
    "swapped": {"layer_attention", "layer_feed_forward"},
}


def test_torch_s_own_layer_costs_the_main_check() -> None:
    text = edited(
        SOLUTION, ("self.size = size", "self.size = size\n        nn.TransformerEncoderLayer(8, 2)")
    )
    assert failed(graded(STEP, text)) == {"layer_output"}
