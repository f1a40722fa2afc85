"""Beginning a step anew: the stub is written again, and what stood there is kept beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path

from autograder.core.step import Step
from autograder.desk.trouble import Trouble
from autograder.desk.workspace import Workspace, stub


def reset(step: Step, workspace: Workspace) -> Path | None:
    """Write a step's stub into the working folder.

    Returns:
        Where the learner's file was kept; None if there was none.

    Raises:
        Trouble: the file is the stub already, or cannot be read or written.
    """
    file, text = workspace.file(step), stub(step).encode()
    try:
        before = file.read_bytes() if file.exists() else None
        if before == text:
            raise Trouble("is_stub", path=file, step=step.number)
        backup = None if before is None else _keep(file, before)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    except OSError as e:
        raise Trouble("unwritable", path=file, reason=e.strerror or str(e)) from None
    return backup


def _keep(file: Path, data: bytes) -> Path:
    """Write the data to a new file beside it. No name ends in .py: it is nobody's module."""
    for name in _names(f"{file.name}.{datetime.now():%Y-%m-%d_%H-%M-%S}"):
        backup = file.with_name(f"{name}.bak")
        try:
            with backup.open("xb") as new:
                new.write(data)
        except FileExistsError:
            continue
        return backup
    raise AssertionError("there is always another number")


def _names(stem: str) -> Iterator[str]:
    yield stem
    for number in count(2):
        yield f"{stem}_{number}"
