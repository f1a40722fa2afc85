"""Grading a file as the commands do it: find it, load torch once, grade."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.core.step import Step
from autograder.core.trouble import Trouble

if TYPE_CHECKING:  # these import torch
    from autograder.core.subject import Source
    from autograder.core.verdict import Verdict


def source(path: Path) -> Source:
    """The file as the core takes it.

    Raises:
        Trouble: it is missing, a folder, or not readable.
    """
    if path.is_dir():
        raise Trouble("folder", path=path)
    if not path.is_file():
        raise Trouble("no_file", path=path)
    from autograder.core import engine

    engine.start()
    from autograder.core.subject import Source

    try:
        return Source.read(path)
    except OSError as e:
        reason = e.strerror or type(e).__name__
        raise Trouble("unreadable", path=path, reason=reason) from None


def mark(
    step: Step,
    graded: Source,
    *,
    seed: int | None = None,
    own: Mapping[str, Source] | None = None,
    in_process: bool = False,
) -> Verdict:
    """The verdict on it; arguments as those of `grading.grade`."""
    from autograder.core.grading import grade

    return grade(step, graded, seed=seed, own=own, in_process=in_process)
