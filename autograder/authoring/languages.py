"""Rules about words: what is told in English is told in Korean, with the same figures."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from autograder.authoring.kit import Kit, Problem
from autograder.core.step import Step

LANGUAGES = ("en", "ko")
_HANGUL = re.compile("[가-힣]")
_WORD = re.compile(r"(?<![\w`])[a-z]{3,}(?![\w`])")

Texts = Iterator[tuple[str, Any]]  # where a text stands, and its words by language


def texts_are_in_both(kit: Kit) -> Iterator[Problem]:
    """Every text of steps, demos and front ends is there in both languages, with the same holes."""
    files: list[tuple[str, list[tuple[str, Any]]]] = []
    for step in kit.steps:
        files.append((f"autograder/steps/{step.slug}.toml", list(_of_step(step))))
        demo = f"exercises/{step.name}/demo.py"
        if (kit.root / demo).is_file():
            files.append((demo, list(_of_program(kit.read(demo), "TEXTS"))))
    if kit.whole:
        files.append(
            ("autograder/demo.py", list(_of_program(kit.read("autograder/demo.py"), "COMMON")))
        )
        for path in sorted((kit.root / "autograder/front").glob("*.toml")):
            name = path.relative_to(kit.root).as_posix()
            files.append((name, list(_of_data(tomllib.loads(kit.read(name)), ""))))
    for place, texts in files:
        if not texts:
            yield Problem(place, "no_text")
        for where, words in texts:
            if fault := fault_of(words):
                yield Problem(place, fault, {"where": where.strip(".")})


def pages_tell_the_same(kit: Kit) -> Iterator[Problem]:
    """Pages for readers exist in both languages, with the same headings, formulas and figures."""
    pages = [f"exercises/{step.name}/README.md" for step in kit.steps]
    if kit.whole:
        docs = (kit.root / "docs").glob("*.md")
        pages += ["README.md", *sorted(f"docs/{p.name}" for p in docs if ".ko." not in p.name)]
    for page in pages:
        twin = page.replace(".md", ".ko.md")
        missing = [name for name in (page, twin) if not (kit.root / name).is_file()]
        if missing:
            yield from (Problem(name, "missing_page") for name in missing)
        else:
            yield from _differences(twin, kit.read(page), kit.read(twin))


def fault_of(words: object) -> str:
    """What is wrong with a text in two languages; '' if nothing is."""
    if not isinstance(words, dict) or set(words) != set(LANGUAGES):
        return "not_in_both"
    if not all(isinstance(w, str) and w.strip() for w in words.values()):
        return "not_in_both"
    english, korean = (words[language] for language in LANGUAGES)
    if _holes(english) != _holes(korean):
        return "other_holes"
    # A formula alone is the same in all languages.
    told = len(_WORD.findall(re.sub(r"\{.*?\}", "", english))) >= 3
    return "not_korean" if told and not _HANGUL.search(korean) else ""


def _holes(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)", text))


def _of_step(step: Step) -> Texts:
    yield "title", step.title
    for check in step.checks:
        yield f"checks.{check.name}.title", check.title
    labels = {key: words for check in step.checks for key, words in check.labels.items()}
    yield from ((f"labels.{key}", words) for key, words in labels.items())
    for mistake in step.misconceptions:
        for part in ("name", "question", "place"):
            yield f"misconceptions.{mistake.slug}.{part}", getattr(mistake, part)
        if mistake.advice is not None:
            yield f"misconceptions.{mistake.slug}.advice", mistake.advice


def _of_program(source: str, table: str) -> Texts:
    """The texts that a program holds as {"en": {...}, "ko": {...}} in a constant of that name."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == table:
            texts = ast.literal_eval(node.value)
            keys = dict.fromkeys(key for lines in texts.values() for key in lines)
            for key in keys:
                yield key, {lang: lines[key] for lang, lines in texts.items() if key in lines}


def _of_data(data: dict[str, Any], where: str) -> Texts:
    """The texts of nested tables: the innermost tables hold one language a key."""
    if any(isinstance(value, str) for value in data.values()):
        yield where, data
        return
    for key, part in data.items():
        yield from _of_data(part, f"{where}.{key}")


def _differences(place: str, english: str, korean: str) -> Iterator[Problem]:
    if _headings(english) != _headings(korean):
        yield Problem(place, "other_headings")
    for text, parts in (("other_formulas", _formulas), ("other_figures", _figures)):
        one, two = parts(english), parts(korean)
        if one != two:
            facts = {
                "english": sorted((one - two).elements()),
                "korean": sorted((two - one).elements()),
            }
            yield Problem(place, text, facts)


def _headings(text: str) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) \S", text, re.MULTILINE)]


def _formulas(text: str) -> Counter[str]:
    return Counter(re.findall(r"^\$\$.*\$\$$", text, re.MULTILINE))


def _figures(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d[\d.,]*\d|\d", text))
