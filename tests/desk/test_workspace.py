"""A learner's files: where they are found, how a folder is made, what a reset keeps."""

import configparser
import os
from pathlib import Path

import pytest

from autograder.core.step import all_steps, find_step
from autograder.core.trouble import Trouble
from autograder.desk.difference import difference
from autograder.desk.init import init
from autograder.desk.progress import begun
from autograder.desk.reset import reset
from autograder.desk.workspace import Workspace, stub, workspace

ROOT = Path(__file__).parents[2]
STEP = find_step(4)


def test_the_nearest_folder_with_exercises_counts(place: Workspace):
    assert workspace() == place
    assert workspace(place.root / "exercises" / "step04") == place
    inner = place.root / "attempt"
    (inner / "exercises" / "step04").mkdir(parents=True)
    assert workspace(inner).root == inner


def test_elsewhere_the_checkout_is_meant(tmp_path: Path):
    assert workspace(tmp_path).root == ROOT


def test_a_fresh_folder_holds_what_each_step_needs(place: Workspace):
    for step in all_steps():
        names = {path.name for path in place.file(step).parent.iterdir()}
        own = {f"{step.slug}.py", f"test_{step.slug}.py"}
        notebooks = {f"{step.name}.ipynb", f"{step.name}.ko.ipynb"}
        assert names == own | notebooks | {"README.md", "README.ko.md", "demo.py"}
        assert place.file(step).read_text(encoding="utf-8") == stub(step)
        assert "BEGIN SOLUTION" not in stub(step)
        assert not begun(step, place)
    settings = configparser.ConfigParser()
    settings.read(place.root / "pytest.ini")
    assert settings["pytest"]["testpaths"] == "exercises"
    assert (place.root / ".gitignore").is_file()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    for taken in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(Trouble, match="not_empty"):
            init(taken)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_fine(tmp_path: Path):
    assert init(tmp_path) == all_steps()


def test_a_reset_keeps_every_file_it_replaces(place: Workspace):
    file, kept = place.file(STEP), []
    for i in range(3):  # within one second
        file.write_bytes(f"attempt {i}\r\n\xe9".encode("latin-1"))
        kept.append(reset(STEP, place)[1])
        assert file.read_text(encoding="utf-8") == stub(STEP)
    assert [path.read_bytes() for path in kept] == [
        f"attempt {i}\r\n\xe9".encode("latin-1") for i in range(3)
    ]
    assert {path.parent for path in kept} == {file.parent}
    # Nobody takes a kept file for a module: neither pytest nor a demo.
    assert not [path for path in kept if path.suffix == ".py"]


def test_a_reset_of_a_missing_file_writes_the_stub(place: Workspace):
    file = place.file(STEP)
    file.unlink()
    file.with_name("README.md").unlink()
    assert reset(STEP, place) == (file, None)
    assert file.read_text(encoding="utf-8") == stub(STEP)


def test_an_untouched_stub_is_not_kept_again(place: Workspace):
    before = os.listdir(place.file(STEP).parent)
    with pytest.raises(Trouble, match="is_stub"):
        reset(STEP, place)
    assert os.listdir(place.file(STEP).parent) == before


def test_whatever_is_no_stub_is_begun(place: Workspace):
    file = place.file(STEP)
    for data in (b"", b"\xff\xfe\0", b"x = 1\n"):
        file.write_bytes(data)
        assert begun(STEP, place)
    file.unlink()
    assert not begun(STEP, place)


def test_a_difference_shows_code_and_comments_but_no_marks(answer):
    text = answer(4).read_text(encoding="utf-8")
    assert "### BEGIN SOLUTION" in text
    assert difference(STEP, text, "mine") == []
    changed = text.replace("hidden = hidden.relu()", "hidden = hidden")
    lines = difference(STEP, changed, "mine")
    assert lines[:2] == ["--- mine", "+++ solutions/step04/feed_forward.py"]
    assert [line for line in lines[2:] if line[0] in "+-"] == [
        "-        hidden = hidden",
        "+        hidden = hidden.relu()",
    ]
    assert not [line for line in lines if "SOLUTION" in line]
