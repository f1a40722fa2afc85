"""Probes of step 09: how the whole model is wired, put together and started, whoever wrote it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Value, apart, see
from autograder.core.subject import Subject, Unreadable, Unusable
from autograder.weights import settle
from autograder.weights.generator import traits
from autograder.weights.start import equal_starts, start_of
from autograder.wiring.frame import forwards_unmasked, reached, sentences, told, wired
from autograder.wiring.whole import (
    PARTS,
    WIDTH,
    as_module,
    biases_beyond,
    count,
    defaults_of,
    heads_of,
    hyper_parameters,
    only_feed_forward,
    redraw,
    restored,
    run_stacks,
    scale_of,
    share_of_zeros,
    small_model,
    two_models,
    vector,
    whole_model,
)

_LONG = 600  # tokens: tables of positions are long enough by themselves


def encode(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What `encode` gives, as an expression, and which parts its gradient reaches."""
    log, parts, model = wired(subject, draw)
    given = sentences(draw)
    memory = model.encode(given["src"], given["src_mask"])
    found: dict[str, Value] = {"encoded": log.of(memory), "reached": reached(memory, parts)}
    return {**found, "unmasked": told(lambda: log.of(model.encode(given["src"], None)))}


def decode(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What `decode` gives, likewise."""
    log, parts, model = wired(subject, draw)
    given = sentences(draw)
    memory = given["memory"].clone().requires_grad_()
    out = model.decode(memory, given["src_mask"], given["tgt"], given["tgt_mask"])
    found: dict[str, Value] = {"decoded": log.of(out), "reached": reached(out, parts)}
    found["memory_reached"] = bool(reached(out, {"memory": memory}))
    words = given["tgt"]
    return {**found, "unmasked": told(lambda: log.of(model.decode(memory, None, words, None)))}


def forward(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the parts are kept, and what `forward` gives: the subject's own encode and decode?"""
    log, parts, model = wired(subject, draw)
    given = sentences(draw)
    src, tgt, *masks = (given[n] for n in ("src", "tgt", "src_mask", "tgt_mask"))
    composed = model.decode(model.encode(src, masks[0]), masks[0], tgt, masks[1])
    out = model(src, tgt, *masks)
    text = log.of(out)
    joined = "decoder(tgt_embed(tgt), encoder(src_embed(src), src_mask), src_mask, tgt_mask)"
    if text in (log.of(composed), joined):  # `encode` and `decode` need not be called for it
        text = "decode(encode(src, src_mask), src_mask, tgt, tgt_mask)"
    return {
        "kept": [str(getattr(getattr(model, name, None), "given", None)) for name in PARTS],
        "registered": len(list(model.parameters())),
        "forwarded": text,
        "unmasked": forwards_unmasked(log, model, src, tgt),
        "as_far": set(reached(out, parts)) >= set(reached(composed, parts)),
    }


def generator_parameters(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many trainable numbers there are."""
    d_model, vocab = _widths(draw)
    generator = as_module(subject.Generator(d_model, vocab))
    generator(draw.normal("dry", 1, 1, d_model))
    return {"count": count(generator.parameters())}


def generator_output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values with the grader's weights: sentences, longer ones, single tokens as in decoding."""
    d_model, vocab = _widths(draw)

    def build(_: float) -> Any:
        return subject.Generator(d_model, vocab)

    try:
        generator, _ = settle.generator(build, d_model, vocab, subject, draw)
    except Unreadable as e:
        raise Unreadable(e.reason, **e.facts, **traits(build(0.0), d_model, draw)) from None
    x = draw.normal("x", 2, 6, d_model)
    kept = x.clone()
    first = see(generator(x))
    return {
        "untouched": torch.equal(x, kept),
        "y": first,
        "longer": see(generator(draw.normal("longer", 3, 9, d_model))),
        "flat": see(generator(draw.normal("flat", 5, d_model))),
        "trained": see(generator.train()(x)),
    }


def generator_stability(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether very unlikely tokens still have a finite log-probability."""
    d_model, vocab = _widths(draw)
    generator = as_module(subject.Generator(d_model, vocab)).eval()
    y = see(generator(draw.normal("x", 2, 6, d_model, scale=3000.0)))
    if not isinstance(y, Tensor):
        return {"infinite": y, "nan": y}
    return {"infinite": bool(y.isinf().any()), "nan": bool(y.isnan().any())}


def _widths(draw: Draw) -> tuple[int, int]:
    return draw.pick("d_model", (11, 13, 15)), draw.pick("vocab", (21, 23, 26))


def model_sizes(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Parameters of each part, heads, and what stands where nothing is given."""
    model = whole_model(subject, draw)
    found: dict[str, Value] = {n: count(getattr(model, n).parameters()) for n in PARTS}
    inside = {id(p) for n in PARTS for p in getattr(model, n).parameters()}
    found["elsewhere"] = count(p for p in model.parameters() if id(p) not in inside)
    _run(model.eval(), draw)
    found["other_heads"] = [n for n in heads_of(model) if n != hyper_parameters(draw)[5]]
    found["defaults"] = defaults_of(subject.make_model)
    small = small_model(subject)
    found["others"] = [count(getattr(small, n).parameters()) for n in PARTS]
    return found


def model_embeddings(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Scale and positions of both embeddings, compared with the subject's pieces for them."""
    d_model, model = hyper_parameters(draw)[3], whole_model(subject, draw).eval()
    table = _piece(subject, "Embeddings")(d_model, 7)
    positions = _piece(subject, "PositionalEncoding")(d_model, 0.0).eval()
    asked = positions(torch.zeros(1, _LONG, d_model))
    found: dict[str, Value] = {}
    for side in ("src", "tgt"):
        embed = getattr(model, f"{side}_embed")
        found[f"{side}_scale"] = scale_of(embed) / scale_of(table)
        y = embed(torch.full((1, _LONG), 5))
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
    first = {id(p) for p in model.parameters()}
    others = two_models(subject, draw)[1:]
    twice = [n for n in PARTS for m in others if _among(getattr(m, n).parameters(), first)]
    return {"together": pairs, "across": twice}


def model_start(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How the matrices of a fresh model are spread, and what its last norms make of a sentence."""
    model = whole_model(subject, draw).eval()
    starts = {n: start_of(getattr(model, n).parameters()) for n in PARTS}
    found: dict[str, Value] = {f"{n}_spread": s.spread for n, s in starts.items()}
    found |= {f"{n}_reach": s.reach for n, s in starts.items()}
    found["bell"] = max(s.tail for s in starts.values()) > 2.4
    found["repeated"] = _start_alike(*two_models(subject, draw))
    for name, y in zip(("encoder", "decoder"), _run(model, draw), strict=True):
        off = torch.maximum(y.mean(-1).abs(), (y.std(-1) - 1).abs())
        found[f"{name}_rows"] = bool((off < 0.25).all())
    untouched = found["encoder_rows"] and found["decoder_rows"]  # else it has been told already
    found["biases"] = bool(untouched) and biases_beyond(model)
    return found


def _among(parameters: Iterable[Tensor], known: set[int]) -> bool:
    return any(id(p) in known for p in parameters)


def _start_alike(one: Any, two: Any = None) -> bool:
    """Whether all matrices of two models are equal."""
    if two is None:
        return False
    pairs = zip(one.parameters(), two.parameters(), strict=False)
    return all(torch.equal(p, q) for p, q in pairs if p.dim() > 1)


def model_layers_differ(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many tensors of 2 or more dims start equal to another one."""
    return {"equal": equal_starts(whole_model(subject, draw).parameters())}


def model_dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is dropped in training, with dropout 0 and with dropout 1.

    Of the embeddings the share that is 0 is told. With 0 the stacks are as in eval mode: what
    attentions multiply their weights with is 0, so they drop nothing that shows. With 1 no branch
    adds anything to what goes in, which is 0.
    """
    found: dict[str, Value] = {}
    none, every = whole_model(subject, draw), whole_model(subject, draw, 1.0)
    with restored(none), restored(every):
        for p, model in ((0, none), (1, every)):
            redraw(model)
            for side in ("src", "tgt"):
                share = share_of_zeros(getattr(model, f"{side}_embed"), sentences(draw)[side])
                found[f"{side}_embed_at_{p}"] = str(p) if share is None else share
        only_feed_forward(none, hyper_parameters(draw)[4])
        asked, seen = _run(none.eval(), draw), _run(none.train(), draw)
        empty = _run(every.train(), draw, 0.0)
    for name, one, two, y in zip(("encoder", "decoder"), asked, seen, empty, strict=True):
        found[f"{name}_kept"] = torch.allclose(one, two, atol=1e-5)
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
    """What the parts together must and must not depend on, in eval mode."""
    model, given = whole_model(subject, draw).eval(), sentences(draw)

    def features(**other: Tensor) -> Tensor:
        use = {**given, **other}
        memory = model.encoder(model.src_embed(use["src"]), given["src_mask"])
        words, masks = model.tgt_embed(use["tgt"]), (given["src_mask"], given["tgt_mask"])
        out: Tensor = model.decoder(words, memory, *masks)
        return out

    def other(name: str, row: int, column: int) -> Tensor:
        ids = given[name].clone()
        ids[row, column] = 29
        return features(**{name: ids})

    y = features()
    places = (("src", 0, 3), ("src", 1, 6), ("tgt", 0, 1), ("tgt", 0, 4))
    word, pad, past, last = (other(*at) for at in places)
    swapped = features(src=given["src"][:, [1, 0, 2, 3, 4, 5, 6]])

    def moved(seen: Tensor, *at: Any) -> bool:
        return not torch.allclose(seen[at], y[at], atol=1e-5)

    return {
        "shapes": [list(y.shape), list(model.generator(y).shape)],
        "repeats": torch.equal(y, features()),
        "sees_source": moved(word, 0),
        "sees_padding": moved(pad, 1),
        "sees_past": moved(past, 0, 4),
        "sees_future": moved(last, 0, slice(4)),
        "sees_order": moved(swapped, 0),
        "sees_other_rows": moved(word, 1) or moved(past, 1),
    }


def _run(model: Any, draw: Draw, size: float = 1.0) -> tuple[Tensor, Tensor]:
    """Encoder and decoder on vectors of that size; what is embedded plays no part."""
    vectors = (draw.normal(f"run/{n}", 2, n, WIDTH) for n in (7, 5, 7))
    return run_stacks(model, *(v * size for v in vectors))


def _piece(subject: Subject, name: str) -> Any:
    """The subject's own piece of an earlier step; the given one where it has another name."""
    try:
        return getattr(subject, name)
    except Unusable:
        return getattr(importlib.import_module("transformer_ref"), name)
