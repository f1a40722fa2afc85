"""A student and an instructor, with nbgrader's commands as they are typed, and its exchange."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from tests.classroom.course import Course, answered, call, read
from tests.classroom.pupils import ALL, NO_RELU, RIGHT, wrong


@pytest.mark.slow
def test_from_release_to_a_mark(released: Course, tmp_path: Path) -> None:
    course = released.copy(tmp_path / "course")
    config = course.root / "nbgrader_config.py"
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    config.write_text(config.read_text() + f"\nc.Exchange.root = {str(exchange)!r}\n")
    name = re.search(r"course_id = '([^']+)'", config.read_text())
    assert name
    course.nbgrader("release_assignment", "step04")

    home = tmp_path / "ada"
    home.mkdir()
    words = ("step04", "--course", name[1], f"--Exchange.root={exchange}")
    assert "step04" in call(home, "nbgrader", "list", *words[1:]).said
    assert call(home, "nbgrader", "fetch_assignment", *words).status == 0
    notebook = home / "step04" / "step04.ipynb"
    assert read(notebook) == course.released("step04")
    notebook.write_text(json.dumps(answered(read(notebook), RIGHT)))
    done = call(home, "nbgrader", "submit", *words)
    assert done.status == 0, done.said

    course.nbgrader("collect", "step04")
    (student,) = [path.name for path in (course.root / "submitted").iterdir()]
    assert (course.root / "submitted" / student / "step04" / "timestamp.txt").is_file()
    course.grade("step04")
    assert course.marks("step04") == {student: ALL}
    assert "0 of them now" in course.grade("step04")


@pytest.mark.slow
def test_validate_says_what_check_says(released: Course, tmp_path: Path) -> None:
    book = released.released("step04")
    raises = wrong("hidden.relu()", f"{{}}[{'long and ' * 30!r}, {'x' * 120!r}]")
    books = (answered(book, RIGHT), answered(book, NO_RELU), book, answered(book, raises))
    names = []
    for name, own in zip(("right", "wrong", "stub", "raises"), books, strict=True):
        names.append(f"{name}.ipynb")
        (tmp_path / names[-1]).write_text(json.dumps(own))
    said = call(tmp_path, "nbgrader", "validate", *names).said
    right, no_relu, stub, long = re.split("^(?=VALIDATION FAILED)", said, flags=re.MULTILINE)
    assert "Success! Your notebook passes all the tests." in right
    assert "no activation between the two layers" in no_relu
    assert "Not implemented yet" in stub and "NameError" not in said
    assert "site-packages" not in said
    assert "long and long and" in long and "xxx" in long
    assert not [line for line in said.splitlines() if line.endswith("...")]
