"""What a student has handed in for an assignment: which of the files counts."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from autograder.bulk.submissions import Submission, read
from autograder.core.step import Step


def read_from(place: Path, student: str, step: Step) -> Submission:
    """The student's work for a step, from the folder where nbgrader has put it.

    A Python file that is called as the step asks (`feed_forward.py`) counts before a notebook:
    nothing but the notebook was released, so who adds the file means it. See `submissions.read`.
    """
    return replace(read(place.parent, place.name, step), name=student)


def drop_linked(place: Path, copies: Path) -> None:
    """Take back what nbgrader has copied out of links: they may lead to the instructor's files.

    Args:
        place: the folder that holds what was handed in.
        copies: the folder to which nbgrader copies what is no notebook, and thence to feedback.
    """
    for folder, _, files in os.walk(place):
        for file in (Path(folder, name) for name in files):
            if file.is_symlink() and file.suffix != ".ipynb":
                (copies / file.relative_to(place)).unlink(missing_ok=True)
