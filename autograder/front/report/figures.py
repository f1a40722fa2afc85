"""What a class has done, counted: by step, by check, by known mistake, by student."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Literal

from autograder.core.step import Misconception, NoSuchStep, Step, find_step
from autograder.front.report.work import Mark, Work, share_of

Order = Literal["name", "points"]

BINS = 11  # 0 to 10 points; of a step with another maximum, tenths of it
SLOWEST = 5  # so many of the slowest are named


@dataclass(frozen=True)
class Column:
    """A check that the results know, and how often it came to which state."""

    name: str
    title: str
    max_points: float
    states: Counter[str]

    @property
    def lost(self) -> int:
        """How many students did not pass it."""
        return sum(n for state, n in self.states.items() if state not in ("passed", "absent"))

    @property
    def tried(self) -> int:
        """How many students' results know it."""
        return sum(n for state, n in self.states.items() if state != "absent")


@dataclass(frozen=True)
class Held:
    """A known mistake, who holds it, and the checks where it was seen."""

    slug: str
    students: tuple[str, ...]
    checks: tuple[str, ...]


@dataclass(frozen=True)
class StepFigures:
    """A class's work on one step.

    Attributes:
        name: "step04".
        lang: the language to take titles in.
        works: what was handed in, in the order to show it.
        missing: the students who handed nothing in.
    """

    name: str
    lang: str
    works: tuple[Work, ...]
    missing: tuple[str, ...]

    @cached_property
    def step(self) -> Step | None:
        """The step as this kit knows it."""
        try:
            found = find_step(self.name)
        except NoSuchStep:
            return None
        return found if found.name == self.name else None

    @property
    def title(self) -> str:
        """In the reader's language; in that of the results where the step is unknown."""
        if self.step:
            return self.step.title[self.lang]
        return next((work.title for work in self.works if work.title), self.name)

    @property
    def heading(self) -> str:
        """Name and title, where there is one."""
        return self.name if self.title == self.name else f"{self.name} {self.title}"

    def known(self, slug: str) -> Misconception | None:
        """The known mistake of that slug; None where this kit has none."""
        mistakes = self.step.misconceptions if self.step else ()
        return next((m for m in mistakes if m.slug == slug), None)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every check of these results, in the step's order, remarks among them."""
        known = {check.name: check for check in self.step.checks} if self.step else {}
        seen: dict[str, Mark] = {m.name: m for work in self.works for m in work.marks}
        names = [*(n for n in known if n in seen), *(n for n in seen if n not in known)]
        return tuple(
            Column(
                name=name,
                title=known[name].title[self.lang] if name in known else seen[name].title,
                max_points=seen[name].max_points,
                states=Counter(work.mark(name).state for work in self.works),
            )
            for name in names
        )

    @property
    def graded(self) -> list[Column]:
        """The checks that have points."""
        return [column for column in self.columns if column.max_points]

    @property
    def hardest(self) -> list[Column]:
        """The graded checks that somebody did not pass, the most often lost first."""
        return sorted((c for c in self.graded if c.lost), key=lambda c: -c.lost)

    @property
    def remarks(self) -> list[tuple[Column, list[str]]]:
        """Advice, and whom it was given: not to those who have nothing that works."""
        started = [w for w in self.works if any(m.points for m in w.marks)]
        given = [
            (column, [w.student for w in started if w.mark(column.name).state == "failed"])
            for column in self.columns
            if not column.max_points
        ]
        return [(column, students) for column, students in given if students]

    @cached_property
    def mistakes(self) -> list[Held]:
        """The known mistakes of this class, the most frequent first."""
        found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
        for work in self.works:
            for mark in work.marks:
                for slug in mark.misconceptions:
                    students, checks = found.setdefault(slug, ({}, {}))
                    students[work.student] = checks[mark.name] = None
        held = [Held(slug, tuple(s), tuple(c)) for slug, (s, c) in found.items()]
        return sorted(held, key=lambda one: (-len(one.students), one.slug))

    @property
    def wrong(self) -> int:
        """How many graded answers are wrong: tried, and not as asked."""
        return sum(len(self._wrong(work)) for work in self.works)

    @property
    def unnamed(self) -> int:
        """How many of the wrong answers show no known mistake."""
        return sum(not m.misconceptions for work in self.works for m in self._wrong(work))

    @property
    def unnamed_students(self) -> list[str]:
        """Who has given any of those."""
        return [
            work.student
            for work in self.works
            if any(not m.misconceptions for m in self._wrong(work))
        ]

    @staticmethod
    def _wrong(work: Work) -> list[Mark]:
        return [m for m in work.marks if m.max_points and m.state == "failed"]

    @property
    def possible(self) -> float:
        """The most that anybody could earn."""
        return max((work.possible for work in self.works), default=0)

    @property
    def mean(self) -> float | None:
        """Of what was earned, over those who handed something in."""
        return fmean(work.earned for work in self.works) if self.works else None

    @property
    def median(self) -> float | None:
        """Likewise."""
        return median(work.earned for work in self.works) if self.works else None

    @property
    def full(self) -> int:
        """How many have full marks."""
        return sum(work.full for work in self.works)

    @property
    def histogram(self) -> list[int]:
        """How many students have 0, 1, ... 10 tenths of what there is, rounded down."""
        # A hair is added: 0.7 * 10 is a little less than 7.
        tenths = Counter(int(work.share * (BINS - 1) + 1e-9) for work in self.works)
        return [tenths[number] for number in range(BINS)]

    @property
    def seconds(self) -> float | None:
        """The median of the time that grading one took."""
        return median(work.seconds for work in self.works) if self.works else None

    @property
    def slowest(self) -> list[Work]:
        """Those that took longest, the longest first."""
        return sorted(self.works, key=lambda work: -work.seconds)[:SLOWEST]

    @property
    def out_of_time(self) -> list[str]:
        """Whose code did not come to an end."""
        return [w.student for w in self.works if any(m.state == "timeout" for m in w.marks)]


@dataclass(frozen=True)
class Total:
    """One student over all steps; the work is None where nothing was handed in."""

    student: str
    works: tuple[Work | None, ...]
    possible: float

    @property
    def earned(self) -> float:
        """The sum; what is missing earns nothing."""
        return sum(work.earned for work in self.works if work)

    @property
    def share(self) -> float:
        """What was earned of what there is, from 0 to 1."""
        return share_of(self.earned, self.possible)


@dataclass(frozen=True)
class ClassFigures:
    """A class's work on one step or several, by number; the students in the order to show them."""

    steps: tuple[StepFigures, ...]
    totals: tuple[Total, ...]

    @property
    def possible(self) -> float:
        """What could be earned in all."""
        return sum(step.possible for step in self.steps)


def count(works: Iterable[Work], lang: str, order: Order = "name") -> ClassFigures:
    """Work out the figures; whoever has handed in anything is expected to have handed in all.

    Args:
        works: at most one of each student for each step.
        lang: the language to take titles in.
        order: students by name, or by points, the most first.
    """
    kept = list(works)
    students = sorted({work.student for work in kept}, key=_natural)
    by_step: dict[str, dict[str, Work]] = {name: {} for name in sorted({w.step for w in kept})}
    for work in kept:
        if not work.missing:
            by_step[work.step][work.student] = work
    steps = tuple(
        StepFigures(
            name=name,
            lang=lang,
            works=tuple(_ordered([found[s] for s in students if s in found], order)),
            missing=tuple(s for s in students if s not in found),
        )
        for name, found in by_step.items()
    )
    possible = sum(step.possible for step in steps)
    totals = [
        Total(student, tuple(found.get(student) for found in by_step.values()), possible)
        for student in students
    ]
    if order == "points":
        totals.sort(key=lambda total: -total.earned)
    return ClassFigures(steps, tuple(totals))


def _ordered(works: list[Work], order: Order) -> list[Work]:
    return sorted(works, key=lambda work: -work.share) if order == "points" else works


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Names in the order that people expect: Student 2 before Student 10."""
    parts = re.split(r"([0-9]+)", name.casefold())
    return [(int(p[:18]), "") if i % 2 else (0, p) for i, p in enumerate(parts)], name
