"""Rules about words: what is told in English is told in Korean, with the same figures."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from autograder.authoring.docstrings import docstrings_of, name_of, words_in
from autograder.authoring.kit import Kit, Problem
from autograder.core.speech import LANGUAGES
from autograder.core.step import Step

_TEXTS = ("autograder/front/*.toml", "autograder/authoring/notebook.toml")
_PAGES = ("README.md", "SECURITY.md")  # at the root; all of docs, too
_HANGUL = re.compile("[가-힣]")
_SECTION = re.compile(r"^[A-Z][a-z]+:$|^    \w+(?=:)", re.MULTILINE)
_SHAPE = r"\([^\s(),가-힣]+(?:, [^\s(),가-힣]+)+\)"
_CODE = re.compile(rf"`[^`]+`|{_SHAPE}|\d[\d.,]*\d|\d")
_WORD = re.compile(r"(?<![\w`])[a-z]{3,}(?![\w`])")

Texts = Iterator[tuple[str, Any]]  # where a text stands, and its words by language


def texts_are_in_both(kit: Kit) -> Iterator[Problem]:
    """Every text (steps, demos, notebooks, front ends) is in both languages, with equal holes."""
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
        for path in sorted(p for place in _TEXTS for p in kit.root.glob(place)):
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
    for page in pages_of(kit):
        twin = page.replace(".md", ".ko.md")
        missing = [name for name in (page, twin) if not (kit.root / name).is_file()]
        if missing:
            yield from (Problem(name, "missing_page") for name in missing)
        else:
            yield from _differences(twin, kit.read(page), kit.read(twin))


def pages_of(kit: Kit) -> list[str]:
    """The English pages that have a Korean twin; those beside no lesson only for the whole kit."""
    pages = [f"exercises/{step.name}/README.md" for step in kit.steps]
    if kit.whole:
        docs = (kit.root / "docs").glob("*.md")
        pages += [*_PAGES, *sorted(f"docs/{p.name}" for p in docs if ".ko." not in p.name)]
    return pages


def docstrings_are_in_both(kit: Kit) -> Iterator[Problem]:
    """Docstrings of an answer are told in Korean: of the same arguments, with the same figures."""
    for step in kit.steps:
        place = f"solutions/{step.name}/{name_of(step)}"
        if not (kit.root / place).is_file():
            continue  # another rule says so
        english = docstrings_of(kit.read(f"solutions/{step.name}/{step.slug}.py"))
        korean = words_in(kit.root / place)
        for name in english | korean:
            words = {"en": english.get(name, ""), "ko": korean.get(name, "")}
            if fault := _fault_of_docstring(words["en"], words["ko"].strip("\n")):
                yield Problem(place, fault, {"where": name})


def _fault_of_docstring(english: str, korean: str) -> str:
    """What is wrong with a docstring's Korean; '' if nothing is."""
    if not english or not korean:
        return "not_in_both"
    if _SECTION.findall(english) != _SECTION.findall(korean):
        return "other_arguments"
    if Counter(_CODE.findall(english)) != Counter(_CODE.findall(korean)):
        return "other_code"
    return _left_in_english(english, korean)


def fault_of(words: object) -> str:
    """What is wrong with a text in two languages; '' if nothing is."""
    if not isinstance(words, dict) or set(words) != set(LANGUAGES):
        return "not_in_both"
    if not all(isinstance(w, str) and w.strip() for w in words.values()):
        return "not_in_both"
    english, korean = (words[language] for language in LANGUAGES)
    if _holes(english) != _holes(korean):
        return "other_holes"
    return _left_in_english(english, korean)


def _left_in_english(english: str, korean: str) -> str:
    """`not_korean` if the Korean has no Korean; a formula alone is the same in all languages."""
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
    if "\nGenerated by `" in english:
        return  # from the same figures; a quoted text may say "three" in one and "3" in the other
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
