"""Which file holds a learner's work of a step: the `.py` file, or a notebook of the same lesson."""

from __future__ import annotations

import re
from pathlib import Path

from autograder.authoring import notebooks, stubs
from autograder.authoring.notebooks import name_of, notebook_of
from autograder.core.cells import NOTEBOOK
from autograder.core.speech import LANGUAGES
from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.desk.workspace import read, stub


def work_in(folder: Path, step: Step) -> Path:
    """The file that counts as the learner's of a step.

    It is the `.py` file if anything is written in it; else the notebook that has an answer in it
    and was saved last; else one that has other cells of the learner's; else the `.py` file.

    Args:
        folder: where the step's files are.
        step: which step.
    """
    file, *books = (folder / name for name in names_of(step))
    if file.is_file() and _is_touched(file, step):
        return file
    books = [book for book in books if book.is_file()]
    answered = [book for book in books if _has_answer(book, step)]
    if answered:
        return max(answered, key=lambda book: book.stat().st_mtime)
    return next((book for book in books if _is_touched(book, step)), file)


def passed_over(file: Path, step: Step) -> list[Path]:
    """The other files beside it that have an answer in them, copies of notebooks among them."""
    beside = {file.with_name(names_of(step)[0]), *file.parent.glob(f"*{NOTEBOOK}")}
    return sorted(path for path in beside - {file} if _has_answer(path, step))


def names_of(step: Step) -> list[str]:
    """What the files are called that a learner may write into, the `.py` file first."""
    return [f"{step.slug}.py", *(name_of(step, lang) for lang in LANGUAGES)]


def given(path: Path, step: Step, lang: str) -> str:
    """What the file of that name holds when a learner gets it; a notebook has its own language."""
    if path.suffix == ".py":
        return stub(step, lang)
    own = next(lang for lang in LANGUAGES if name_of(step, lang) == path.name)
    return notebook_of(step, own)


def _is_touched(path: Path, step: Step) -> bool:
    """Whether somebody has written into it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == NOTEBOOK:
            return notebooks.is_filled(text, stub(step), f"{step.name}-")
        return stubs.is_filled(text, stub(step))
    except Exception:  # whatever it is, it is not as it was given
        return True


def _has_answer(path: Path, step: Step) -> bool:
    """Whether a body of the step's pieces is written in it."""
    try:
        text = read(path)
    except Trouble:
        return False
    names = "|".join(step.exports)
    defines = re.search(rf"^((async )?def|class) ({names})\b|^({names})\s*=", text, re.MULTILINE)
    return bool(defines) and stubs.is_filled(text, stub(step))
