"""Probes of step 18: what a beam search finds and at which score, translations, attention maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, apart
from autograder.core.subject import Subject
from autograder.toys.pairs import Side, Sides
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
    found: dict[str, Value] = {}
    cases = (("greedy", (), "a d"), ("cut", (2, 1), "a"), ("beam", (9, 3), "b g"))
    for name, more, right in cases:
        table, (source, target) = _bilingual(draw, ASTRAY)
        ends = (source.pipeline, source.vocabulary, target.vocabulary)
        said = subject.translate(table, source.texts[0], *ends, *more)
        found[name] = _as_found(subject, said, table, target, *(more or (72, 1)), right)
        found["read"] = source.sentence(table.sources[0].flatten().tolist())
        found["all_visible"] = _all_visible(table, source)
    table, (source, target) = _bilingual(draw, SPECIALS_SAID)
    ends = (source.pipeline, source.vocabulary, target.vocabulary)
    said = subject.translate(table, "", *ends)
    found["unknown_left_out"] = _as_found(subject, said, table, target, 72, 1, "a a")
    found["read_empty"] = source.sentence(table.sources[0].flatten().tolist())
    table, _ = _bilingual(draw, ASTRAY)
    # No vocabulary has the second word, and the first has the id 0.
    rare = source.joint.join((source.vocabulary.tokens([0])[0], "qoq"))
    subject.translate(table, rare, *ends)
    found["read_rare"] = source.sentence(table.sources[0].flatten().tolist())
    found["rare_visible"] = _all_visible(table, source)
    return found


def _all_visible(table: Table, source: Side) -> bool:
    """Whether the mask hides nothing of the first sentence that was read, but for padding."""
    read, mask = table.sources[0], table.masks[0]
    word = read.flatten() != source.vocabulary["<blank>"]
    if mask is None:
        return bool(word.all())
    fits = mask.numel() == mask.size(-1) == read.size(-1)
    return fits and torch.equal(mask.flatten() != 0, word)


def translate_mode(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The model's mode while it translates, and afterwards; and whether gradients are kept."""
    found: dict[str, Value] = {}
    for name, training in (("training", True), ("evaluating", False)):
        table, (source, target) = _bilingual(draw, ASTRAY)
        table.train(training)
        subject.translate(
            table, source.texts[0], source.pipeline, source.vocabulary, target.vocabulary
        )
        found[f"{name}_inside"] = any(mode for _, mode, _ in table.calls)
        found[f"{name}_after"] = table.training
        found["gradients"] = any(gradients for *_, gradients in table.calls)
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
    found: dict[str, Value] = {"training_after": model.training}
    model.eval()
    again = subject.attention_maps(model, *given)
    found["evaluating_after"] = model.training
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


def _bilingual(draw: Draw, tree: Tree) -> tuple[Table, tuple[Side, Side]]:
    """A model that says words of the second language, and both languages."""
    source, target = Sides(draw, "translate", [(4, 12), (12, 4)], usual=False).both
    own = target.pipeline(target.texts[0])
    ids = {letter: target.vocabulary[word] for letter, word in zip("abcdefgh", own, strict=False)}
    ids |= {special: target.vocabulary[special] for special in ("<unk>", "<blank>")}
    start, end = target.vocabulary["<s>"], target.vocabulary["</s>"]
    table = Table(draw, start, end, tree, ids, len(target.vocabulary))
    return table.eval(), (source, target)


def _as_found(
    subject: Subject, said: Any, table: Table, target: Side, max_len: int, beam: int, right: str
) -> Value:
    """What was said; what the subject's own search finds counts as right, whatever it is."""
    words = [target.vocabulary.tokens([table.ids[letter]])[0] for letter in right.split()]
    try:
        src, mask = table.sources[-1], torch.ones(1, 1, table.sources[-1].size(1)) > 0
        start, end = target.vocabulary["<s>"], target.vocabulary["</s>"]
        found = _pairs(subject.beam_search(table, src, mask, max_len, start, end, beam))
        own = target.words([i for i in found[0][0] if i != target.vocabulary["<unk>"]])
    except Exception:  # the search is looked at elsewhere
        own = None
    asked = " ".join(words)
    return asked if said == own else said if isinstance(said, str) else Odd(type(said).__name__)
