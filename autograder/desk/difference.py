"""How a learner's file differs from the model answer, comments and docstrings included."""

from __future__ import annotations

import difflib

from autograder.authoring.stubs import BEGIN, END
from autograder.core.step import Step
from autograder.desk.workspace import solution


def difference(step: Step, text: str, name: str) -> list[str]:
    """A unified diff from the learner's text to the model answer; empty if they are the same.

    Args:
        step: whose model answer.
        text: the learner's file.
        name: what the learner's file is called.

    Returns:
        Lines without line ends.
    """
    theirs = f"solutions/{step.name}/{step.slug}.py"
    own, answer = _lines(text), _lines(solution(step))
    return list(difflib.unified_diff(own, answer, name, theirs, lineterm=""))


def _lines(text: str) -> list[str]:
    """Without the marks around what a learner fills in."""
    return [line for line in text.split("\n") if line.strip() not in (BEGIN, END)]
