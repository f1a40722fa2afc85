"""A course draws one seed, and every grader of it draws from that, today and later."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from autograder.front.classroom.seed import seed_of
from tests.classroom.course import Course, answered, call
from tests.classroom.pupils import NO_RELU, RIGHT

SEED = ".autograder.seed"


def test_whoever_grades_draws_the_same(released: Course, tmp_path: Path) -> None:
    course = released.copy(tmp_path / "course")
    for student in ("ada", "bob"):
        course.hand_in(student, "step04", answered(course.released("step04"), RIGHT))
    course.nbgrader("autograde", "step04", "--student", "ada", "--log-level=ERROR")
    assert course.graded_here("step04") == 1
    first = course.recorded("ada", "step04")["seed"]
    assert course.recorded("bob", "step04")["seed"] == first
    assert (course.root / SEED).read_text() == f"{first}\n"

    course.hand_in("bob", "step04", answered(course.released("step04"), "# late\n" + RIGHT))
    assert course.graded_here("step04") == 1
    assert course.recorded("bob", "step04")["seed"] == first
    seen = [path.name for path in course.root.iterdir() if path.name.startswith(SEED)]
    assert seen == [SEED]


def test_another_course_draws_another(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("a", "b")]
    for place in places:
        place.mkdir()
    seeds = [seed_of(place) for place in places]
    assert seeds[0] != seeds[1] and seeds == [seed_of(place) for place in places]


def test_an_appeal_against_what_is_not_graded_yet_is_told_in_its_numbers(
    released: Course, tmp_path: Path
) -> None:
    course = released.copy(tmp_path / "course")
    course.hand_in("ada", "step04", answered(course.released("step04"), NO_RELU))
    words = ("autograder", "grade", "4", "--course", ".", "--only", "ada")
    assert "--seed 5" in call(course.root, *words, "--seed", "5").said
    assert not (course.root / SEED).exists()
    said = call(course.root, *words).said
    assert f"--seed {(course.root / SEED).read_text()}" in said


def test_no_number_is_a_trouble_in_words(released: Course, tmp_path: Path) -> None:
    course = released.copy(tmp_path / "course")
    course.hand_in("ada", "step04", answered(course.released("step04"), RIGHT))
    (course.root / SEED).write_text("none\n")
    done = call(course.root, "autograder", "grade", "4", "--course", ".")
    assert done.status == 2 and SEED in done.said and "Traceback" not in done.said
    done = call(course.root, "nbgrader", "autograde", "step04")
    assert done.status and f"{SEED} cannot be read" in done.said


def test_many_who_ask_at_once_are_told_the_same(tmp_path: Path) -> None:
    for i in range(20):
        place = tmp_path / str(i)
        place.mkdir()
        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(seed_of, [place] * 8))) == 1
        assert [path.name for path in place.iterdir()] == [SEED]


def test_where_no_file_can_have_two_names_it_is_drawn_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    assert seed_of(tmp_path) == seed_of(tmp_path)
