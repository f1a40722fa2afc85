"""A course in a folder, worked with by the commands as an instructor or a student types them."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from autograder.core.source import Source
from autograder.core.step import Step, find_step
from autograder.core.verdict import Verdict
from tests.settings import settings_in

ROOT = Path(__file__).parents[2]
Book = dict[str, Any]
Points = dict[str, float]  # of each check


@dataclass(frozen=True)
class Done:
    """What a command did; `said` is what it has written, wherever."""

    status: int
    said: str


def call(place: Path, *words: object, **environment: str) -> Done:
    """A command, run in that folder; `autograder` and `nbgrader` are those beside this Python."""
    command, *rest = map(str, words)
    told = environ(place, **environment)
    done = subprocess.run(
        [*program(command), *rest],
        cwd=place,
        env=told,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    return Done(done.returncode, done.stdout)


def program(name: str) -> list[str]:
    """How one of the two is started."""
    if name == "autograder":
        return [
            sys.executable,
            "-c",
            "import sys; from autograder.front.command import main; sys.exit(main())",
        ]
    return [sys.executable, "-m", name]


def environ(place: Path, **more: str) -> dict[str, str]:
    """The variables that the commands see: the kit is this one, and speaks English."""
    found = settings_in(place / ".home")
    kit = os.pathsep.join(p for p in (str(ROOT), found.get("PYTHONPATH", "")) if p)
    return {**found, "PYTHONPATH": kit, "AUTOGRADER_LANG": "en", **more}


@dataclass(frozen=True)
class Course:
    """The course in a folder."""

    root: Path

    @classmethod
    def made(cls, root: Path, *words: object) -> Course:
        """A new one; `words` follow `autograder course create DIR`."""
        root.parent.mkdir(parents=True, exist_ok=True)
        done = call(root.parent, "autograder", "course", "create", root, *words)
        assert done.status == 0, done.said
        return cls(root)

    def copy(self, place: Path) -> Course:
        """The same course in another folder."""
        shutil.copytree(self.root, place, symlinks=True)
        return Course(place)

    def nbgrader(self, *words: object) -> str:
        """What one of nbgrader's commands says."""
        done = call(self.root, "nbgrader", *words)
        assert done.status == 0, done.said
        return done.said

    def grade(self, step: str, *words: object) -> str:
        """What `autograder grade --course` says."""
        done = call(self.root, "autograder", "grade", "--course", self.root, step, *words)
        assert done.status == 0, done.said
        return done.said

    def graded_here(self, step: str) -> int:
        """How many were graded, by the same command in this process, which has torch already."""
        from autograder.front.command import main

        said = io.StringIO()
        words = ["autograder", "grade", "--course", str(self.root), step, "--lang", "en"]
        with patch.object(sys, "argv", words), redirect_stdout(said):
            assert main() == 0, said.getvalue()
        return int(said.getvalue().split(" graded, ")[1].split()[0])

    def released(self, step: str) -> Book:
        """The notebook that students are given."""
        return read(self.root / "release" / step / f"{step}.ipynb")

    def folder(self, student: str, step: str) -> Path:
        """Where a student's work lies; made if it is missing."""
        place = self.root / "submitted" / student / step
        place.mkdir(parents=True, exist_ok=True)
        return place

    def hand_in(self, student: str, step: str, book: Book) -> None:
        """Put a notebook where `nbgrader collect` would."""
        path = self.folder(student, step) / f"{step}.ipynb"
        path.write_text(json.dumps(book), encoding="utf-8")

    def marks(self, step: str) -> dict[str, Points]:
        """The automatic score of each check, of all who have a submission in the gradebook."""
        found: dict[str, Points] = {}
        for student, cell, score in self.rows(_MARKS, step):
            found.setdefault(student, {})[cell] = score
        return found

    def rows(self, query: str, *values: object) -> list[Any]:
        """What the gradebook answers."""
        with closing(sqlite3.connect(self.root / "gradebook.db", timeout=60)) as book:
            return book.execute(query, values).fetchall()

    def feedback(self, student: str, step: str) -> str:
        """The page that a student is given."""
        page = self.root / "feedback" / student / step / f"{step}.html"
        return page.read_text(encoding="utf-8")

    def recorded(self, student: str, step: str) -> dict[str, Any]:
        """The line of results in a graded notebook."""
        book = read(self.root / "autograded" / student / step / f"{step}.ipynb")
        line: dict[str, Any] = book["metadata"]["autograder"][step]
        return line


_MARKS = """
    select sa.student_id, bc.name, g.auto_score from grade g
    join base_cell bc on bc.id = g.cell_id
    join submitted_notebook sn on sn.id = g.notebook_id
    join submitted_assignment sa on sa.id = sn.assignment_id
    join assignment a on a.id = sa.assignment_id where a.name = ?
"""


def read(path: Path) -> Book:
    """A notebook's JSON."""
    book: Book = json.loads(path.read_text(encoding="utf-8"))
    return book


def text_of(cell: Book) -> str:
    """What a cell holds."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def told(cell: Book) -> dict[str, Any]:
    """nbgrader's metadata of a cell."""
    found: dict[str, Any] = cell["metadata"].get("nbgrader", {})
    return found


def to_write(book: Book) -> list[Book]:
    """The cells that a student fills in."""
    return [cell for cell in book["cells"] if told(cell).get("solution")]


def checks(book: Book) -> list[Book]:
    """The cells that earn points."""
    return [cell for cell in book["cells"] if told(cell).get("grade")]


def answered(book: Book, text: str) -> Book:
    """The notebook with that text in its first cell to write, and nothing in the others."""
    copy: Book = json.loads(json.dumps(book))
    first, *others = to_write(copy)
    first["source"] = text
    for cell in others:
        cell["source"] = ""
    return copy


def points_of(verdict: Verdict, step: Step) -> Points:
    """The points of each check that nbgrader grades."""
    graded = {check.name for check in step.checks if check.graded}
    return {c.check: c.points for c in verdict.checks if c.check in graded}


def checked(path: Path, step: str) -> Points:
    """The points that `autograder check --file` gives."""
    from autograder.core.grading import grade

    found = find_step(step)
    return points_of(grade(found, Source.read(path)), found)


def lines_of_answers(step: str) -> Iterator[str]:
    """The lines between the marks of a model answer, but for those that anybody may write."""
    inside = False
    for line in find_step(step).solution.read_text(encoding="utf-8").splitlines():
        if "END SOLUTION" in line:
            inside = False
        if inside and len(line.strip()) > 15:
            yield line.strip()
        inside = inside or "BEGIN SOLUTION" in line
