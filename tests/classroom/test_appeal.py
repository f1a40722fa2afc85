"""A verdict of a course again; what lies beside a notebook, and a time that is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbgrader")

from tests.classroom.course import Course, answered, call
from tests.classroom.pupils import ALL, NO_RELU, NONE, RIGHT, WITHOUT_OUTPUT

Run = Callable[..., Any]


@pytest.fixture
def course(released: Course, tmp_path: Path) -> Course:
    """Ada's answer is right, Bob's is not."""
    found = released.copy(tmp_path / "course")
    for name, text in (("ada", RIGHT), ("bob", NO_RELU)):
        found.hand_in(name, "step04", answered(found.released("step04"), text))
    return found


def test_one_verdict_again(run: Run, course: Course) -> None:
    course.grade("step04")
    rows, line = course.rows("select * from grade"), course.recorded("bob", "step04")
    again = run("grade", "4", "--course", course.root, "--only", "bob")
    assert again.status == 1 and "7 of 10" in again.out
    assert "same" in again.out and str(line["seed"]) in again.out
    assert run("grade", "4", "--course", course.root, "--only", "ada").status == 0
    assert (rows, line) == (course.rows("select * from grade"), course.recorded("bob", "step04"))


def test_one_verdict_before_any_other(run: Run, course: Course) -> None:
    again = run("grade", "4", "--course", course.root, "--only", "bob", "--seed", 5)
    assert again.status == 1 and "--seed 5" in again.out
    assert course.marks("step04") == {}


@pytest.mark.parametrize("name", ["nobody", "", "../bob", "submitted"])
def test_a_student_who_is_none(run: Run, course: Course, name: str) -> None:
    result = run("grade", "4", "--course", course.root, "--only", name)
    assert result.status == 2 and "Traceback" not in result.err


def test_a_file_beside_what_was_released_counts(course: Course) -> None:
    released = (course.root / "release" / "step04" / "step04.ipynb").read_bytes()
    for name in ("all", "nothing"):
        (course.folder(name, "step04") / "step04.ipynb").write_bytes(released)
    (course.folder("all", "step04") / "transformer.py").write_text(RIGHT)
    course.grade("step04")
    marks = course.marks("step04")
    assert (marks["all"], marks["nothing"]) == (ALL, NONE)
    assert course.recorded("all", "step04")["file"] == "transformer.py"


@pytest.mark.slow
def test_a_time_that_is_none_stops_nobody_else(course: Course) -> None:
    course.grade("step04")
    (course.folder("ada", "step04") / "timestamp.txt").write_text("yesterday")
    course.hand_in("bob", "step04", answered(course.released("step04"), RIGHT))
    done = call(course.root, "autograder", "grade", "--course", course.root, "4")
    assert done.status == 1 and "ada" in done.said
    assert course.marks("step04")["bob"] == ALL


@pytest.mark.slow
def test_what_is_found_in_a_graded_notebook_may_be_anything(run: Run, course: Course) -> None:
    course.grade("step04")
    path = course.root / "autograded" / "bob" / "step04" / "step04.ipynb"
    text = path.read_text(encoding="utf-8")
    for lines in ("[1]", '{"step04": 3}', '{"step04": {"step": "step04", "seed": "x"}}'):
        path.chmod(0o644)
        path.write_text(text.replace('"autograder": {', f'"autograder": {lines}, "other": {{', 1))
        report = run("report", "4", "--course", course.root, "--out", course.root / "r.html")
        assert report.status == 0
    assert "1 of them now" in course.grade("step04")
    assert course.marks("step04")["bob"] == WITHOUT_OUTPUT
