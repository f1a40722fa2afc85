"""Probes of step 18: what a beam search finds and at which score, translations, attention maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, apart
from autograder.core.subject import Subject
from autograder.toys.bilingual import Bilingual
from autograder.toys.small import last_outputs, small_model
from autograder.toys.table import Table, Tree
from autograder.toys.translator import PAD, Translator, vocab_size
from autograder.toys.trees import (
    ASTRAY,
    AT_ONCE,
    CLEAR,
    CROWDED,
    FOUR,
    LATE,
    MARKS_SAID,
    OVERTAKEN,
    SHORT,
    SPECIALS_SAID,
    WORSE_FIRST,
)

_SCORES = ("log_p", "default", "whole")


def beam_one(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What a beam of one finds: sentences that end, one that is cut, one whose end just fits."""
    found: dict[str, Value] = {}
    for name, first, max_len in (("short", 4, 9), ("long", 7, 13), ("cut", 5, 3), ("fits", 6, 6)):
        found[name] = _greedy(subject, draw, name, first, max_len)
    _, search = _search(subject, draw, CLEAR, 4)
    return {**found, "unfinished": _first(search(1, 0.0))[1]}


def best(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The best hypothesis of small trees, by log p alone."""
    found: dict[str, Value] = {}
    for name, tree, beam in (("two", ASTRAY, 2), ("four", ASTRAY, 4), ("late", LATE, 3)):
        found[name] = _best(subject, draw, tree, beam, 0.0)
    return found


def score(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The score of a sentence that every search finds, for several alpha."""
    found: dict[str, Value] = {}
    for name, alpha in zip(_SCORES, ((3, 0.0), (3,), (3, 1.0)), strict=True):
        table, search = _search(subject, draw, CLEAR, 8)
        ids, value = _first(search(*alpha))
        found[f"{name}_ids"] = table.told(ids)
        found[name] = value
    return found


def finished(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The best hypothesis where sentences end at different times."""
    table, search = _search(subject, draw, OVERTAKEN, 13)
    pairs = search(2, 0.6)
    cut = _search(subject, draw, OVERTAKEN, 6)[1](2, 0.6)
    return {
        "at_once": _best(subject, draw, AT_ONCE, 3, 0.0),
        "waits": _best(subject, draw, SHORT, 3, 0.0),
        "goes_on": _best(subject, draw, WORSE_FIRST, 3, 0.0),
        "overtaken": table.told(_first(pairs)[0]),
        "both": sorted(table.told(ids) for ids, _ in pairs),
        "unfinished_ahead": [table.told(ids).removesuffix(" .") for ids, _ in cut],
        "crowded": _best(subject, draw, CROWDED, 2, 1.0),
    }


def several(subject: Subject, draw: Draw) -> dict[str, Value]:
    """All hypotheses of a search that loses none, and how many a narrower one gives."""
    table, search = _search(subject, draw, FOUR, 7)
    pairs = search(4, 0.6)
    scores = [value for _, value in pairs]
    return {
        "all": [table.told(ids) for ids, _ in pairs],
        "best_first": scores == sorted(scores, reverse=True),
        "begins": [table.said(ids[:1]) for ids, _ in pairs] == ["^"] * len(pairs),
        "of_two": len(search(2, 0.6)),
        "by_default": len(search()),
    }


def masks(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is found where hidden source positions, or future ones, make a difference."""
    return {heeds: _greedy(subject, draw, heeds, 7, 11, (heeds,)) for heeds in ("source", "target")}


def encodes_once(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the source is read more than once, and whether gradients are kept."""
    table, search = _search(subject, draw, LATE, 9)
    search(3, 0.6)
    return {
        "again": [door for door, *_ in table.calls].count("encode") > 1,
        "gradients": any(gradients for *_, gradients in table.calls),
    }


def words(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is read of sentences, and what is said."""
    greedy, cut, beam, rare = (Bilingual(draw, ASTRAY) for _ in range(4))
    trees = (OVERTAKEN, MARKS_SAID, SPECIALS_SAID)
    long, marks, empty = (Bilingual(draw, tree) for tree in trees)
    # No vocabulary has the second word, and the first has the id 0.
    unknown = rare.source.joint.join((rare.source.vocabulary.tokens([0])[0], "qoq"))
    found: dict[str, Value] = {
        "greedy": greedy.as_found(subject, "a d"),
        "cut": cut.as_found(subject, "a", 2, 1),
        "beam": beam.as_found(subject, "b g", 9, 3),
        "overtaking": long.as_found(subject, "b c d e f g h i j", 13, 2),
        "marks": marks.as_found(subject, "a , < b"),
        "unknown_left_out": empty.as_found(subject, "a a", sentence=""),
    }
    rare.translate(subject, sentence=unknown)
    return {
        **found,
        "read": greedy.read(),
        "read_cut": cut.read(),
        "read_empty": empty.read(),
        "read_rare": rare.read(),
        "all_visible": greedy.all_visible(),
        "rare_visible": rare.all_visible(),
    }


def translate_mode(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The model's mode while it translates, and afterwards; and whether gradients are kept."""
    found: dict[str, Value] = {}
    for name, training in (("training", True), ("evaluating", False)):
        toy = Bilingual(draw, ASTRAY)
        toy.table.train(training)
        toy.translate(subject)
        found[f"{name}_inside"] = any(mode for _, mode, _ in toy.table.calls)
        found[f"{name}_after"] = toy.table.training
        found[f"{name}_parts_after"] = toy.table.part.training
        found["gradients"] = any(gradients for *_, gradients in toy.table.calls)
    return found


def maps(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The maps, held against what the model's attentions keep when they are asked again.

    They are those of a second call: the first was about the same words backwards.
    """
    model, given = small_model(draw)
    model.eval()
    src, src_mask, tgt, tgt_mask = given
    subject.attention_maps(model, src.flip(1), src_mask, tgt.flip(1), tgt_mask)
    found = subject.attention_maps(model, *given)
    return _held_against(found, model.eval(), given)


def maps_mode(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Maps of a model that was training, and its mode afterwards."""
    model, given = small_model(draw)
    model.train()
    maps = subject.attention_maps(model, *given)
    found: dict[str, Value] = {
        "training_after": model.training,
        "training_parts_after": all(part.training for part in model.modules()),
    }
    model.eval()
    again = subject.attention_maps(model, *given)
    found["evaluating_after"] = model.training
    found["evaluating_parts_after"] = any(part.training for part in model.modules())
    largest = 0.0
    for name in again:
        gap = apart(maps[name], again[name])
        if not isinstance(gap, Tensor):
            return {**found, "apart": gap}
        largest = max(largest, gap.abs().max().item())
    return {**found, "apart": largest}


def maps_gradients(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether a graph was built for the maps, or is still attached to them."""
    model, given = small_model(draw)
    model.eval()
    with last_outputs(model) as made:
        maps = subject.attention_maps(model, *given)
    # What the maps are is another check's matter.
    made += maps.values() if isinstance(maps, dict) else []
    return {"gradients": any(getattr(part, "requires_grad", False) for part in made)}


def _held_against(found: Any, model: Any, given: tuple[Tensor, ...]) -> dict[str, Value]:
    if not isinstance(found, dict):
        return {"names": Odd(type(found).__qualname__)}
    seen: dict[str, Value] = {"names": sorted(map(str, found))}
    with torch.no_grad():
        model(given[0], given[2], given[1], given[3])
    layers = model.encoder.layers, model.decoder.layers
    kept = {
        "encoder": [layer.self_attn.attn[0] for layer in layers[0]],
        "decoder_self": [layer.self_attn.attn[0] for layer in layers[1]],
        "decoder_src": [layer.src_attn.attn[0] for layer in layers[1]],
    }
    for name, weights in kept.items():
        seen[name] = apart(found[name], torch.stack(weights)) if name in found else None
    return seen


def _greedy(
    subject: Subject,
    draw: Draw,
    name: str,
    first: int,
    max_len: int,
    heeds: tuple[str, ...] = (),
) -> Value:
    """What a beam of one finds in a model that decodes by arithmetic; symbols by name.

    `first` is the first id of the source: it says how long the sentence is.
    """
    start, end = (draw.permutation("symbols", 8)[:2] + 20).tolist()
    rest = draw.permutation(f"source/{name}", vocab_size(draw) - 4)[:4] + 4
    src = torch.cat([torch.tensor([first]), rest, torch.tensor([PAD, PAD])]).view(1, 7)
    model = Translator(draw, start, end, heeds).eval()
    mask = (src != PAD).unsqueeze(1)
    pairs = _pairs(subject.beam_search(model, src, mask, max_len, start, end, 1, 0.6))
    if len(pairs) != 1:
        return f"{len(pairs)} hypotheses"
    ids = pairs[0][0]
    ids = ids[1:] if ids[:1] == [start] else ids
    return ["end" if i == end else i for i in ids]


def _pairs(found: Any) -> list[tuple[list[int], float]]:
    """The pairs of ids and score as plain numbers."""
    return [([int(i) for i in ids], float(value)) for ids, value in found]


def _first(pairs: list[tuple[list[int], float]]) -> tuple[list[int], float]:
    """The first pair; an empty hypothesis where there is none."""
    return pairs[0] if pairs else ([], 0.0)


def _search(
    subject: Subject, draw: Draw, tree: Tree, max_len: int
) -> tuple[Table, Callable[..., list[tuple[list[int], float]]]]:
    """A model of that tree, and a search in it, of which beam and alpha are open."""
    start, end = (draw.permutation("symbols", 19)[:2]).tolist()
    table = Table(draw, start, end, tree).eval()
    src, mask = torch.tensor([[3, 7, 5]]), torch.ones(1, 1, 3, dtype=torch.bool)

    def search(*beam_and_alpha: float) -> list[tuple[list[int], float]]:
        found = subject.beam_search(table, src, mask, max_len, start, end, *beam_and_alpha)
        return _pairs(found)

    return table, search


def _best(subject: Subject, draw: Draw, tree: Tree, beam: int, alpha: float) -> str:
    """The best hypothesis in the tree's letters."""
    table, search = _search(subject, draw, tree, 13)
    return table.told(_first(search(beam, alpha))[0])
