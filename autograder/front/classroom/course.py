"""A new nbgrader course: its configuration, a source notebook a step, its students."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.front.classroom.gradebook import opened
from autograder.front.classroom.students import Student

CONFIG = "nbgrader_config.py"
_TAKEN_FOR_PATTERNS = re.compile(r"[*?\[\]%]")
_TEMPLATE = Path(__file__).with_name("config.txt")


def create(folder: Path, steps: Sequence[Step], lang: str, students: Sequence[Student]) -> None:
    """Make a course in a new folder, or an empty one.

    Args:
        folder: where; its name becomes the course's.
        steps: each becomes an assignment of its name.
        lang: of the notebooks, and so of the feedback.
        students: enrolled at once; others are when they hand something in.

    Raises:
        Trouble: there is something in the folder already, it cannot be written, or nbgrader cannot
            work there.
    """
    from autograder.authoring.notebooks import notebook_of

    if _TAKEN_FOR_PATTERNS.search(str(folder.resolve())):
        raise Trouble("course_place", path=folder.resolve(), signs="* ? [ ] %")
    name = folder.resolve().name
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise Trouble("course_not_empty", path=folder)
        for step in steps:
            place = folder / "source" / step.name
            place.mkdir(parents=True)
            book = notebook_of(step, lang, solved=True)
            (place / f"{step.name}.ipynb").write_text(book, encoding="utf-8")
        config = _TEMPLATE.read_text(encoding="utf-8").format(course=name)
        (folder / CONFIG).write_text(config, encoding="utf-8")
    except OSError as e:
        raise Trouble("unwritable", path=folder, reason=e.strerror or str(e)) from None
    with opened(f"sqlite:///{folder.resolve() / 'gradebook.db'}", name) as gradebook:
        for student in students:
            gradebook.add_student(student.id, **student.details)
