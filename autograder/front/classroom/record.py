"""What a graded notebook remembers of its verdicts: a line of results a step, in its metadata."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode

from autograder.bulk.fingerprint import fingerprint
from autograder.bulk.folder import line_of
from autograder.bulk.submissions import Submission
from autograder.core.step import Step
from autograder.core.verdict import Verdict
from autograder.front.result import as_object
from autograder.wall.tiers import Tier

KEY = "autograder"


def forget(nb: NotebookNode) -> None:
    """Drop what the notebook claims about itself: it comes from a student."""
    nb.metadata.pop(KEY, None)


def record(
    nb: NotebookNode, step: Step, submission: Submission, verdict: Verdict, tier: Tier, lang: str
) -> None:
    """Keep the verdict, as a line of results tells it."""
    made_from = fingerprint(submission, step, verdict.seed, lang)
    line = line_of(as_object(verdict, step, lang), submission, tier, made_from)
    nb.metadata.setdefault(KEY, {})[step.name] = {**line, "lang": lang}


def recorded(nb: NotebookNode) -> dict[str, dict[str, Any]]:
    """The lines by step that `record` has left; of a notebook that nbgrader has written."""
    return dict(nb.metadata.get(KEY, {}))
