"""A whole assignment graded: many workers for the verdicts, nbgrader itself for the rest."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from nbgrader.converters import Autograde
from nbgrader.converters.base import BaseConverter, NbGraderException

from autograder.bulk.coordinator import Graded, grade_all
from autograder.bulk.submissions import Submission
from autograder.bulk.waiting import Waiting
from autograder.core.step import Step
from autograder.core.verdict import Verdict
from autograder.front.classroom.assignment import Assignment
from autograder.front.classroom.handed_in import read_from
from autograder.front.classroom.turns import alone
from autograder.wall.tiers import Tier


@dataclass(frozen=True)
class Written:
    """A student's marks are in the gradebook; `fault` says why they are not."""

    student: str
    verdict: Verdict | None = None  # None: they were there already
    fault: str = ""


def grade_everyone(
    assignment: Assignment,
    students: Sequence[str],
    *,
    tier: Tier,
    jobs: int,
    seed: int,
    started: Sequence[Waiting] = (),
) -> Generator[Written]:
    """Grade what these students have handed in, and is not graded yet; in any order.

    What nbgrader does after it has run a notebook is left to nbgrader: scores that a person has
    given stay, late penalties are the course's, and Formgrader finds all that it looks for.

    Args:
        assignment: what they have handed in for.
        students: see `Assignment.students`.
        tier, jobs, started: see `grade_all`.
        seed: what sizes, inputs and weights are drawn from.
    """
    present: list[str] = []

    def todo() -> Iterator[Submission]:
        for student in students:
            submission = read_from(assignment.submitted(student), student, assignment.step)
            if assignment.is_graded(student, submission):
                present.append(student)
            else:
                yield submission

    everyone = grade_all(assignment.step, todo(), seed=seed, tier=tier, jobs=jobs, started=started)
    with closing(everyone) as verdicts:
        for graded in verdicts:
            yield _write(assignment, graded, tier)
            yield from (Written(present.pop()) for _ in list(present))
    yield from map(Written, present)


def _write(assignment: Assignment, graded: Graded, tier: Tier) -> Written:
    student = graded.submission.name
    with alone():
        if assignment.is_graded(student, graded.submission):  # another grader was quicker
            return Written(student)
        assignment.course.student_id = student
        converter = Known(Ready(graded, tier), assignment)
        try:
            converter.start()
        except NbGraderException as e:
            return Written(student, fault=str(e))
    return Written(student, graded.verdict)


@dataclass(frozen=True)
class Ready:
    """A verdict that is known already; as `graders.Graders`."""

    known: Graded
    tier: Tier

    def graded(self, step: Step, place: Path, student: str) -> Graded:
        """The verdict, which is on that student's work for that step."""
        if (self.known.verdict.step, self.known.submission.name) != (step.name, student):
            raise LookupError(f"no verdict for {step.name}")
        return self.known


class Known(Autograde):
    """nbgrader's own converter, on one student's submission whose verdict is known."""

    def __init__(self, grading: Ready, assignment: Assignment) -> None:
        super().__init__(coursedir=assignment.course, parent=assignment.app)
        self.grading, self.assignment = grading, assignment
        self.force = True
        self.permissions = 644  # an nbgrader that waits for its turn is to write there, too

    def init_notebooks(self) -> None:
        """What is to be converted: the notebook, whether it is there or not."""
        folder = self.assignment.submitted(self.grading.known.submission.name)
        self.assignments = {str(folder): [str(folder / f"{self.assignment.step.name}.ipynb")]}

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """As nbgrader does it, but in one go: what was cleaned is not written and read again."""
        self.exporter._preprocessors = []
        for one in (*self.sanitize_preprocessors, *self.autograde_preprocessors):
            self.exporter.register_preprocessor(one)
        BaseConverter.convert_single_notebook(self, notebook_filename)
