"""A course's seed: the same work gets the same marks, whoever grades it and whenever."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from autograder.core.trouble import Trouble

FILE = ".autograder.seed"


def seed_of(course: Path) -> int:
    """What sizes, inputs and weights of a course are drawn from; it is kept in the course's folder.

    The first who asks draws it. It is the instructor's secret, as the gradebook is.

    Raises:
        Trouble: the file cannot be written, or there is no number in it.
    """
    path = course / FILE
    try:
        if not path.exists():
            _draw(path)
        return int(path.read_text(encoding="ascii"))
    except OSError as e:
        raise Trouble("unwritable", path=path, reason=e.strerror or str(e)) from None
    except ValueError as e:
        raise Trouble("unreadable", path=path, reason=str(e)) from None


def _draw(path: Path) -> None:
    """Write a new one there, unless somebody else is quicker; nobody ever reads half of it."""
    own = path.with_name(f"{FILE}.{os.getpid()}")
    try:
        own.write_text(f"{secrets.randbelow(2**31)}\n", encoding="ascii")
        with suppress(FileExistsError):
            _link(own, path)
    finally:
        own.unlink(missing_ok=True)


def _link(own: Path, path: Path) -> None:
    """Give the file a second name, which must be free; where no file can have two, its only one."""
    try:
        os.link(own, path)
    except FileExistsError:
        raise
    except OSError:
        own.rename(path)
