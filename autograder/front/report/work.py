"""One student's work on one step: a line of results, read with care."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograder.core.verdict import SCHEMA
from autograder.front.wording import says_unwritten

STATES = ("passed", "failed", "unwritten", "skipped", "error", "timeout", "absent")

_MOST = 1e9  # points or seconds

_Line = Mapping[str, Any]


class Foreign(ValueError):
    """It is no line of results, or one whose fields have another meaning by now."""


@dataclass(frozen=True)
class Mark:
    """What became of one check.

    `state` is one of `STATES`: those of a verdict; "unwritten" where the stub was left as it is;
    "absent" where the line does not know the check.
    """

    name: str
    title: str
    state: str
    points: float
    max_points: float
    message: str = ""
    misconceptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """What a student has handed in for a step, and what it was found to be worth.

    `score` is the gradebook's, with manual marks and late penalties; None without a gradebook.
    """

    student: str
    step: str
    title: str = ""
    points: float = 0
    max_points: float = 0
    marks: tuple[Mark, ...] = ()
    seconds: float = 0
    file: str = ""
    printed: str = ""
    score: float | None = None
    max_score: float | None = None
    missing: bool = False

    @property
    def earned(self) -> float:
        """What counts: the gradebook's score if there is one, else the autograder's points."""
        return self.points if self.score is None else self.score

    @property
    def possible(self) -> float:
        """What could be earned, on the scale of `earned`."""
        return self.max_points if self.score is None else self.max_score or self.max_points

    @property
    def share(self) -> float:
        """What was earned of what there is, from 0 to 1."""
        return share_of(self.earned, self.possible)

    @property
    def full(self) -> bool:
        """All that could be earned was."""
        return self.possible > 0 and self.earned >= self.possible

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The known mistakes that were recognised, each once."""
        return tuple(dict.fromkeys(slug for mark in self.marks for slug in mark.misconceptions))

    def mark(self, check: str) -> Mark:
        """That check's mark."""
        absent = Mark(check, "", "absent", 0, 0)
        return next((m for m in self.marks if m.name == check), absent)


def share_of(part: float, whole: float) -> float:
    """How much that is, from 0 to 1; 0 of nothing."""
    return min(max(part / whole, 0), 1) if whole else 0


def work_of(line: _Line) -> Work:
    """A line of results as data.

    Raises:
        Foreign: it is none.
    """
    if line.get("schema", SCHEMA) != SCHEMA:
        raise Foreign("schema")
    score = line.get("score")
    work = Work(
        student=_text(line, "submission"),
        step=_text(line, "step"),
        title=_text(line, "title", ""),
        score=None if score is None else _number(line, "score"),
        max_score=None if line.get("max_score") is None else _amount(line, "max_score"),
        missing=line.get("missing") is True,
    )
    if work.missing:
        return work
    return replace(
        work,
        points=_number(line, "points"),
        max_points=_amount(line, "max_points"),
        marks=tuple(map(_mark, _entries(line, "checks"))),
        seconds=_amount(line, "seconds"),
        file=_text(line, "file", ""),
        printed=_text(line, "printed", ""),
    )


def nameless(works: Iterable[Work], label: Callable[[int], str]) -> list[Work]:
    """The same with a label in place of each name, and without the texts that could tell one.

    Args:
        works: of the whole class.
        label: of the student of that number; numbers are drawn anew in every call.
    """
    kept = list(works)
    students = sorted({work.student for work in kept})
    random.SystemRandom().shuffle(students)
    labels = {student: label(number) for number, student in enumerate(students, 1)}
    return [_without_words(work, labels[work.student]) for work in kept]


def _without_words(work: Work, label: str) -> Work:
    """Messages quote lines of code, errors and names of files: all of it is left out."""
    marks = tuple(replace(mark, message="") for mark in work.marks)
    return replace(work, student=label, marks=marks, file="", printed="")


def _mark(entry: object) -> Mark:
    if not isinstance(entry, Mapping):
        raise Foreign("checks")
    message, state = _text(entry, "message"), _text(entry, "state")
    if state == "failed" and says_unwritten(message):  # no field of a line does
        state = "unwritten"
    slugs = _entries(entry, "misconceptions")
    if state not in STATES or not all(isinstance(slug, str) for slug in slugs):
        raise Foreign("checks")
    return Mark(
        name=_text(entry, "name"),
        title=_text(entry, "title"),
        state=state,
        points=_number(entry, "points"),
        max_points=_amount(entry, "max_points"),
        message=message,
        misconceptions=tuple(slugs),
    )


def _text(line: _Line, key: str, default: str | None = None) -> str:
    value = line.get(key, default)
    if not isinstance(value, str):
        raise Foreign(key)
    return value


def _number(line: _Line, key: str) -> float:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Foreign(key)
    if not abs(value) < _MOST:  # which says so of what is no number, too
        raise Foreign(key)
    return value


def _amount(line: _Line, key: str) -> float:
    value = _number(line, key)
    if value < 0:
        raise Foreign(key)
    return value


def _entries(line: _Line, key: str) -> list[Any]:
    value = line.get(key)
    if not isinstance(value, list):
        raise Foreign(key)
    return value
