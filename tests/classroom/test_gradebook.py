"""What a person has written in the gradebook stays; what is graded is not graded again."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from tests.classroom.course import Course, environ, program
from tests.classroom.pupils import ALL, CLASS, NO_RELU, RIGHT, WITHOUT_OUTPUT

CONFIG = """
import sys

sys.path.insert(0, c.CourseDirectory.root)
c.AssignLatePenalties.plugin_class = "penalty.AnHour"
"""
PENALTY = '''"""A course's own rule: a point for each hour that was begun."""

from math import ceil

from nbgrader.plugins import BasePlugin


class AnHour(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return min(score, ceil(total_seconds_late / 3600))
'''
COUNTED = ("grade", "comment", "submitted_assignment", "submitted_notebook", "student")
Grading = Callable[[Course], None]


def by_nbgrader(course: Course) -> None:
    course.nbgrader("autograde", "step04", "--force")


def by_the_kit(course: Course) -> None:
    course.graded_here("step04")


def hand_in(course: Course, *names: str) -> None:
    for name in names:
        place = course.folder(name, "step04")
        CLASS[name].hand_in(place, course.released("step04"))


@pytest.fixture
def course(released: Course, tmp_path: Path) -> Course:
    """A course with two students' work, one hour and a second late and in time."""
    course = released.copy(tmp_path / "course")
    hand_in(course, "right", "no_relu")
    config = course.root / "nbgrader_config.py"
    config.write_text(config.read_text() + CONFIG)
    (course.root / "penalty.py").write_text(PENALTY)
    update(course, "update assignment set duedate = '2030-01-01 12:00:00.000000'")
    for name, hour in (("right", "13:00:01"), ("no_relu", "11:00:00")):
        timestamp(course, name, hour)
    return course


def timestamp(course: Course, name: str, hour: str) -> None:
    (course.folder(name, "step04") / "timestamp.txt").write_text(f"2030-01-01 {hour} UTC\n")


def update(course: Course, statement: str, *values: object) -> None:
    """Change the gradebook as a person does in Formgrader."""
    with closing(sqlite3.connect(course.root / "gradebook.db", timeout=60)) as book, book:
        book.execute(statement, values)


def late(course: Course) -> dict[str, float | None]:
    query = "select a.student_id, n.late_submission_penalty from submitted_notebook n join "
    return dict(course.rows(query + "submitted_assignment a on a.id = n.assignment_id"))


@pytest.mark.parametrize("graded_again", [by_nbgrader, by_the_kit])
def test_what_a_person_has_written_stays(course: Course, graded_again: Grading) -> None:
    course.graded_here("step04")
    assert late(course) == {"right": 2, "no_relu": None}
    cell = "(select id from base_cell where name = 'output')"
    update(course, f"update grade set manual_score = 1.5, extra_credit = 2 where cell_id = {cell}")
    update(course, "update comment set manual_comment = 'Well done.'")
    # The other's work, newly handed in: graded again, with its old marks overridden.
    course.hand_in("right", "step04", course.released("step04"))
    graded_again(course)
    assert course.marks("step04") == {"right": dict.fromkeys(ALL, 0), "no_relu": WITHOUT_OUTPUT}
    kept = course.rows(
        "select auto_score, manual_score, extra_credit from grade where cell_id = " + cell
    )
    assert sorted(kept) == [(0, 1.5, 2), (0, 1.5, 2)]
    assert {c for (c,) in course.rows("select manual_comment from comment")} == {"Well done."}
    course.nbgrader("export")
    lines = (course.root / "grades.csv").read_text().splitlines()
    (line,) = [line for line in lines if ",right," in line]
    assert line.endswith(",1.5,10.0")  # 1.5 + 2, and 2 less for two hours


def test_late_penalties_are_the_courses_own(course: Course, tmp_path: Path) -> None:
    other = course.copy(tmp_path / "other" / "course")
    course.graded_here("step04")
    other.nbgrader("autograde", "step04")
    assert late(course) == late(other) == {"right": 2, "no_relu": None}
    assert other.graded_here("step04") == 0  # whoever has graded it
    timestamp(course, "right", "12:00:00")
    assert course.graded_here("step04") == 1
    assert late(course) == {"right": None, "no_relu": None}


def test_only_what_has_changed_is_graded_again(course: Course) -> None:
    assert course.graded_here("step04") == 2
    before = notebooks(course)
    assert course.graded_here("step04") == 0
    assert notebooks(course) == before
    (course.folder("no_relu", "step04") / "feed_forward.py").write_text(RIGHT)
    assert course.graded_here("step04") == 1
    assert course.marks("step04") == {"right": ALL, "no_relu": ALL}
    (course.folder("no_relu", "step04") / "feed_forward.py").unlink()
    assert course.graded_here("step04") == 1
    assert course.marks("step04")["no_relu"] == WITHOUT_OUTPUT


def notebooks(course: Course) -> dict[str, bytes]:
    found = course.root.glob("autograded/*/step04/*.ipynb")
    return {path.parts[-3]: path.read_bytes() for path in found}


def crowd(released: Course, place: Path, count: int) -> tuple[Course, dict[str, dict[str, int]]]:
    """A course with that many students, and what they earn."""
    course = released.copy(place)
    kinds = {"right": RIGHT, "no_relu": NO_RELU, "untouched": ""}
    points: dict[str, dict[str, int]] = {}
    for number in range(count):
        kind = list(kinds)[number % len(kinds)]
        name = f"{number:02d}-{kind}"
        CLASS[kind].hand_in(course.folder(name, "step04"), released.released("step04"))
        points[name] = CLASS[kind].points
    return course, points


def begun(course: Course, *words: str) -> subprocess.Popen[bytes]:
    """A command that goes on, its prints in a file."""
    log = course.root / f"{words[0]}.log"
    with log.open("ab") as file:
        return subprocess.Popen(
            [*program(words[0]), *words[1:]],
            cwd=course.root,
            env=environ(course.root),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )


def counts(course: Course) -> dict[str, int]:
    """How many rows each table holds."""
    return {name: course.rows(f"select count(*) from {name}")[0][0] for name in COUNTED}


def assert_whole(course: Course, points: dict[str, dict[str, int]]) -> None:
    """Nothing is lost, and nothing there twice."""
    number = len(points)
    enrolled = number + 2  # those of the list
    assert course.marks("step04") == points
    assert counts(course) == {
        "grade": number * len(ALL),
        "comment": number,
        "submitted_assignment": number,
        "submitted_notebook": number,
        "student": enrolled,
    }
    for name in points:
        assert course.recorded(name, "step04")["points"] == sum(points[name].values())


@pytest.mark.slow
def test_killed_half_way_the_same_command_goes_on(released: Course, tmp_path: Path) -> None:
    course, points = crowd(released, tmp_path / "course", 8)
    kit = begun(
        course, "autograder", "grade", "--course", str(course.root), "step04", "--jobs", "1"
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and len(notebooks(course)) < 3:
        time.sleep(0.02)
    kit.send_signal(signal.SIGKILL)
    assert kit.wait() == -signal.SIGKILL
    done = len(notebooks(course))
    assert 3 <= done < 8
    anew = course.graded_here("step04")
    assert 8 - done <= anew <= 8 - done + 1  # the one that was being written
    assert_whole(course, points)


NBGRADER = ("nbgrader", "autograde", "step04")


@pytest.mark.slow
@pytest.mark.parametrize("others", [1, 2])
def test_several_graders_at_once(released: Course, tmp_path: Path, others: int) -> None:
    course, points = crowd(released, tmp_path / "course", 12)
    kit = ("autograder", "grade", "--course", str(course.root), "step04")
    both = [begun(course, *kit), begun(course, *(kit if others == 1 else NBGRADER))]
    assert [process.wait(timeout=300) for process in both] == [0, 0], (
        course.root / "autograder.log"
    ).read_text()
    assert_whole(course, points)


@pytest.mark.slow
def test_another_that_writes_is_waited_for(course: Course) -> None:
    """Longer than SQLite waits by itself."""
    with closing(sqlite3.connect(course.root / "gradebook.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        kit = begun(course, "autograder", "grade", "--course", str(course.root), "step04")
        with pytest.raises(subprocess.TimeoutExpired):
            kit.wait(20)
        other.execute("rollback")
    assert kit.wait(120) == 0
    assert course.marks("step04") == {"right": ALL, "no_relu": WITHOUT_OUTPUT}
