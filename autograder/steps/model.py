"""Probes of step 09: how the whole model is wired, put together and started, whoever wrote it."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.expression import Expressions, Part
from autograder.core.observation import Value, apart, see
from autograder.core.subject import Subject, Unusable
from autograder.weights import settle
from autograder.weights.scalars import Unreadable
from autograder.weights.start import start_of
from autograder.weights.whole import (
    PARTS,
    as_module,
    count,
    defaults_of,
    heads_of,
    hyper_parameters,
    only_feed_forward,
    restored,
    run_stacks,
    scale_of,
    vector,
    whole_model,
)

_WIDTH = 24
_CALLED = {
    "encoder": ("x", "mask"),
    "decoder": ("x", "memory", "src_mask", "tgt_mask"),
    "src_embed": ("x",),
    "tgt_embed": ("x",),
    "generator": ("x",),
}


# ---------------------------------------------------------------- EncoderDecoder


def encode(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What `encode` gives, as an expression of its parts, and which of them its gradient reaches."""
    log, parts, model = _wired(subject, draw)
    given = _sentences(draw)
    memory = model.encode(given["src"], given["src_mask"])
    return {"encoded": log.of(memory), "reached": _reached(memory, parts)}


def decode(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What `decode` gives, likewise."""
    log, parts, model = _wired(subject, draw)
    given = _sentences(draw)
    memory = given["memory"].clone().requires_grad_()
    out = model.decode(memory, given["src_mask"], given["tgt"], given["tgt_mask"])
    found: dict[str, Value] = {"decoded": log.of(out), "reached": _reached(out, parts)}
    return {**found, "memory_reached": bool(_reached(out, {"memory": memory}))}


def forward(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the parts are kept, and whether `forward` is the subject's own encode, then decode."""
    log, parts, model = _wired(subject, draw)
    kept = [getattr(getattr(model, name, None), "name", None) for name in PARTS]
    given = _sentences(draw)
    src, tgt, src_mask, tgt_mask = (given[n] for n in ("src", "tgt", "src_mask", "tgt_mask"))
    composed = model.decode(model.encode(src, src_mask), src_mask, tgt, tgt_mask)
    out = model(src, tgt, src_mask, tgt_mask)
    text = log.of(out)
    if text == log.of(composed):
        text = "decode(encode(src, src_mask), src_mask, tgt, tgt_mask)"
    return {
        "kept": [str(name) for name in kept],
        "registered": len(list(model.parameters())),
        "forwarded": text,
        "as_far": _reached(out, parts) == _reached(composed, parts),
    }


def _wired(subject: Subject, draw: Draw) -> tuple[Expressions, dict[str, Part], Any]:
    log = Expressions(draw, _WIDTH, _sentences(draw))
    parts = {name: log.part(name, *_CALLED[name]) for name in PARTS}
    return log, parts, as_module(subject.EncoderDecoder(*parts.values()))


def _sentences(draw: Draw) -> dict[str, Tensor]:
    """Two sentences of 7 source and 5 target ids, a mask for each side, and a memory."""
    ids = draw.permutation("ids", 24) + 3
    return {
        "src": ids[:14].view(2, 7),
        "tgt": ids[14:].view(2, 5),
        "src_mask": torch.arange(7) < torch.tensor([7, 4]).view(2, 1, 1),
        "tgt_mask": torch.ones(1, 5, 5, dtype=torch.bool).tril(),
        "memory": draw.normal("memory", 2, 7, _WIDTH),
    }


def _reached(out: Any, parts: dict[str, Any]) -> list[str]:
    """Those of the parts (or tensors) that the output's gradient reaches."""
    if not isinstance(out, Tensor) or not out.requires_grad:
        return []
    weights = [p.weight if isinstance(p, Part) else p for p in parts.values()]
    found = torch.autograd.grad(out.sum(), weights, retain_graph=True, allow_unused=True)
    return [name for name, g in zip(parts, found, strict=True) if g is not None]


# ---------------------------------------------------------------- Generator


def generator_parameters(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many trainable numbers there are."""
    d_model, vocab = _widths(draw)
    generator = as_module(subject.Generator(d_model, vocab))
    generator(draw.normal("dry", 1, 1, d_model))
    return {"count": count(generator.parameters())}


def generator_output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values with the grader's weights: sentences, longer ones, and single tokens as in decoding."""
    d_model, vocab = _widths(draw)
    build = lambda _: subject.Generator(d_model, vocab)  # noqa: E731
    try:
        generator, _ = settle.generator(build, d_model, vocab, subject, draw)
    except Unreadable as e:
        raise Unreadable(e.reason, **e.facts, **_traits(build(0), d_model, draw)) from None
    x = draw.normal("x", 2, 6, d_model)
    kept = x.clone()
    first = see(generator(x))
    return {
        "untouched": torch.equal(x, kept),
        "y": first,
        "longer": see(generator(draw.normal("longer", 3, 9, d_model))),
        "flat": see(generator(draw.normal("flat", 5, d_model))),
    }


def generator_stability(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether very unlikely tokens still have a finite log-probability."""
    d_model, vocab = _widths(draw)
    generator = as_module(subject.Generator(d_model, vocab)).eval()
    y = see(generator(draw.normal("x", 2, 6, d_model, scale=3000.0)))
    return {"finite": bool(y.isfinite().all()) if isinstance(y, Tensor) else y}


def _widths(draw: Draw) -> tuple[int, int]:
    return draw.pick("d_model", (11, 13, 15)), draw.pick("vocab", (21, 23, 26))


def _traits(generator: nn.Module, d_model: int, draw: Draw) -> dict[str, object]:
    """What can be told of a module whose weights cannot be read: they tell the ways apart."""
    x = draw.normal("traits", 2, 6, d_model)
    y, loud = generator.eval()(x).detach(), generator(1000 * x).detach()
    axes = range(y.dim())
    return {
        "sums_to_one": [a for a in axes if torch.allclose(y.sum(a), torch.ones(()), atol=1e-4)],
        "exp_sums_to_one": [
            a for a in axes if torch.allclose(y.exp().sum(a), torch.ones(()), atol=1e-4)
        ],
        "stays_small": bool((loud.amax(-1) - loud.amin(-1) < 1.01).all()),
    }


# ---------------------------------------------------------------- make_model


def model_sizes(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Parameters of each part, heads, and what stands where nothing is given."""
    model = whole_model(subject, draw)
    found: dict[str, Value] = {n: count(getattr(model, n).parameters()) for n in PARTS}
    inside = {id(p) for n in PARTS for p in getattr(model, n).parameters()}
    found["elsewhere"] = count(p for p in model.parameters() if id(p) not in inside)
    _run(model.eval(), draw)
    told = {"heads": heads_of(model), "defaults": defaults_of(subject.make_model)}
    for name, value in told.items():
        if not value:  # it cannot be seen, so it is not asked for
            subject.terms.setdefault("absent", []).append(name)
        found[name] = [] if name in draw.terms.get("absent", ()) else value
    return found


def model_embeddings(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Scale and positions of both embeddings, compared with the pieces that the subject has for them."""
    d_model, model = hyper_parameters(draw)[3], whole_model(subject, draw).eval()
    table = _piece(subject, "Embeddings")(d_model, 7)
    positions = _piece(subject, "PositionalEncoding")(d_model, 0.0).eval()
    asked = positions(torch.zeros(1, 9, d_model))
    found: dict[str, Value] = {}
    for side in ("src", "tgt"):
        embed = getattr(model, f"{side}_embed")
        found[f"{side}_scale"] = scale_of(embed, _ids) / scale_of(table, _ids)
        y = embed(torch.full((1, 9), 5))
        found[f"{side}_positions"] = apart(y - y[:, :1], asked - asked[:, :1])
    return found


def model_separate(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which parts change when another part's parameters do."""
    model = whole_model(subject, draw)
    weights = {n: list(getattr(model, n).parameters()) for n in PARTS}
    pairs = []
    with restored(model), torch.no_grad():
        for i, one in enumerate(PARTS):
            before = {n: vector(weights[n]) for n in PARTS[i + 1 :]}
            for p in weights[one]:
                p.add_(1)
            pairs += [[one, n] for n, v in before.items() if not torch.equal(v, vector(weights[n]))]
    return {"together": pairs}


def model_start(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How the matrices of a fresh model are spread, and what its last norms make of a sentence."""
    model = whole_model(subject, draw).eval()
    starts = {n: start_of(getattr(model, n).parameters()) for n in PARTS}
    found: dict[str, Value] = {f"{n}_spread": s.spread for n, s in starts.items()}
    found |= {f"{n}_reach": s.reach for n, s in starts.items()}
    found["bell"] = max(s.tail for s in starts.values()) > 2.4
    for name, y in zip(("memory", "features"), _run(model, draw), strict=True):
        rows = torch.stack((y.mean(-1).abs().amax(), (y.std(-1) - 1).abs().amax()))
        found[f"{name}_rows"] = rows.mul(4).round() / 4
    return found


def model_layers_differ(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many tensors of 2 or more dims start equal to another one."""
    fresh = [p.detach() for p in whole_model(subject, draw).parameters() if p.dim() > 1]
    equal = [
        any(a.shape == b.shape and torch.equal(a, b) for b in fresh[:i])
        for i, a in enumerate(fresh)
    ]
    return {"equal": sum(equal)}


def model_dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Dropout 0 in training is eval mode; with dropout 1 nothing passes the embeddings and the branches.

    For the first, what attentions multiply their weights with is 0: they drop nothing that shows.
    """
    model = whole_model(subject, draw)
    found: dict[str, Value] = {}
    with restored(model):
        only_feed_forward(model, hyper_parameters(draw)[4])
        asked, seen = _run(model.eval(), draw), _run(model.train(), draw)
        for name, one, two in zip(("encoder", "decoder"), asked, seen, strict=True):
            found[f"{name}_kept"] = torch.allclose(one, two, atol=1e-5)
    every = whole_model(subject, draw, 1.0).train()
    for side in ("src", "tgt"):
        embedded = getattr(every, f"{side}_embed")(_sentences(draw)[side])
        found[f"{side}_embed_dropped"] = not bool(embedded.any())
    for name, y in zip(("encoder", "decoder"), _run(every, draw), strict=True):
        found[f"{name}_dropped"] = torch.allclose(y, y[:1, :1].expand_as(y), atol=1e-5)
    return found


def attention_dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether dropout 0 in training is eval mode, attentions included."""
    model = whole_model(subject, draw)
    asked, seen = _run(model.eval(), draw), _run(model.train(), draw)
    names = ("encoder_quiet", "decoder_quiet")
    return {n: torch.allclose(a, b, atol=1e-5) for n, a, b in zip(names, asked, seen, strict=True)}


@torch.no_grad()
def model_behaviour(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What a translator must and must not depend on, in eval mode."""
    model, given = whole_model(subject, draw).eval(), _sentences(draw)

    def features(**other: Tensor) -> Tensor:
        use = {**given, **other}
        out: Tensor = model(use["src"], use["tgt"], use["src_mask"], use["tgt_mask"])
        return out

    def changes(name: str, row: int, column: int, at: tuple[Any, ...]) -> bool:
        ids = given[name].clone()
        ids[row, column] = 29
        return not torch.allclose(features(**{name: ids})[at], y[at], atol=1e-5)

    y, every = features(), slice(None)
    swapped = given["src"].clone()
    swapped[0, :2] = swapped[0, :2].flip(0)
    return {
        "shapes": [list(y.shape), list(model.generator(y).shape)],
        "repeats": torch.equal(y, features()),
        "sees_source": changes("src", 0, 3, (0,)),
        "sees_padding": changes("src", 1, 6, (1,)),
        "sees_past": changes("tgt", 0, 1, (0, 4)),
        "sees_future": changes("tgt", 0, 4, (0, slice(4))),
        "sees_order": not torch.allclose(features(src=swapped)[0], y[0], atol=1e-5),
        "sees_other_rows": changes("src", 0, 3, (1, every)) or changes("tgt", 0, 1, (1, every)),
    }


_ids = torch.arange(7)[None]


def _run(model: Any, draw: Draw) -> tuple[Tensor, Tensor]:
    given = _sentences(draw)
    return run_stacks(model, given["src"], given["tgt"], given["memory"])


def _piece(subject: Subject, name: str) -> Any:
    """The subject's own piece of an earlier step, or the given one where it does not go by its name."""
    try:
        return getattr(subject, name)
    except Unusable:
        return getattr(importlib.importas_module("transformer_ref"), name)
