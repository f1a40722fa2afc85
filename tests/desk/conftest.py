"""What the tests around an exercise share: a working folder, and answers to put into it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.core.step import find_step
from autograder.desk.init import init
from autograder.desk.workspace import Workspace


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A fresh working folder, which is the current one."""
    folder = tmp_path / "course"
    init(folder)
    monkeypatch.chdir(folder)
    return Workspace(folder)


@pytest.fixture
def answer(place: Workspace) -> Callable[..., Path]:
    """Writes the model answer of a step into the working folder, with parts of it replaced."""

    def write(number: int, **changes: str) -> Path:
        step = find_step(number)
        text = step.solution.read_text(encoding="utf-8")
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        place.file(step).write_text(text, encoding="utf-8")
        return place.file(step)

    return write
