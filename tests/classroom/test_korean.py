"""A course in Korean: the checks, and so the feedback, speak it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from autograder.core.step import find_step
from tests.classroom.course import Course, answered, checks, text_of

STEP = find_step(9)
MISTAKE = STEP.misconceptions[0]


def test_feedback_in_korean(tmp_path: Path) -> None:
    course = Course.made(tmp_path / "course", "--steps", "9", "--lang", "ko")
    course.nbgrader("generate_assignment", "step09")
    book = course.released("step09")
    assert all('lang="ko"' in text_of(cell) for cell in checks(book))
    right = STEP.solution.read_text(encoding="utf-8")
    course.hand_in("right", "step09", answered(book, right))
    course.hand_in("wrong", "step09", answered(book, MISTAKE.applied_to(right)))
    course.hand_in("stub", "step09", book)
    assert course.graded_here("step09") == 3
    points = {name: sum(own.values()) for name, own in course.marks("step09").items()}
    assert points["right"] == 10 > points["wrong"] > points["stub"] == 0
    course.nbgrader("generate_feedback", "step09")
    assert MISTAKE.name["ko"] in course.feedback("wrong", "step09")
    assert MISTAKE.name["en"] not in course.feedback("wrong", "step09")
    for check in STEP.checks:
        assert check.title["ko"] in course.feedback("right", "step09")
    assert "아직" in course.feedback("stub", "step09")
