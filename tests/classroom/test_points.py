"""An instructor gives check cells other points: a check is worth as much of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from tests.classroom.course import Course, answered, call, checks, read, told
from tests.classroom.pupils import NO_RELU, RIGHT

POINTS = {"shape": 0, "output": 6, "dropout": 0.5}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = Course.made(tmp_path_factory.mktemp("points") / "course", "--steps", "4")
    path = made.root / "source" / "step04" / "step04.ipynb"
    book = read(path)
    for cell in checks(book):
        name = told(cell)["grade_id"]
        told(cell)["points"] = POINTS.get(name, told(cell)["points"])
    path.write_text(json.dumps(book), encoding="utf-8")
    made.nbgrader("generate_assignment", "step04")
    for student, text in (("right", RIGHT), ("wrong", NO_RELU)):
        made.hand_in(student, "step04", answered(made.released("step04"), text))
    return made


@pytest.mark.parametrize("way", [pytest.param("nbgrader", marks=pytest.mark.slow), "kit"])
def test_both_ways_give_the_cells_points(course: Course, tmp_path: Path, way: str) -> None:
    mine = course.copy(tmp_path / "course")
    if way == "nbgrader":
        mine.nbgrader("autograde", "step04", "--log-level=ERROR")
    else:
        assert mine.graded_here("step04") == 2
    right = {"parameters": 2, "positions": 1, "gradients": 1, **POINTS}
    assert mine.marks("step04") == {"right": right, "wrong": {**right, "output": 0}}


@pytest.mark.slow
def test_validate_is_satisfied_with_what_is_right(course: Course) -> None:
    path = course.folder("right", "step04") / "step04.ipynb"
    assert "Success" in call(course.root, "nbgrader", "validate", path).said
