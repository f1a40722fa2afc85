"""Step 08: right builds get full marks, mistakes have names; test_stacks.py reads these tables."""

from pathlib import Path

from autograder.core.step import find_step
from tests.steps.harness import edited, failed, graded

STEP = find_step(8)
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
    "11.2 list of norms and one dropout": ({"norm": "dictionary"}, {"norm": "dictionary"}),
    "11.4 the original is the first layer": ({}, {"copies": "first is the original"}),
    "11.8 layers by name": ({}, {"copies": "named", "norm": "given"}),
    "11.8 copies in another order": ({}, {"loop": "reversed"}),
}

# Written by other people's habits, as whole files.
WHOLE = {
    "11.1 explicit calls, no residual class": """
from torch import nn
from copy import deepcopy

class DecoderLayer(nn.Module):
    def __init__(self, size, self_attn, src_attn, feed_forward, dropout):
        super(DecoderLayer, self).__init__()
        self.norm3 = nn.LayerNorm(size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.ffn = feed_forward
        self.enc_dec_attn, self.masked_attn = src_attn, self_attn
        self.drop = nn.Dropout(dropout)
        self.size = size

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        q = self.norm1(x)
        x = x + self.drop(self.masked_attn(q, q, q, tgt_mask))
        q = self.norm2(x)
        x = x + self.drop(self.enc_dec_attn(q, memory, memory, src_mask))
        return x + self.drop(self.ffn(self.norm3(x)))

class Decoder(nn.Module):
    def __init__(self, layer, N):
        super().__init__()
        self.N = N
        self.last_norm = nn.LayerNorm(layer.size)
        self.stack = nn.ModuleList([deepcopy(layer) for i in range(N)])

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for i in range(self.N):
            x = self.stack[i](x, memory, src_mask=src_mask, tgt_mask=tgt_mask)
        return self.last_norm(x)
""",
    "11.1 inner functions and a partial, 11.2 three named connections": """
import functools
from torch import nn
from transformer_ref import LayerNorm, SublayerConnection, clones

class DecoderLayer(nn.Module):
    def __init__(self, size, self_attn, src_attn, feed_forward, dropout):
        super().__init__()
        self.third = SublayerConnection(size, dropout)
        self.second = SublayerConnection(size, dropout)
        self.first = SublayerConnection(size, dropout)
        self.a, self.b, self.c = self_attn, src_attn, feed_forward
        self.size = size

    def forward(self, x, memory, src_mask, tgt_mask):
        def back(normed):
            return self.a(query=normed, key=normed, value=normed, mask=tgt_mask)

        across = functools.partial(self.b, key=memory, value=memory, mask=src_mask)
        return self.third(self.second(self.first(x, back), across), self.c)

class Decoder(nn.ModuleList):
    def __init__(self, layer, N):
        super().__init__([*clones(layer, N), LayerNorm(layer.size)])

    def forward(self, x, *rest):
        *layers, norm = self
        return norm(functools.reduce(lambda y, layer: layer(y, *rest), layers, x))
""",
    "11.2 a residual class of one's own": """
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
    def forward(self, x, make=lambda y: (y,)):
        y = self.inner(*make(self.norm(x)))
        return x + nn.functional.dropout(y, self.p, self.training)

class DecoderLayer(nn.Module):
    def __init__(self, size, self_attn, src_attn, feed_forward, dropout):
        super().__init__()
        parts = {"back": self_attn, "across": src_attn, "network": feed_forward}
        self.steps = nn.ModuleDict({k: Residual(size, dropout, v) for k, v in parts.items()})
        self.register_buffer("width", torch.tensor(size))
    @property
    def size(self):
        return int(self.width)
    def forward(self, x, memory, src_mask, tgt_mask):
        x = self.steps["back"](x, lambda y: (y, y, y, tgt_mask))
        x = self.steps["across"](x, lambda y: (y, memory, memory, src_mask))
        return self.steps["network"](x)

class Decoder(nn.Module):
    def __init__(self, layer, N):
        super().__init__()
        self.norm = Norm(layer.size)
        self.layers = clones(layer, N)
    def forward(self, x, memory, src_mask, tgt_mask):
        for layer in self.layers:
            x = layer(x=x, memory=memory, src_mask=src_mask, tgt_mask=tgt_mask)
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
    "reused": "layer-sublayer-reused-across",
    "reused_last": "layer-sublayer-reused-feed-forward",
    "reused_all": "layer-sublayer-reused-everywhere",
    "norm_at_end": "layer-norm-at-the-end",
    "outer_x": "layer-lambda-uses-outer-x",
    "half_outer_x": "layer-lambda-half-outer-x",
    "across_outer_x": "layer-across-lambda-uses-outer-x",
    "first_lost": "layer-attention-result-dropped",
    "across_lost": "layer-across-result-dropped",
    "last_lost": "layer-feed-forward-result-dropped",
    "no_back": "layer-back-missing",
    "no_across": "layer-across-missing",
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
    "across_uses_self": "layer-across-uses-self-attention",
    "one_for_both": "layer-one-attention-for-both",
    "exchanged": "layer-attentions-exchanged",
    "value_from_target": "layer-across-value-from-target",
    "key_from_target": "layer-across-key-from-target",
    "memory_ignored": "layer-memory-ignored",
    "query_is_memory": "layer-across-query-is-memory",
    "all_memory": "layer-across-all-memory",
    "memory_normed": "layer-across-memory-normed",
    "query_from_input": "layer-across-query-from-input",
    "residual_from_input": "layer-across-residual-from-input",
    "no_back_mask": "layer-back-mask-missing",
    "back_mask_is_source": "layer-back-mask-is-source",
    "no_mask": "layer-across-mask-missing",
    "mask_is_target": "layer-across-mask-is-target",
    "masks_exchanged": "layer-masks-exchanged",
    "across_first": "layer-across-first",
    "network_between": "layer-feed-forward-between",
}
STACK_PLACES: dict[str, Choices] = {
    "torch's norm": {},
    "norm of one's own": {"norm": "one_plus", "loop": "reversed"},
    "dictionary": {"norm": "dictionary"},
}
STACK_MISTAKES = {
    "no_norm": "decoder-final-norm-missing",
    "norm_unused": "decoder-final-norm-unused",
    "norm_every": "decoder-norm-after-every-layer",
    "norm_first": "decoder-norm-first",
    "fed_with_x": "decoder-layers-fed-with-x",
    "same": "decoder-same-layer",
    "shallow": "decoder-same-layer",
    "plain_list": "decoder-plain-list",
    "original_kept": "decoder-original-kept",
    "one_more": "decoder-one-layer-more",
    "one_less": "decoder-one-layer-less",
    "fixed": "decoder-number-fixed",
    "inside": "decoder-returns-inside-loop",
    "stuck": "decoder-index-stuck",
    "residual": "decoder-residual-around-layers",
    "list_called": "decoder-list-called",
    "memory_not_passed": "decoder-memory-not-passed",
    "no_memory": "decoder-memory-is-input",
    "memory_replaced": "decoder-memory-replaced",
    "x_and_memory": "decoder-signature-exchanged",
    "masks_exchanged": "decoder-masks-exchanged",
    "no_source_mask": "decoder-source-mask-missing",
    "no_target_mask": "decoder-target-mask-missing",
    "no_masks": "decoder-masks-missing",
    "source_twice": "decoder-source-mask-twice",
    "target_twice": "decoder-target-mask-twice",
}


def composed(layer: Choices, stack: Choices) -> str:
    return (
        f"{TEXT}\n\nclass DecoderLayer(ComposedDecoderLayer):\n    choices = {layer!r}\n"
        f"\n\nclass Decoder(ComposedDecoder):\n    choices = {stack!r}\n"
    )


HONEST = {name: composed(*choices) for name, choices in RIGHT.items()} | WHOLE


BACK = "lambda normed: self.self_attn(normed, normed, normed, tgt_mask))"
ACROSS = "lambda normed: self.src_attn(normed, memory, memory, src_mask))"
NETWORK = "self.sublayer[2](x, self.feed_forward)"
MADE = "self.sublayer = clones(SublayerConnection(size, dropout), 3)"
LOOP = "for layer in self.layers:"
END = "return self.norm(x)"
CALL = "x = layer(x, memory, src_mask, tgt_mask)"
UNKNOWN: dict[str, tuple[str, str]] = {
    "keys in reverse": (BACK, BACK.replace("normed, tgt", "normed.flip(1), tgt")),
    "values not normalized": (BACK, BACK.replace("normed, tgt", "x, tgt")),
    "back twice": (
        BACK,
        BACK.replace("(normed,", "(self.self_attn(*[normed] * 3, None),"),
    ),
    "memory in reverse": (ACROSS, ACROSS.replace("memory, src", "memory.flip(1), src")),
    "only the first word of the source": (ACROSS, ACROSS.replace("memory", "memory[:, :1]")),
    "memory doubled": (ACROSS, ACROSS.replace("memory", "2 * memory")),
    "query plus x": (ACROSS, ACROSS.replace("(normed,", "(x + normed,")),
    "mean of the memory": (ACROSS, ACROSS.replace("memory", "memory.mean(1, keepdim=True)")),
    "across twice": (
        ACROSS,
        ACROSS.replace("(normed,", "(self.src_attn(*[normed] * 3, None),"),
    ),
    "tokens in reverse": (NETWORK, "self.sublayer[2](x, lambda n: self.feed_forward(n.flip(1)))"),
    "network twice": (
        NETWORK,
        "self.sublayer[2](x, lambda n: self.feed_forward(self.feed_forward(n)))",
    ),
    "activation on the branch": (
        NETWORK,
        "self.sublayer[2](x, lambda n: self.feed_forward(n).relu())",
    ),
    "half of x": (NETWORK, f"0.5 * x + {NETWORK}"),
    "sign": (f"x = {NETWORK}", f"x = -{NETWORK}"),
    "norm doubled": (
        BACK,
        BACK.replace("normed, normed, normed", "*[2 * normed] * 3"),
    ),
    "mask turned": (BACK, BACK.replace("tgt_mask", "tgt_mask.transpose(1, 2)")),
    "triangle lost": (BACK, BACK.replace("tgt_mask", "tgt_mask[:, -1:]")),
    "diagonal hidden": (BACK, BACK.replace("tgt_mask", "tgt_mask & tgt_mask.roll(1, 1)")),
    "source mask in reverse": (ACROSS, ACROSS.replace("src_mask", "src_mask.flip(-1)")),
    "source mask lets all through": (
        ACROSS,
        ACROSS.replace("src_mask", "torch.ones_like(src_mask)"),
    ),
    "mask of the first sentence": (ACROSS, ACROSS.replace("src_mask", "src_mask[:1]")),
    "half the dropout": (MADE, MADE.replace("dropout)", "dropout / 2)")),
    "another size": ("self.size = size", "self.size = size + 1"),
    "a layer to spare": (
        "self.size = size",
        "self.size = size\n        self.more = nn.Linear(3, 3)",
    ),
    "four connections": (MADE, MADE.replace("3)", "4)")),
    "every other layer": (LOOP, LOOP.replace("self.layers", "self.layers[::2]")),
    "all layers twice": (LOOP, LOOP.replace("self.layers", "[*self.layers, *self.layers]")),
    "normalized twice": (END, "return self.norm(self.norm(x))"),
    "memory in reverse for all": (CALL, CALL.replace("memory", "memory.flip(1)")),
    "memory normalized for all": (CALL, CALL.replace("memory", "self.norm(memory)")),
    "target mask turned for all": (CALL, CALL.replace("tgt_mask", "tgt_mask.transpose(1, 2)")),
    "masks are used up": (CALL, f"{CALL}\n            src_mask = None"),
    "tokens in reverse for all": (CALL, CALL.replace("(x,", "(x.flip(1),")),
    "output doubled": (END, "return 2 * self.norm(x)"),
    "output and memory": (END, "return self.norm(x), memory"),
    "last token only": (END, "return self.norm(x)[:, -1]"),
}


# Right values, with these masks, in eval mode.
HIDDEN: dict[str, tuple[tuple[str, str], str]] = {
    "layers without gradient": (
        (
            f"{LOOP}\n            {CALL}",
            f"with torch.no_grad():\n          {LOOP}\n            {CALL}",
        ),
        "decoder_order",
    ),
    "cut between layers": ((CALL, CALL.replace("(x,", "(x.detach(),")), "decoder_order"),
    "memory cut off": ((LOOP, f"memory = memory.detach()\n        {LOOP}"), "decoder_order"),
    "memory negated on the way back": (
        (LOOP, f"memory = 2 * memory.detach() - memory\n        {LOOP}"),
        "decoder_order",
    ),
    "cut before the norm": ((END, "return self.norm(x.detach())"), "decoder_order"),
    "layer: triangle of its own": (
        (
            BACK,
            BACK.replace(
                "tgt_mask",
                "None if tgt_mask is None else tgt_mask.tril()",
            ),
        ),
        "layer_masks",
    ),
    "layer: first row of the source's mask": (
        (ACROSS, ACROSS.replace("src_mask", "None if src_mask is None else src_mask[:, :1]")),
        "layer_masks",
    ),
    "layer: only square masks": (
        (
            BACK,
            BACK.replace(
                "tgt_mask", "None if tgt_mask is None else tgt_mask.view(-1, x.size(1), x.size(1))"
            ),
        ),
        "layer_masks",
    ),
    "layer: a mask for each sentence": (
        (
            BACK,
            BACK.replace(
                "tgt_mask", "None if tgt_mask is None else tgt_mask.view(x.size(0), -1, x.size(1))"
            ),
        ),
        "layer_masks",
    ),
    "layer: None refused": ((ACROSS, ACROSS.replace("src_mask", "src_mask.bool()")), "layer_masks"),
    "None refused": ((LOOP, f"tgt_mask = tgt_mask.clone()\n        {LOOP}"), "decoder_order"),
    "dropout at the end": (
        (END, "return nn.functional.dropout(self.norm(x), 0.1, self.training)"),
        "decoder_norm",
    ),
    "dropout on memory": (
        (LOOP, f"memory = nn.functional.dropout(memory, 0.1, self.training)\n        {LOOP}"),
        "decoder_order",
    ),
    "layers skipped in training": (
        (CALL, f"x = x if self.training and torch.rand(()) < 0.7 else {CALL[4:]}"),
        "decoder_order",
    ),
}
FINE: dict[str, tuple[str, str]] = {
    "mask as numbers": (
        BACK,
        BACK.replace("tgt_mask", "None if tgt_mask is None else tgt_mask.long()"),
    ),
    "mask for all sentences": (
        BACK,
        BACK.replace(
            "tgt_mask", "None if tgt_mask is None else tgt_mask.expand(x.size(0), -1, -1)"
        ),
    ),
    "memory is a view": (
        LOOP,
        f"memory = memory.transpose(0, 1).contiguous().transpose(0, 1)\n        {LOOP}",
    ),
}


ONE_CHECK = {
    "outer_x": {"layer_self_attention"},
    "no_mask": {"layer_masks"},
    "shared": {"layer_parameters"},
    "reused": {"layer_parameters"},
    "across_uses_self": {"layer_source_attention"},
    "residual_from_input": {"layer_feed_forward", "layer_output"},
    "value_from_target": {"layer_source_attention"},
    "network_between": {"layer_feed_forward"},
    "no_size": {"layer_parameters"},
    "post_norm": {"layer_self_attention"},
    "last_lost": {"layer_output"},
    "no_dropout": {"layer_dropout"},
    "always_on": {"layer_dropout"},
    "across_first": {"layer_self_attention", "layer_source_attention"},
}


def test_torch_s_own_layer_costs_the_main_check() -> None:
    text = edited(
        SOLUTION, ("self.size = size", "self.size = size\n        nn.TransformerDecoderLayer(8, 2)")
    )
    assert failed(graded(STEP, text)) == {"layer_output"}
