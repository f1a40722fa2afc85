"""Which file holds a learner's work of a step: the `.py` file, or a notebook of the same lesson."""

from __future__ import annotations

from pathlib import Path

from autograder.authoring.answers import has_answer, is_given
from autograder.authoring.notebooks import name_of, notebook_of
from autograder.core.cells import NOTEBOOK
from autograder.core.speech import LANGUAGES
from autograder.core.step import Step
from autograder.desk.workspace import stub


def work_in(folder: Path, step: Step) -> Path:
    """The file that counts as the learner's of a step.

    It is the `.py` file if there is an answer in it; else the notebook with an answer that was
    saved last; else the first of them that is not as it was given; else the `.py` file.

    Args:
        folder: where the step's files are.
        step: which step.
    """
    file, *books = (folder / name for name in names_of(step))
    if _has_answer(file, step):
        return file
    answered = [book for book in books if _has_answer(book, step)]
    if answered:
        return max(answered, key=lambda book: book.stat().st_mtime)
    return next((path for path in (file, *books) if _is_touched(path, step)), file)


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


def _has_answer(path: Path, step: Step) -> bool:
    data = _content(path)
    return data is not None and has_answer(path.name, data, step)


def _is_touched(path: Path, step: Step) -> bool:
    data = _content(path)
    return data is not None and not is_given(path.name, data, step)


def _content(path: Path) -> bytes | None:
    """None where there is none, or nobody may read it."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None
