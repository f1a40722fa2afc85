"""What a student has handed in for an assignment: which of the files counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from stat import S_ISREG

from autograder.bulk.submissions import Submission, read
from autograder.core.step import Step


def read_from(place: Path, student: str, step: Step) -> Submission:
    """The student's work for a step, from the folder where nbgrader has put it.

    A Python file that is called as the step asks (`feed_forward.py`) counts before a notebook:
    nothing but the notebook was released, so who adds the file means it. See `submissions.read`.
    """
    return replace(read(place.parent, place.name, step), name=student)


def unusual(place: Path) -> Iterator[Path]:
    """What lies in the folder of a submission and is no file of a student's own.

    Links may lead to the instructor's files, to nothing or to what never ends, and what is no file
    (a pipe, a socket) cannot be copied. The time of submission is nbgrader's to read, as it is.
    """
    if place.is_symlink():
        yield place
        return
    for folder, _, files in os.walk(place):
        for path in (Path(folder, name) for name in files if name != "timestamp.txt"):
            if not S_ISREG(path.lstat().st_mode):
                yield path
