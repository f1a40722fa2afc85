"""One class, handed in once, and graded in both ways."""

from __future__ import annotations

import pytest

pytest.importorskip("nbgrader")

from autograder.core import engine

engine.start()

from tests.classroom import pupils  # noqa: E402
from tests.classroom.course import Course  # noqa: E402


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What looks at the class that is graded once runs in one process; the rest where it may."""
    for item in items:
        if {"autograded", "graded"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("class"))


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course of step 4, as it is before anybody hands in."""
    root = tmp_path_factory.mktemp("released") / "course"
    students = root.parent / "students.csv"
    students.write_text("id,first_name\nright,Ada\nabsent,Bob\n")
    course = Course.made(root, "--steps", "4", "--students", students)
    course.nbgrader("generate_assignment", "step04")
    return course


@pytest.fixture(scope="session")
def handed_in(released: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The class has handed in."""
    course = released.copy(tmp_path_factory.mktemp("handed_in") / "course")
    pupils.hand_all_in(course)
    return course


@pytest.fixture(scope="session")
def autograded(handed_in: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """`nbgrader autograde` and `nbgrader generate_feedback` were run."""
    course = handed_in.copy(tmp_path_factory.mktemp("autograded") / "course")
    course.nbgrader("autograde", "step04")
    course.nbgrader("generate_feedback", "step04")
    return course


@pytest.fixture(scope="session")
def graded(handed_in: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """`autograder grade --course` and `nbgrader generate_feedback` were run."""
    course = handed_in.copy(tmp_path_factory.mktemp("graded") / "course")
    course.grade("step04")
    course.nbgrader("generate_feedback", "step04")
    return course
