"""How a learner's file differs from the model answer in its language, docstrings included."""

from __future__ import annotations

import difflib

from autograder.authoring.docstrings import answer_in, language_of
from autograder.authoring.pieces import pieces_of
from autograder.authoring.stubs import BEGIN, END
from autograder.core.cells import NOTEBOOK
from autograder.core.step import Step


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
    answer = answer_in(step.solution, language_of(text, step.solution))
    if name.endswith(NOTEBOOK):
        answer = "\n\n\n".join(piece.text for piece in pieces_of(answer)) + "\n"
    return list(difflib.unified_diff(_lines(text), _lines(answer), name, theirs, lineterm=""))


def _lines(text: str) -> list[str]:
    """Without the marks around what a learner fills in."""
    return [line for line in text.split("\n") if line.strip() not in (BEGIN, END)]
