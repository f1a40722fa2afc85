"""Taking turns: one grader at a time writes marks and notebooks, nbgrader's or the kit's.

nbgrader's own `autograde` takes its turn through the hooks that a course's configuration names.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

try:
    import fcntl
except ImportError:  # there is none on Windows, where no class can be graded
    fcntl = None  # type: ignore[assignment]

_LOCK = ".autograder.lock"
_LONGEST = 120.0  # seconds; where nbgrader fails at a student, it calls no hook at the end


@dataclass(frozen=True)
class _Turn:
    file: int
    end: threading.Timer


_ours: list[_Turn] = []  # this process's turn, if it has one


def take(**_: Any) -> None:
    """Wait for this process's turn in the course that is the current folder, if it has none yet."""
    if fcntl is None or _ours:
        return
    file = os.open(_LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.flock(file, fcntl.LOCK_EX)
    end = threading.Timer(_LONGEST, give)
    end.daemon = True
    end.start()
    _ours.append(_Turn(file, end))


def give(**_: Any) -> None:
    """End this process's turn, if it has one."""
    while _ours:
        turn = _ours.pop()
        turn.end.cancel()
        os.close(turn.file)


@contextmanager
def alone() -> Iterator[None]:
    """Inside, it is this process's turn."""
    take()
    try:
        yield
    finally:
        give()
