"""Docstrings in Korean: a file of words beside each model answer, put in the place of its own."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from textwrap import indent

from autograder.core.speech import LANGUAGES, Language
from autograder.core.step import Step

LINE_LENGTH = 100  # of all Python that the kit writes

MODULE = "module"  # the name of what belongs to the whole text

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def name_of(step: Step) -> str:
    """What the file of words is called: feed_forward.ko.toml."""
    return f"{step.slug}.ko.toml"


def answer_in(path: Path, lang: str) -> str:
    """A model answer's text, its docstrings in that language where there are words for it.

    Args:
        path: of the answer.
        lang: "en" or "ko".
    """
    source = path.read_bytes().decode("utf-8")
    words = path.with_name(f"{path.stem}.{lang}.toml")
    return translated(source, words_in(words)) if words.is_file() else source


def words_in(path: Path) -> dict[str, str]:
    """Docstrings by the name of what they belong to: `MODULE`, a function, a class, or with dots
    what is inside another.
    """
    words: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))
    return words


def docstrings_of(source: str) -> dict[str, str]:
    """The docstrings of a text, by name as above."""
    return {name: text for name, text, _ in _documented(ast.parse(source))}


def language_of(text: str, answer: Path) -> Language:
    """The language of a text that began as that answer's stub: whose docstrings are in it."""

    def found(lang: Language) -> int:
        docstrings = docstrings_of(answer_in(answer, lang)).values()
        return sum(docstring.splitlines()[0] in text for docstring in docstrings)

    return max(LANGUAGES, key=found)


def translated(source: str, words: Mapping[str, str]) -> str:
    """The text with other docstrings; what `words` does not name keeps its own."""
    lines = source.splitlines(keepends=True)
    found = sorted(_documented(ast.parse(source)), key=lambda part: part[2].lineno)
    for name, _, node in reversed(found):
        if name in words:
            new = _quoted(cleandoc(words[name]), " " * node.col_offset)
            lines[node.lineno - 1 : node.end_lineno] = [new]
    return "".join(lines)


def _documented(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, str, ast.stmt]]:
    """Whatever has a docstring: its name, the docstring, and its statement."""
    if isinstance(node, ast.Module) and (docstring := ast.get_docstring(node)) is not None:
        yield MODULE, docstring, node.body[0]
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            docstring = ast.get_docstring(child)
            if docstring is not None:
                yield prefix + child.name, docstring, child.body[0]
            yield from _documented(child, f"{prefix}{child.name}.")
        else:
            yield from _documented(child, prefix)


def _quoted(text: str, margin: str) -> str:
    """The statement, as a formatter would leave it."""
    quotes = 'r"""' if "\\" in text else '"""'
    first, *more = text.splitlines()
    alone = not more and not first.endswith(('"', "\\"))
    if alone and len(f'{margin}{quotes}{first}"""') <= LINE_LENGTH:
        return f'{margin}{quotes}{first}"""\n'
    rest = indent("\n".join(more) + "\n", margin) if more else ""
    return f'{margin}{quotes}{first}\n{rest}{margin}"""\n'
