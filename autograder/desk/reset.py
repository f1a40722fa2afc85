"""Beginning a step anew: the stub, or the notebook, is written again; what was there is kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path

from autograder.authoring.docstrings import language_of
from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.desk.work import given, work_in
from autograder.desk.workspace import Workspace


def reset(step: Step, workspace: Workspace, lang: str = "en") -> tuple[Path, Path | None]:
    """Write the learner's file of a step as it was given: the stub, or a notebook with work in it.

    Args:
        step: which step.
        workspace: whose.
        lang: of the stub, where there is no file; otherwise it is as the file's docstrings are.

    Returns:
        The file, and where the learner's own was kept; None if there was none.

    Raises:
        Trouble: the file is the stub already, or cannot be read or written.
    """
    file = work_in(workspace.file(step).parent, step)
    try:
        if file.exists() and not file.is_file():  # a pipe would never end
            raise Trouble("no_file", path=file)
        before = file.read_bytes() if file.exists() else None
        own = before and language_of(before.decode("utf-8", "replace"), step.solution)
        text = given(file, step, own or lang).encode()
        if before == text:
            raise Trouble("is_stub", path=file, step=step.number)
        backup = None if before is None else _keep(file, before)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    except OSError as e:
        raise Trouble("unwritable", path=file, reason=e.strerror or str(e)) from None
    return file, backup


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
