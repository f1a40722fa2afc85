"""nbgrader's gradebook, opened: it calls programs of its own, wherever this interpreter lies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autograder.core.trouble import Trouble


@contextmanager
def opened(url: str, course: str = "default_course") -> Iterator[Any]:
    """The `nbgrader.api.Gradebook` at that address; made if there is none.

    Raises:
        Trouble: there is something else.
    """
    from nbgrader.api import Gradebook
    from sqlalchemy.exc import DatabaseError

    with programs_found():
        try:
            found = Gradebook(url, course)
        except DatabaseError as e:
            raise Trouble("gradebook", reason=str(e.orig)) from None
        with found as gradebook:
            yield gradebook


def patient(url: str) -> str:
    """That address; who else writes to an SQLite file is waited for, 60 seconds in place of 5."""
    return f"{url}?timeout=60" if url.startswith("sqlite:///") and "?" not in url else url


@contextmanager
def programs_found() -> Iterator[None]:
    """Inside, programs that were installed beside this interpreter are found by their names."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before))
    try:
        yield
    finally:
        os.environ["PATH"] = before
