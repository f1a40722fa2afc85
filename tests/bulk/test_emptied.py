"""A scratch folder is emptied, whatever was put there, and nothing outside it is touched."""

from __future__ import annotations

import os
from pathlib import Path

from autograder.bulk.emptied import empty


def test_everything_goes_and_nothing_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "gradebook").write_text("marks")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "link").symlink_to(outside)
    (scratch / "a" / "b").mkdir(parents=True)
    (scratch / "a" / "link").symlink_to(outside / "gradebook")
    (scratch / "a" / "b" / "0.removed").mkdir()
    (scratch / "0.removed").mkdir()
    (scratch / "0.removed" / "file").write_text("x")
    (scratch / "1.removed").write_text("x")
    os.mkfifo(scratch / "a" / "fifo")
    os.mkfifo(scratch / "-rf \n")
    os.mkdir(os.fsencode(scratch) + b"/\xff")
    (scratch / "closed" / "inner").mkdir(parents=True)
    (scratch / "closed" / "inner").chmod(0)
    (scratch / "closed").chmod(0)
    empty(scratch)
    assert list(scratch.iterdir()) == []
    assert (outside / "gradebook").read_text() == "marks"


def test_folders_may_lie_as_deep_as_they_like(tmp_path: Path) -> None:
    name, here = "a" * 50, os.getcwd()
    try:
        os.chdir(tmp_path)
        for _ in range(3000):
            os.mkdir(name)
            os.chdir(name)
    finally:
        os.chdir(here)
    empty(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_stays(tmp_path: Path) -> None:
    empty(tmp_path)
    assert tmp_path.is_dir()
