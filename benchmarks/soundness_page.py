"""docs/soundness.md and docs/soundness.ko.md, from what benchmarks/soundness.py measured."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from autograder.authoring.soundness import fault_of
from autograder.core.step import Words
from benchmarks.soundness_data import OTHER_SEEDS, SEED, Soundness, Survivor

Lines = Callable[[Soundness, Words, str], Iterator[str]]

PAGES = {"en": "soundness.md", "ko": "soundness.ko.md"}


def write(measured: Sequence[Soundness], folder: Path) -> None:
    """Write both pages."""
    texts = tomllib.loads(Path(__file__).with_name("soundness.toml").read_text(encoding="utf-8"))
    for lang, name in PAGES.items():
        (folder / name).write_text(page(measured, texts, lang), encoding="utf-8")


def page(measured: Sequence[Soundness], texts: dict[str, Words], lang: str) -> str:
    """The text of the page in one language."""
    words = {key: text[lang] for key, text in texts.items()}
    parts = {
        "table": _table(measured, words),
        "advice": _sections(measured, words, lang, _advice),
        "survivors": _sections(measured, words, lang, _survivors),
        "doubtful": _sections(measured, words, lang, _doubtful),
        "seed": SEED,
        "others": ", ".join(map(str, OTHER_SEEDS)),
    }
    return words["page"].lstrip("\n").format(**parts)


def _table(measured: Sequence[Soundness], words: Words) -> str:
    rows = [_figures(found) for found in measured]
    lines = [words["head"], "| --- |" + " ---: |" * 11]
    for found, row in zip(measured, rows, strict=True):
        lines.append(_row(f"{found.step.number:02d} {found.step.slug}", row))
    lines.append(_row(words["all"], [sum(column) for column in zip(*rows, strict=True)]))
    return "\n".join(lines)


def _figures(found: Soundness) -> list[int]:
    """The figures of a row, without the share: it is worked out from the others."""
    mistakes, variations = found.graded.mistakes, found.graded.variations
    advice = sum(found.step.misconception(slug).advice is not None for slug in mistakes)
    kept = [not fault_of(found.step.misconception(s), v) for s, v in mistakes.items()]
    accepted = sum(v.points == v.max_points for v in variations.values())
    told = [len(mistakes), sum(kept) - advice, advice, len(variations), accepted]
    return [*told, found.mutants, found.caught, found.equivalent, found.named, len(found.doubtful)]


def _row(name: str, figures: Sequence[int]) -> str:
    *told, mutants, caught, equivalent, named, doubtful = figures
    share = f"{caught / (mutants - equivalent):.1%}"
    cells = [name, *told, mutants, caught, equivalent, share, named, doubtful]
    return f"| {' | '.join(map(str, cells))} |"


def _sections(measured: Sequence[Soundness], words: Words, lang: str, lines_of: Lines) -> str:
    """What there is to say about each step, under its name."""
    parts = []
    for found in measured:
        if lines := list(lines_of(found, words, lang)):
            title = f"### {found.step.number:02d} {found.step.title[lang]}"
            parts.append("\n".join([title, "", *lines]))
    return "\n\n".join(parts) or words["none"]


def _advice(found: Soundness, words: Words, lang: str) -> Iterator[str]:
    for slug in found.graded.mistakes:
        mistake = found.step.misconception(slug)
        if mistake.advice:
            yield f"- `{slug}`: {mistake.name[lang]}. {mistake.advice[lang]}"


def _survivors(found: Soundness, words: Words, lang: str) -> Iterator[str]:
    for survivor in found.survivors:
        mutant = survivor.mutant
        yield f"- `{mutant.before}` → `{mutant.after}`: {_reason(survivor, words, lang)}"


def _doubtful(found: Soundness, words: Words, lang: str) -> Iterator[str]:
    for doubt in found.doubtful:
        named = ", ".join(f"`{slug}`" for slug in doubt.slugs)
        unnamed = ", ".join(f"`{check}`" for check in doubt.checks) or "–"
        yield f"- `{doubt.what}`: {words['doubt'].format(named=named, unnamed=unnamed)}"


def _reason(survivor: Survivor, words: Words, lang: str) -> str:
    parts = [words["unexplained"]]
    if survivor.reason:
        kind = "equivalent" if survivor.equivalent else "kept"
        parts = [f"{words[kind]}: {survivor.reason[lang]}"]
    if survivor.remarks:
        checks = ", ".join(f"`{name}`" for name in survivor.remarks)
        parts.append(words["remark"].format(checks=checks))
    return "; ".join(parts)
