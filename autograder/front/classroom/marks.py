"""The marks of a course as lines of results: what was recorded, and the gradebook's last word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry

from autograder.core.step import Step, all_steps
from autograder.core.trouble import Trouble
from autograder.front.classroom.assignment import Assignment, assignments


def lines_of(course: Path, steps: Sequence[Step] = ()) -> list[dict[str, Any]]:
    """A line for each student of each of these steps (none: all that the course has graded).

    A line is as `autograder grade` writes it (docs/grading.md), with `score` and `max_score` from
    the gradebook: marks that a person has given and late penalties are in it. Without a verdict it
    has `submission` and `step`, and one of two that is true: `missing`, when the student has handed
    in nothing, or `ungraded`.

    Raises:
        Trouble: there is no course, or no such assignment, or no submission of it is graded.
    """
    found: list[dict[str, Any]] = []
    with assignments(course) as of:
        for step in steps or all_steps():
            try:
                lines = list(_lines(of(step)))
            except Trouble:
                if steps:
                    raise
                continue
            if any("checks" in line for line in lines):
                found += lines
            elif steps:
                raise Trouble("step_not_graded", step=step.name, path=course)
    if not found:
        raise Trouble("nothing_graded", path=course)
    return found


def _lines(assignment: Assignment) -> Iterator[dict[str, Any]]:
    enrolled = {student.id for student in assignment.gradebook.students}
    handed_in = set(assignment.students())
    for student in sorted(enrolled | handed_in):
        line = assignment.line(student)
        if line:
            yield {**line, **_score(assignment, student)}
        else:
            why = "ungraded" if student in handed_in else "missing"
            yield {"submission": student, "step": assignment.step.name, why: True}


def _score(assignment: Assignment, student: str) -> dict[str, float]:
    try:
        known = assignment.gradebook.find_submission(assignment.step.name, student)
    except MissingEntry:
        return {}
    # As `nbgrader export` counts it.
    score = max(0.0, known.score - known.late_submission_penalty)
    return {"score": score, "max_score": known.max_score}
