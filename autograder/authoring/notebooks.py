"""Notebooks, made from the lesson, the model answer and the checks of a step, in two languages.

As a stub is made from the answer alone, a notebook is made from its lesson, too. One that somebody
works in is not stale: a body is written, or there are cells that the kit did not make. Outputs are
no work, since they come back when the cells are run.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from autograder.authoring import stubs
from autograder.authoring.docstrings import answer_in
from autograder.authoring.pieces import pieces_of
from autograder.core.cells import NoNotebook, code_cells, plain
from autograder.core.step import Step, Words, kit_file

BY_LANGUAGE = {"en": "", "ko": ".ko"}  # what stands in the names of lesson and notebook

_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

Cell = dict[str, Any]


def notebook_of(step: Step, lang: str, *, solved: bool = False) -> str:
    """A step's notebook, as Jupyter would write it: format 4.5, nothing run yet.

    Args:
        step: one of the running kit's.
        lang: "en" or "ko".
        solved: as an instructor's source: with the model answer between nbgrader's marks, and
            without a link to the notebook in the other language.

    Raises:
        ValueError: the answer's marks are misplaced.
    """
    lesson = _read(kit_file("exercises", step.name, f"README{BY_LANGUAGE[lang]}.md"))
    return _composed(step, lang, lesson, answer_in(step.solution, lang), solved)


def name_of(step: Step, lang: str) -> str:
    """What the notebook's file is called: step04.ipynb, step04.ko.ipynb."""
    return f"{step.name}{BY_LANGUAGE[lang]}.ipynb"


def names_to_write(answer: str) -> list[str]:
    """The definitions of a model answer in which a learner has something to write."""
    return [piece.name for piece in pieces_of(answer) if stubs.BEGIN in piece.text]


def stale(root: Path, steps: Sequence[Step]) -> list[Path]:
    """The notebooks of those steps that are missing, or not as they would be made now.

    One that somebody works in is not stale; nor is one that cannot be made, since its lesson or
    its answer is missing.
    """
    return [path for path, text, stub in _notebooks(root, steps) if _is_stale(path, text, stub)]


def regenerate(root: Path, steps: Sequence[Step]) -> list[Path]:
    """Write every stale notebook of those steps, and return the files written."""
    written = []
    for path, text, stub in _notebooks(root, steps):
        if _is_stale(path, text, stub):
            path.write_text(text, encoding="utf-8", newline="\n")
            written.append(path)
    return written


def is_filled(text: str, stub: str, prefix: str) -> bool:
    """Whether somebody's work is in what began as a notebook.

    Args:
        text: the file's. What is no notebook (any more) may have been one with work in it.
        stub: the stub that the notebook began with.
        prefix: what the ids of the kit's own cells begin with.
    """
    try:
        code = "\n\n".join(plain(cell.text) for cell in code_cells(text))
    except NoNotebook:
        return True
    added = (
        cell
        for cell in json.loads(text).get("cells", ())
        if not str(cell.get("id")).startswith(prefix) and "".join(cell["source"]).strip()
    )
    return any(added) or stubs.is_filled(code, stub)


def _notebooks(root: Path, steps: Sequence[Step]) -> Iterator[tuple[Path, str, str]]:
    """Where each notebook belongs, its text, and the stub that is in it."""
    for step in steps:
        folder = root / "exercises" / step.name
        answer = root / "solutions" / step.name / f"{step.slug}.py"
        for lang, suffix in BY_LANGUAGE.items():
            lesson = folder / f"README{suffix}.md"
            if answer.is_file() and lesson.is_file():
                source = answer_in(answer, lang)
                text = _composed(step, lang, _read(lesson), source, solved=False)
                yield folder / name_of(step, lang), text, stubs.stub_of(source, step.number)


def _is_stale(path: Path, text: str, stub: str) -> bool:
    if not path.is_file():
        return True
    found = _read(path)
    return found != text and not is_filled(found, stub, f"{path.parent.name}-")


def _composed(step: Step, lang: str, lesson: str, answer: str, solved: bool) -> str:
    """The notebook's text, from those of its lesson and its model answer."""
    before, after = _sections(step, lang, lesson, linked=not solved)
    cells = [
        *(_markdown(f"lesson-{i}", text) for i, text in enumerate(before, start=1)),
        *_code_to_write(answer, stubs.stub_of(answer, step.number), solved),
        _markdown("checks", _words("checks", lang)),
        _call("overview", _words("overview", lang), "check", step.name, lang=lang)
        | _nbgrader("overview", locked=True),
        *(
            _call(
                f"check_{check.name}", check.title[lang], "check", step.name, check.name, lang=lang
            )
            | _nbgrader(check.name, points=check.points)
            for check in step.checks
            if check.graded
        ),
        _markdown("demo", _words("demo", lang)),
        _call("watch", _words("watch", lang), "watch", step.name, lang=lang),
        *(_markdown(f"more-{i}", text) for i, text in enumerate(after, start=1)),
    ]
    for cell in cells:
        cell["id"] = f"{step.name}-{cell['id']}"
        cell["source"] = cell["source"].splitlines(keepends=True)
    book = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    # Exactly what nbformat writes.
    return json.dumps(book, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _sections(step: Step, lang: str, lesson: str, linked: bool) -> tuple[list[str], list[str]]:
    """The lesson's sections that come before the code, and those that come after the checks."""
    for name, suffix in BY_LANGUAGE.items():
        target = f"README{suffix}.md"
        if linked:
            lesson = lesson.replace(f"]({target})", f"]({name_of(step, name)})")
        else:
            lesson = re.sub(rf" \[[^]]*\]\({re.escape(target)}\)", "", lesson)
    lesson = lesson.replace(f"`{step.slug}.py`", _words("file", lang))
    sections = [text.strip() for text in re.split(r"^(?=## )", lesson, flags=re.MULTILINE)]
    heading = f"## {_words('section', lang)}"
    at = next((i for i, text in enumerate(sections) if text.startswith(heading)), len(sections))
    how = f"{heading}\n\n{_words('how', lang)}"
    return [*sections[:at], how], sections[at + 1 :]


def _code_to_write(answer: str, stub: str, solved: bool) -> Iterator[Cell]:
    """The cells of imports and definitions; nbgrader is told of those with something to fill in.

    (It would empty one that is to be filled in and has no marks.)
    """
    asked = names_to_write(answer)
    for piece in pieces_of(answer if solved else stub):
        if piece.name in asked:
            name = f"write_{piece.name}"
            yield _code(name, piece.text) | _nbgrader(name)
        else:
            yield _code(f"given_{piece.name}" if piece.name else "imports", piece.text)


def _call(id: str, title: str, function: str, *arguments: str, lang: str) -> Cell:
    """A cell that calls a function of the kit."""
    told = [f'"{argument}"' for argument in arguments]
    if lang != "en":
        told.append(f'lang="{lang}"')
    lines = [f"# {title}", f"from autograder import {function}", ""]
    return _code(id, "\n".join([*lines, f"{function}({', '.join(told)})"]))


def _markdown(id: str, text: str) -> Cell:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": text}


def _code(id: str, text: str) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": id,
        "metadata": {},
        "outputs": [],
        "source": text,
    }


def _nbgrader(grade_id: str, points: int | None = None, locked: bool = False) -> Cell:
    """The metadata of a cell that holds a check, is to be left as it is, or is to be filled in."""
    checks = points is not None
    told = {
        "grade": checks,
        "grade_id": grade_id,
        "locked": checks or locked,
        "schema_version": 3,
        "solution": not (checks or locked),
        "task": False,
    }
    return {"metadata": {"nbgrader": told | ({"points": points} if checks else {})}}


def _words(key: str, lang: str) -> str:
    return _texts()[key][lang]


@cache
def _texts() -> dict[str, Words]:
    path = Path(__file__).with_name("notebook.toml")
    texts: dict[str, Words] = tomllib.loads(path.read_text(encoding="utf-8"))["notebook"]
    return texts


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")
