"""A class of forty is graded in three ways that agree; each gets its marks and a reason."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from tests.classroom.course import Course, checked, lines_of_answers
from tests.classroom.pupils import ALL, CLASS, LOOPS, NO_RELU, RIGHT

EVERYONE = {**CLASS, "loops": LOOPS}
WAYS = ("autograded", "graded")
# Whose file `autograder check --file` would read, but a class's grader does not.
REFUSED = ("linked", "too large")


@pytest.fixture(params=WAYS)
def course(request: pytest.FixtureRequest) -> Course:
    """The graded class, in both ways."""
    found: Course = request.getfixturevalue(request.param)
    return found


def test_the_marks_are_what_they_should_be(course: Course) -> None:
    marks = course.marks("step04")
    assert {name: marks.get(name) for name in EVERYONE} == {
        name: pupil.points for name, pupil in EVERYONE.items()
    }


def test_the_marks_are_those_of_the_command_line(handed_in: Course, autograded: Course) -> None:
    marks = autograded.marks("step04")
    for name in CLASS.keys() - set(REFUSED):
        folder = handed_in.folder(name, "step04")
        file = folder / "feed_forward.py"
        file = file if file.is_file() else folder / "step04.ipynb"
        assert checked(file, "step04") == marks[name], name


def test_a_file_alone_is_graded_by_the_kit_only(autograded: Course, graded: Course) -> None:
    assert "only a file" not in autograded.marks("step04")
    assert graded.marks("step04")["only a file"] == ALL


def test_who_hands_in_nothing_has_no_submission(course: Course) -> None:
    assert "absent" not in course.marks("step04")
    assert course.rows("select first_name from student where id = 'absent'") == [("Bob",)]


@pytest.mark.parametrize("name", EVERYONE)
def test_feedback_says_why_and_nothing_of_the_kit(course: Course, name: str) -> None:
    page = course.feedback(name, "step04")
    body = page[page.index("<body") :]
    assert _words(EVERYONE[name].says) in _words(body)
    assert "<script>alert" not in page and "<i>noise" not in page and "<b>x" not in page
    for place in ("site-packages", "autograder/", "Traceback", str(course.root)):
        assert place not in body


def test_what_a_link_leads_to_is_given_to_nobody(course: Course) -> None:
    answers = set(lines_of_answers("step04"))
    for directory in ("autograded", "feedback"):
        found = _text(course.root / directory / "linked")
        assert not [line for line in answers if line in found], directory


def test_neither_release_nor_feedback_holds_an_answer(course: Course) -> None:
    answers = set(lines_of_answers("step04"))
    for place in ("release", "feedback/untouched", "feedback/renamed", "feedback/no notebook"):
        own = RIGHT if place == "feedback/renamed" else ""
        found = _text(course.root / place)
        assert not [line for line in answers if line in found and line not in own], place
    assert "hidden = self.w_1(x)" in answers


def test_a_students_answer_is_never_lost(course: Course) -> None:
    """Not where it stands in a cell of the instructor's, and not beside a file of Python."""
    for name in ("elsewhere", "in a check", "gone", "format 3", "duplicated"):
        book = _text(course.root / "autograded" / name)
        assert "hidden = self.w_1(x)" in book, name
    file = course.root / "autograded" / "beside, wrong" / "step04" / "feed_forward.py"
    assert file.read_text() == NO_RELU


def test_export_has_a_line_for_each(course: Course) -> None:
    course.nbgrader("export")
    lines = (course.root / "grades.csv").read_text().splitlines()
    scores = {}
    for line in lines[1:]:
        found = re.search(r",(right|no_relu|absent|linked),.*,([\d.]+),10\.0$", line)
        if found:
            scores[found[1]] = float(found[2])
    assert scores == {"right": 10, "no_relu": 7, "absent": 0, "linked": 0}


def _words(text: str) -> str:
    """As read: without tags and what has no width, and with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("\u200b", "").split())


def _text(place: Path) -> str:
    """All that is in the files of a folder."""
    assert place.is_dir()
    files = [Path(folder, name) for folder, _, names in os.walk(place) for name in names]
    return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
