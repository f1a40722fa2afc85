"""`check` in a notebook: live objects graded, with a table of all, or the points of one check."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.core.step import Step
from autograder.front.notebook import table
from autograder.front.notebook.here import NotPassed, in_words, is_validating, live, present
from autograder.front.notebook.newest import failed_since
from autograder.front.notebook.single import single, wrapped
from autograder.front.troubles import find_step, has_check
from autograder.front.wording import say

if TYPE_CHECKING:  # these import torch
    from autograder.core.live import Live
    from autograder.core.verdict import Verdict


def check(
    step: str | int, name: str | None = None, *, lang: str | None = None, seed: int | None = None
) -> int | None:
    """Grade what is defined here by now, for a step.

    Args:
        step: "step04", 4, "4" or "feed_forward".
        name: a single check; None for a table of all of them.
        lang: "en" or "ko"; None as AUTOGRADER_LANG or the locale says.
        seed: what numbers are drawn from; None for this run's, which nobody has seen.

    Returns:
        The points of the single check, so that a cell which ends in it earns them; else None.

    Raises:
        NotPassed: the single check earns nothing; the words say why.
        CannotCheck: there is no such step or check, or the kit has a fault.
    """
    frame = sys._getframe(1)
    with in_words(lang) as speech:
        found = find_step(step)
        if name is not None:
            has_check(found, str(name))
        subject = live(frame)
        verdict, apart = _graded(found, subject, seed)
        if name is not None:
            return _one(name, verdict, found, subject, speech)
        notes = [] if apart else [say("notebook.in_process", speech)]
        warnings = list(failed_since(found.exports, subject, speech))
        # A kernel starts in its notebook's folder.
        shown = table.Table(verdict, found, speech, notes, warnings, _here())
        present(shown.html(), shown.text())
        return None


def _graded(step: Step, subject: Live, seed: int | None) -> tuple[Verdict, bool]:
    """The verdict, and whether it was worked out apart from this process."""
    import torch

    from autograder.core.forked import gradients_after_fork
    from autograder.core.grading import grade
    from autograder.core.running import can_fork
    from autograder.core.settings import undisturbed

    prints = io.StringIO()
    with undisturbed(), redirect_stdout(prints), redirect_stderr(prints):
        # What lies on a GPU cannot be used in a child either.
        apart = can_fork() and not torch.cuda.is_initialized() and gradients_after_fork()
        verdict = grade(step, subject, seed=seed, in_process=not apart)
    return (verdict if apart else replace(verdict, printed=prints.getvalue())), apart


def _here() -> Path | None:
    """The current folder, unless it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _one(name: str, verdict: Verdict, step: Step, subject: Live, lang: str) -> int | None:
    """The points of one check, of which is said what was lost; None for all to nbgrader's Validate.

    Raises:
        NotPassed: there are none.
    """
    told = single(name, verdict, step, lang)
    if told.check.state != "passed":
        for line in table.printed(verdict, lang):
            print(line)
    before = wrapped(failed_since([told.check.export], subject, lang))
    words = "\n".join([*before, *told.lines])
    if told.refused:
        raise NotPassed(words)
    print(words)
    # Who validates sees no points; and a course may have given the cell others.
    passed = told.check.points == told.check.max_points
    return None if passed and is_validating() else told.check.points
