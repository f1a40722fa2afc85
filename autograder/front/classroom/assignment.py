"""An assignment of an nbgrader course: who has handed in, and what is graded already."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.preprocessors import ExecutePreprocessor
from nbgrader.api import MissingEntry
from nbgrader.apps.autogradeapp import AutogradeApp
from nbgrader.converters import Autograde
from traitlets.utils.importstring import import_item

from autograder.bulk.fingerprint import fingerprint
from autograder.bulk.submissions import Submission, names_in
from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.front.classroom.calls import call_in
from autograder.front.classroom.execute import KitExecute
from autograder.front.classroom.gradebook import opened, patient, programs_found
from autograder.front.classroom.record import recorded


@dataclass(frozen=True)
class Assignment:
    """The assignment of a step, in a course's own configuration (`app`).

    Attributes:
        app: nbgrader's program, with the course's configuration.
        step: which step it is about; the assignment has its name.
        lang: the language of its checks.
        gradebook: the course's, to read from.
    """

    app: AutogradeApp
    step: Step
    lang: str
    gradebook: Any

    @property
    def course(self) -> Any:
        """nbgrader's `CourseDirectory`."""
        return self.app.coursedir

    def check_walls(self) -> None:
        """Go on only where nbgrader runs no code of students' itself.

        Raises:
            Trouble: the course's configuration is not the kit's, or it is broken.
        """
        listed = Autograde(coursedir=self.course, parent=self.app).autograde_preprocessors
        kinds = [import_item(one) if isinstance(one, str) else one for one in listed]
        runs = any(isinstance(k, type) and issubclass(k, ExecutePreprocessor) for k in kinds)
        if runs or KitExecute not in kinds:
            raise Trouble("course_without_kit", path=self.course.root)

    def submitted(self, student: str) -> Path:
        """The folder that holds what a student has handed in."""
        return self._path(self.course.submitted_directory, student)

    def autograded(self, student: str) -> Path:
        """The notebook that nbgrader has made of it; it may be missing."""
        folder = self._path(self.course.autograded_directory, student)
        return folder / f"{self.step.name}.ipynb"

    def students(self) -> list[str]:
        """Who has handed in, in order."""
        place = Path(self.course.root, self.course.submitted_directory)
        if not place.is_dir():
            return []
        return [name for name in names_in(place) if self.submitted(name).is_dir()]

    def line(self, student: str) -> dict[str, Any] | None:
        """What was recorded of the student's verdict."""
        try:
            book = nbformat.read(self.autograded(student), as_version=4)
        except (OSError, ValueError, nbformat.reader.NotJSONError):
            return None
        return recorded(book).get(self.step.name)

    def is_graded(self, student: str, submission: Submission) -> bool:
        """Whether this very submission is, and the gradebook knows."""
        line = self.line(student)
        if not line:
            return False
        made_from = fingerprint(submission, self.step, line["seed"], self.lang)
        if line["fingerprint"] != made_from:
            return False
        try:
            handed_in = self.course.get_existing_timestamp(str(self.submitted(student)))
        except Exception:  # whatever a time that is none raises; nbgrader says so when it grades
            return False
        try:
            known = self.gradebook.find_submission(self.step.name, student)
        except MissingEntry:
            return False
        scores = [grade.auto_score for book in known.notebooks for grade in book.grades]
        graded = known.timestamp == handed_in and None not in scores
        self.gradebook.db.rollback()  # nothing is remembered: others write there, too
        return graded

    def _path(self, directory: str, student: str) -> Path:
        return Path(self.course.format_path(directory, student, self.step.name))


@contextmanager
def assignment(course: Path, step: Step) -> Iterator[Assignment]:
    """The assignment of that step; inside, the current folder is the course's.

    Raises:
        Trouble: there is no course, or no such assignment in its gradebook.
    """
    with assignments(course) as of:
        found = of(step)
        found.course.assignment_id = step.name  # nbgrader's converters work on one
        yield found


@contextmanager
def assignments(course: Path) -> Iterator[Callable[[Step], Assignment]]:
    """What gives the assignments, to read; inside, the current folder is the course's.

    Raises:
        Trouble: there is no course. What is given raises it where there is no such assignment.
    """
    if not (course / "nbgrader_config.py").is_file():
        raise Trouble("no_course", path=course)
    before = Path.cwd()
    os.chdir(course)
    try:
        with warnings.catch_warnings(), programs_found():
            warnings.simplefilter("ignore")  # SQLAlchemy's, about how nbgrader uses it
            app = AutogradeApp(log_level=logging.ERROR)
            app.initialize(["--log-level=ERROR"])
            app.coursedir.db_url = patient(app.coursedir.db_url)
            with opened(app.coursedir.db_url, app.coursedir.course_id) as gradebook:
                yield partial(_assignment, app, gradebook)
    finally:
        os.chdir(before)


def _assignment(app: AutogradeApp, gradebook: Any, step: Step) -> Assignment:
    """The checks in the assignment's notebook tell its language."""
    course = Path(app.coursedir.root)
    try:
        cells = gradebook.find_notebook(step.name, step.name).source_cells
    except MissingEntry:
        raise Trouble("no_assignment", step=step.name, path=course) from None
    calls = [call_in(cell.source or "") for cell in cells if cell.locked]
    found = next((c for c in calls if c and c.step == step), None)
    if found is None:
        raise Trouble("no_checks", step=step.name, path=course)
    return Assignment(app, step, found.lang, gradebook)
