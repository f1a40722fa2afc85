"""Which file holds a learner's work of a step: the `.py` file, or a notebook of the same lesson."""

from __future__ import annotations

from pathlib import Path

from autograder.authoring import stubs
from autograder.core.step import Step
from autograder.desk.workspace import stub


def work_in(folder: Path, step: Step) -> Path:
    """The file that counts as the learner's: the `.py` file, written or not, unless the work is in
    a notebook only.

    Args:
        folder: where the step's files are.
        step: which step.
    """
    file, begun_with = folder / f"{step.slug}.py", stub(step)
    if file.is_file() and _is_filled(file, step, begun_with):
        return file
    from autograder.authoring.notebooks import SUFFIXES, name_of

    books = [folder / name_of(step, lang) for lang in SUFFIXES]
    return next((b for b in books if b.is_file() and _is_filled(b, step, begun_with)), file)


def given(path: Path, step: Step, lang: str) -> str:
    """What the file of that name holds when a learner gets it; a notebook has its own language."""
    if path.suffix == ".py":
        return stub(step, lang)
    from autograder.authoring.notebooks import SUFFIXES, name_of, notebook_of

    own = next(lang for lang in SUFFIXES if name_of(step, lang) == path.name)
    return notebook_of(step, own)


def _is_filled(path: Path, step: Step, stub: str) -> bool:
    """Whether somebody's work is in it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".py":
            return stubs.is_filled(text, stub)
        from autograder.authoring.notebooks import is_filled

        return is_filled(text, stub, f"{step.name}-")
    except Exception:  # whatever it is, it is not as it was given
        return True
