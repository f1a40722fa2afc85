"""Numbers are drawn anew in each run: code that has run can tell its author what it saw."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from autograder.core.step import find_step
from autograder.front.classroom.graders import Graders
from autograder.wall.tiers import best
from tests.classroom.course import Course, answered, call
from tests.classroom.pupils import NO_RELU, RIGHT


def test_who_hands_in_later_gets_other_numbers(released: Course, tmp_path: Path) -> None:
    course = released.copy(tmp_path / "course")
    book = course.released("step04")
    for student in ("ada", "bob"):
        course.hand_in(student, "step04", answered(book, RIGHT))
    assert course.graded_here("step04") == 2
    first = course.recorded("ada", "step04")["seed"]
    assert course.recorded("bob", "step04")["seed"] == first
    course.hand_in("bob", "step04", answered(book, "# late\n" + RIGHT))
    assert course.graded_here("step04") == 1
    assert course.recorded("bob", "step04")["seed"] != first
    assert course.recorded("ada", "step04")["seed"] == first


def test_a_server_that_shows_formgrader_draws_anew_after_a_pause(
    released: Course, tmp_path: Path
) -> None:
    course = released.copy(tmp_path / "course")
    course.hand_in("ada", "step04", answered(course.released("step04"), RIGHT))
    grading, place = Graders(best()), course.folder("ada", "step04")
    step = find_step(4)
    seeds = [grading.graded(step, place, "ada").verdict.seed for _ in range(2)]
    grading.close()
    seeds.append(grading.graded(step, place, "ada").verdict.seed)
    grading.close()
    assert seeds[0] == seeds[1] != seeds[2]


def test_an_appeal_repeats_the_numbers_of_the_marks(released: Course, tmp_path: Path) -> None:
    course = released.copy(tmp_path / "course")
    course.hand_in("ada", "step04", answered(course.released("step04"), NO_RELU))
    words = ("autograder", "grade", "4", "--course", ".", "--only", "ada")
    assert "--seed 5" in call(course.root, *words, "--seed", "5").said
    assert course.graded_here("step04") == 1
    assert f"--seed {course.recorded('ada', 'step04')['seed']}" in call(course.root, *words).said
