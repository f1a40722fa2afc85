"""What cannot be done around a course is said in a sentence, with what to do about it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.classroom.course import ROOT, Course, answered

Run = Callable[..., Any]


def refused(result: Any, *words: str) -> None:
    """Exit status 2, one sentence on stderr."""
    assert result.status == 2
    assert result.err.startswith("autograder: ")
    assert "Traceback" not in result.err and len(result.err.strip().splitlines()) == 1
    for word in words:
        assert word in result.err


def test_a_course_is_made_in_an_empty_folder_only(run: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    refused(run("course", "create", tmp_path / "full", "--steps", 4), "full")
    assert os.listdir(tmp_path / "full") == ["mine.txt"]
    refused(run("course", "create", tmp_path / "full" / "mine.txt", "--steps", 4), "mine.txt")


@pytest.mark.parametrize("steps", ["0", "9-1", "x", "1-99", "", "1,,2", "1-2-3", "-1"])
def test_steps_that_are_none(run: Run, tmp_path: Path, steps: str) -> None:
    result = run("course", "create", tmp_path / "course", f"--steps={steps}")
    assert result.status == 2 and "Traceback" not in result.err
    assert not (tmp_path / "course").exists()


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (b"name\nada\n", "id"),
        (b"", "id"),
        (b"id,grade\nada,1\n", "lms_user_id"),
        (b"id;first_name\nada;Ada\n", "id"),
        (b"id,first_name\nada,Ada\n,Bob\n", "line 3"),
        (b"id\nada\nbob\nada\n", "line 4"),
        (b"id\n../evil\n", "line 2"),
        (b"id\n.hidden\n", "line 2"),
        (b"id\na*\n", "line 2"),
        (b"id\nada,Ada\n", "line 2"),
        ("id\n김\n".encode("cp949"), "students.csv"),
        (b"id\nada\0\n", "students.csv"),
    ],
)
def test_lists_of_students_that_are_none(run: Run, tmp_path: Path, table: bytes, says: str) -> None:
    pytest.importorskip("nbgrader")
    students = tmp_path / "students.csv"
    students.write_bytes(table)
    place = tmp_path / "course"
    refused(run("course", "create", place, "--steps", 4, "--students", students), says)
    assert not place.exists()


def test_a_list_as_spreadsheets_write_it(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("nbgrader")
    students = tmp_path / "students.csv"
    students.write_bytes("\ufeffid,first_name\r\nada , Ada\r\n김 민수,민수\r\n".encode())
    course = Course(tmp_path / "course")
    done = run("course", "create", course.root, "--steps", 4, "--students", students)
    assert done.status == 0, done.err
    found = course.rows("select id, first_name from student order by id")
    assert found == [("ada", "Ada"), ("김 민수", "민수")]


def test_grading_what_is_no_course(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("nbgrader")
    refused(run("grade", "4", "--course", tmp_path), "nbgrader_config.py")
    refused(run("grade", "4", "--course", tmp_path / "none"), "none")
    refused(run("grade", "4", "--course", tmp_path, "--folder", tmp_path), "--course")
    refused(run("grade", "4"), "--course")


def test_grading_what_was_not_released(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("nbgrader")
    course = tmp_path / "course"
    assert run("course", "create", course, "--steps", "4").status == 0
    refused(run("grade", "4", "--course", course), "nbgrader generate_assignment step04")


def test_nothing_handed_in(run: Run, released: Course) -> None:
    result = run("grade", "4", "--course", released.root)
    assert (result.status, result.err) == (0, "")
    assert "nbgrader collect step04" in result.out
    refused(run("report", "4", "--course", released.root), "for step04 in", "is graded yet\n")
    refused(run("report", "--course", released.root), "is graded yet\n")


@pytest.mark.parametrize("config", ["c = get_config()", "this is no Python"])
def test_a_course_where_nbgrader_would_run_code_itself(
    run: Run, released: Course, tmp_path: Path, config: str
) -> None:
    course = released.copy(tmp_path / "course")
    (course.root / "nbgrader_config.py").write_text(config)
    own = tmp_path / "was here"
    course.hand_in("ada", "step04", answered(course.released("step04"), f"open({str(own)!r}, 'w')"))
    result = run("grade", "4", "--course", course.root)
    assert result.status == 2 and "c.Autograde" in result.err
    assert not own.exists() and course.marks("step04") == {}


def test_a_gradebook_that_is_none(run: Run, released: Course, tmp_path: Path) -> None:
    course = released.copy(tmp_path / "course")
    (course.root / "gradebook.db").write_text("no database")
    for words in (("grade", "4"), ("report", "4")):
        refused(run(*words, "--course", course.root), "gradebook")


@pytest.mark.parametrize("name", ["a%20b", "[x]", "a?"])
def test_a_folder_in_which_nbgrader_finds_nothing(run: Run, tmp_path: Path, name: str) -> None:
    pytest.importorskip("nbgrader")
    refused(run("course", "create", tmp_path / name, "--steps", "4"), name)
    assert os.listdir(tmp_path) == []


def test_marks_of_a_course_go_nowhere_else(run: Run, released: Course, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    refused(run("grade", "4", "--course", released.root, "--out", out), "--out")


@pytest.mark.parametrize("words", [("course", "create"), ("grade", "4", "--course")])
def test_without_nbgrader_the_extra_is_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    """As where it is not installed: it is not found where packages are."""
    block = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        own = name.split(".")[0] in ("nbgrader", "nbformat", "nbconvert", "jupyterlab", "traitlets")
        return None if own else super().find_spec(name, path, target)

sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from autograder.front.command import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", block, *words, str(tmp_path)],
        env={**os.environ, "AUTOGRADER_LANG": "en", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "[classroom]" in done.stderr and "Traceback" not in done.stderr
