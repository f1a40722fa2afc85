"""Step 10: decoders written in many ways, right and wrong, graded as a learner's file would be."""

from __future__ import annotations

import pytest
import torch

from autograder.core.draw import Draw
from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from autograder.toys.translator import PAD, Translator, length_of
from tests.steps import harness, inference_builds
from tests.steps.harness import failed, named

STEP = find_step(10)
BUILDS: dict[str, str] = inference_builds.BUILDS
HONEST: dict[str, str] = inference_builds.HONEST
SOLUTION = STEP.solution.read_text(encoding="utf-8")

# By mistake: an edit (find, replace, find, replace ...) of each build; None, where it has no place.
PLANTED: dict[str, tuple[tuple[str, ...] | None, ...]] = {
    "only-last-token-fed": (
        ("src_mask, ys, mask", "src_mask, ys[:, -1:], mask[:, -1:, -1:]"),
        ("src_mask, ids, mask))[:, n - 1", "src_mask, ids[:, -1:], mask[:, :1, :1]))[:, 0"),
        (
            "out[:, :t], causal[:, :t, :t])",
            "out[:, t - 1 : t], causal[:, :1, :1])",
            "[:, t - 1])",
            "[:, 0])",
        ),
    ),
    "first-position-read": (
        ("out[:, -1]", "out[:, 0]"),
        ("[:, n - 1, :]", "[:, 0, :]"),
        ("[:, t - 1]", "[:, 0]"),
    ),
    "position-before-last-read": (
        ("out[:, -1]", "out[:, max(i - 1, 0)]"),
        ("[:, n - 1, :]", "[:, -2 if n > 1 else -1]"),
        ("[:, t - 1]", "[:, max(t - 2, 0)]"),
    ),
    "generator-skipped": (
        ("model.generator(out[:, -1])", "out[:, -1]"),
        (
            "model.generator(model.decode(memory, src_mask, ids, mask))",
            "model.decode(memory, src_mask, ids, mask)",
        ),
        ("model.generator(feats[:, t - 1])", "feats[:, t - 1]"),
    ),
    "least-likely-taken": (
        ("torch.max(", "torch.min("),
        ("topk(1)", "topk(1, largest=False)"),
        (".max(-1)", ".min(-1)"),
    ),
    "word-not-said-twice": (
        ("model.generator(out[:, -1])", "model.generator(out[:, -1]).scatter(1, ys, -99.0)"),
        ("[:, n - 1, :]", "[:, n - 1, :].scatter(1, ids, -99.0)"),
        (".max(-1)", ".scatter(1, out[:, :t], -99.0).max(-1)"),
    ),
    "token-drawn": (
        (
            "_, next_word = torch.max(prob, dim=1)",
            "next_word = torch.multinomial(torch.exp(prob), num_samples=1)[:, 0]",
        ),
        (
            "logp.topk(1).indices.squeeze(-1)",
            "torch.distributions.Categorical(logits=logp).sample()",
        ),
        None,
    ),
    "end-without-default": (
        ("end_symbol=None", "end_symbol"),
        ("end_symbol=None", "end_symbol"),
        ("end_symbol=None", "end_symbol"),
    ),
    "end-forced": (
        (
            "    return ys",
            "    if len(ys[0]) == max_len > 1 and end_symbol is not None:\n"
            "        ys[:, -1] = end_symbol\n    return ys",
        ),
        (
            "if i in open_rows",
            "if i in open_rows and (end_symbol is None or n < max_len - 1)",
        ),
        None,
    ),
    "train-mode": (
        ("    with torch.no", "    model.train()\n    with torch.no"),
        ("    rows =", "    model.train(True)\n    rows ="),
        ("    stop =", "    model.train()\n    stop ="),
    ),
    "start-missing": (
        ("return ys", "return ys[:, 1:]"),
        None,
        ("return out[:, :t]", "return out[:, 1:t]"),
    ),
    "start-zero": (
        (".fill_(start_symbol)", ""),
        ("[[start_symbol]", "[[0]"),
        ("out[:, 0] = start_symbol", "out[:, 0] = 0"),
    ),
    "start-one": (
        (".fill_(start_symbol)", ".fill_(1)"),
        ("[[start_symbol]", "[[1]"),
        ("out[:, 0] = start_symbol", "out[:, 0] = 1"),
    ),
    "ids-as-float": (
        (".type_as(src.data)\n        done", "\n        done"),
        (
            "torch.tensor(rows)\n ",
            "torch.tensor(rows)\n ",
            "return torch.tensor(rows)",
            "return torch.tensor(rows).float()",
        ),
        (
            "src.new_full((len(src), max_len), filler)",
            "torch.full((len(src), max_len), float(filler))",
            "torch.tensor(filler)",
            "float(filler)",
        ),
    ),
    "one-token-too-many": (
        ("max_len - 1", "max_len"),
        ("< max_len", "<= max_len"),
        ("    stop =", "    max_len += 1\n    stop ="),
    ),
    "one-token-too-few": (
        ("max_len - 1", "max_len - 2"),
        ("< max_len", "< max_len - 1"),
        ("while t < max_len:", "while t < max_len - 1:"),
    ),
    "first-row-for-all": (
        ("torch.max(prob, dim=1)", "torch.max(prob[:1].expand_as(prob), dim=1)"),
        ("chosen[i]", "chosen[0]"),
        (".max(-1)[1]", ".max(-1)[1][0].expand(len(src))"),
    ),
    "first-token-never-ends": (
        ("elif end_symbol is not None", "elif i > 0 and end_symbol is not None"),
        ("if end_symbol is not None and", "if end_symbol is not None and n > 1 and"),
        ("(best != end_symbol)", "((best != end_symbol) | (t == 2))"),
    ),
    "never-stops": (
        ("if all(done):", "if max_len < 0:"),
        ("while open_rows and", "while"),
        ("if not alive.any():", "if False:"),
    ),
    "end-ignored": (
        ("    with torch.no", "    end_symbol = None\n    with torch.no"),
        ("    memory =", "    end_symbol = None\n    memory ="),
        ("stop = end_symbol is not None", "stop = False"),
    ),
    "end-zero-taken-for-none": (
        ("end_symbol is not None and word", "end_symbol and word"),
        ("end_symbol is not None and row", "end_symbol and row"),
        ("stop = end_symbol is not None", "stop = bool(end_symbol)"),
    ),
    "ended-rows-go-on": (
        ("next_word[row] = end_symbol", "pass"),
        (" if i in open_rows else end_symbol", ""),
        ("torch.where(alive, best, torch.tensor(filler))", "best"),
    ),
    "ends-in-one-step-only": (
        (
            "if done[row]:\n                    next_word[row] = end_symbol\n                elif",
            "done[row] = False\n                if",
        ),
        (
            "        for i, row",
            "        open_rows = set(range(len(rows)))\n        for i, row",
        ),
        ("torch.where(alive, best, torch.tensor(filler))", "best", "alive & (", "("),
    ),
    "stops-with-the-first": (
        ("all(done)", "any(done)"),
        ("while open_rows and", "while len(open_rows) == len(rows) and"),
        ("not alive.any()", "not alive.all()"),
    ),
    "stops-with-the-first-row": (
        ("all(done)", "done[0]"),
        ("while open_rows and", "while 0 in open_rows and"),
        ("not alive.any()", "not alive[0]"),
    ),
    "filled-with-zeros": (
        ("next_word[row] = end_symbol", "next_word[row] = 0"),
        ("else end_symbol", "else 0"),
        ("else 0", "else 0", "= end_symbol if stop", "= 0 if stop"),
    ),
    "causal-mask-missing": (
        ("src_mask, ys, mask", "src_mask, ys, torch.ones_like(mask)"),
        ("ids, mask)", "ids, None)"),
        (".tril()", ""),
    ),
    "causal-mask-inverted": (
        ("src_mask, ys, mask", "src_mask, ys, 1 - mask"),
        (" == 0)", " == 1)"),
        (".tril()", ".triu(1)"),
    ),
    "causal-mask-turned": (
        ("src_mask, ys, mask", "src_mask, ys, mask.transpose(1, 2)"),
        ("torch.triu(torch.ones(1, n, n), 1)", "torch.tril(torch.ones(1, n, n), -1)"),
        (".tril()", ".triu()"),
    ),
    "diagonal-hidden": (
        ("subsequent_mask(ys.size(1))", "subsequent_mask(ys.size(1)).tril(-1)"),
        ("torch.ones(1, n, n), 1)", "torch.ones(1, n, n))"),
        (".tril()", ".tril(-1)"),
    ),
    "encode-without-mask": (("encode(src, src_mask)", "encode(src, None)"),) * 3,
    "decode-without-source-mask": (
        ("memory, src_mask,", "memory, None,"),
        ("memory, src_mask,", "memory, torch.ones_like(src_mask),"),
        ("memory, src_mask,", "memory, None,"),
    ),
    "encoded-in-every-step": (
        ("decode(memory", "decode(model.encode(src, src_mask)"),
        ("decode(memory", "decode(model.encode(src, src_mask)"),
        ("decode(memory", "decode(model.encode(src, src_mask)"),
    ),
    "gradients-recorded": (
        ("with torch.no_grad():", "if src is not None:"),
        ("@torch.inference_mode()\n", ""),
        ("with torch.no_grad():", "with torch.enable_grad():"),
    ),
    "mode-changed": (("encode(src, src_mask)", "eval().encode(src, src_mask)"),) * 3,
}
CASES = [
    pytest.param(
        slug,
        build,
        edit,
        id=f"{slug}-{build}",
        marks=[pytest.mark.slow] if build == "buffer" else [],
    )
    for slug, edits in PLANTED.items()
    for build, edit in zip(BUILDS, edits, strict=True)
    if edit
]


def graded(text: str, seed: int = 3) -> Verdict:
    return harness.graded(STEP, text, seed)


def edited(text: str, edit: tuple[str, ...]) -> str:
    for find, replace in zip(edit[::2], edit[1::2], strict=True):
        assert text.count(find) == 1, (find, text.count(find))
        text = text.replace(find, replace)
    return text


@pytest.mark.parametrize("name", HONEST)
def test_right_decoders_get_full_marks(name: str) -> None:
    verdict = graded(HONEST[name])
    assert failed(verdict) == set(), verdict
    remarks = {"13.5 the model called as a whole": {"encodes_once"}}
    assert failed(verdict, advice=True) == remarks.get(name, set())


def test_the_published_decoder_loses_its_named_faults_only() -> None:
    verdict = graded(inference_builds.PUBLISHED)
    assert failed(verdict) == {"batch", "filled", "stops"}
    assert named(verdict) == {"first-sentence-only", "end-parameter-missing", "gradients-recorded"}
    assert verdict.points == 6


@pytest.mark.parametrize(("slug", "build", "edit"), CASES)
def test_a_planted_mistake_is_named_and_nothing_else_is(
    slug: str, build: str, edit: tuple[str, ...]
) -> None:
    verdict = graded(edited(BUILDS[build], edit))
    assert named(verdict) == {slug}, verdict
    assert verdict.passed == bool(STEP.misconception(slug).advice)


# Edits of the solution that no entry of the catalogue knows, and the checks that they cost.
DECODE = "features = model.decode(memory, src_mask, ys, tgt_mask)"
UNKNOWN: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "the second best": (
        ("log_probs.argmax(dim=-1)", "log_probs.topk(2).indices[:, 1]"),
        {"tokens"},
    ),
    "drawn at random": (
        ("log_probs.argmax(dim=-1)", "torch.multinomial((log_probs / 3).exp(), 1)[:, 0]"),
        {"tokens", "batch", "causal", "source_mask"},
    ),
    "best over the batch": (
        ("log_probs.argmax(dim=-1)", "log_probs.argmax(dim=0)[: src.size(0)]"),
        {"tokens", "batch"},
    ),
    "no more than seven": (
        ("range(max_len - 1)", "range(min(max_len - 1, 6))"),
        {"tokens", "length"},
    ),
    "first source mask for all": (
        ("with torch.no_grad():", "src_mask = src_mask[:1]\n    with torch.no_grad():"),
        {"batch"},
    ),
    "first memory for all": (
        ("rows = src.size(0)", "rows = src.size(0)\n        memory = memory[:1].expand_as(memory)"),
        {"batch"},
    ),
    "a window of three": ((DECODE, DECODE.replace("tgt_mask", "tgt_mask.triu(-2)")), {"causal"}),
    "the first word is hidden": (
        (DECODE, DECODE.replace("tgt_mask", "tgt_mask & (torch.arange(ys.size(1)) > 0)")),
        {"causal"},
    ),
    "masks swapped": (
        (DECODE, "features = model.decode(memory, tgt_mask, ys, src_mask)"),
        {"causal", "source_mask", "batch"},
    ),
    "no batch of one": (
        ("rows = src.size(0)", "rows = src.squeeze().size(0)"),
        {"tokens", "batch"},
    ),
    "a list of ids": (("return ys", "return ys.tolist()"), {"form"}),
    "a sentence of its own": (("return ys", "return ys[:, :1]"), {"tokens", "length", "stops"}),
    "the end where it is cut off, and one token more": (
        ("range(max_len - 1)", "range(max_len - 1 + (end_symbol is not None))"),
        {"stops"},
    ),
    "an end symbol where none is given": (
        (
            "    memory =",
            "    end_symbol = 2 if end_symbol is None else end_symbol\n        memory =",
        ),
        {"tokens", "length"},
    ),
    "sharper than the model": (
        ("log_probs.argmax(dim=-1)", "torch.multinomial((log_probs * 2).exp(), 1)[:, 0]"),
        {"tokens", "batch", "causal", "source_mask"},
    ),
    "the ids and more": (("return ys", "return ys, ended"), {"form"}),
    "ids one too high": (("return ys", "return ys + 1"), {"tokens", "form", "stops"}),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    edit, checks = UNKNOWN[name]
    verdict = graded(edited(SOLUTION, edit))
    assert failed(verdict) == checks, verdict
    assert named(verdict) == set()


def test_one_mistake_costs_the_check_it_belongs_to() -> None:
    for slug, check in (
        ("first-position-read", "tokens"),
        ("ids-as-float", "form"),
        ("one-token-too-many", "length"),
        ("first-sentence-only", "batch"),
        ("ended-rows-go-on", "filled"),
        ("stops-a-step-late", "stops"),
        ("causal-mask-missing", "causal"),
        ("source-mask-nowhere", "source_mask"),
    ):
        verdict = graded(STEP.misconception(slug).applied_to(SOLUTION))
        assert (failed(verdict), named(verdict)) == ({check}, {slug})


def test_the_toy_speaks_by_the_masks_that_it_heeds() -> None:
    src = torch.tensor([[5, 9, 8, PAD, PAD]])
    right, none = (src != PAD)[:, None], torch.ones(1, 1, 5)
    tgt, causal = torch.tensor([[6, 12, 14]]), torch.ones(1, 3, 3).tril()
    for heeds in ((), ("source",), ("target",), ("source", "target")):
        toy = Translator(Draw(1), 6, 9, heeds).eval()
        said = toy(src, tgt, right, causal)
        assert torch.equal(said, toy(src, tgt, none, causal)) == ("source" not in heeds)
        assert torch.equal(said, toy(src, tgt, right, None)) == ("target" not in heeds)


@pytest.mark.parametrize("seed", range(20))
def test_the_toy_ends_where_the_source_says(seed: int) -> None:
    src = torch.tensor([[5, 9, 8], [7, 9, 8]])
    toy = Translator(Draw(seed), 6, 9)
    tgt = torch.full((2, 8), 6)
    said = toy.generator(toy(src, tgt, None, None)).argmax(-1)
    assert [(row == 9).nonzero().flatten().tolist() for row in said] == [
        [n] for n in length_of(src).tolist()
    ]
