"""What a graded notebook remembers of its verdicts: a line of results a step, in its metadata."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode

from autograder.bulk.coordinator import Graded
from autograder.bulk.fingerprint import fingerprint
from autograder.bulk.folder import line_of
from autograder.core.step import Step
from autograder.front.result import as_object
from autograder.wall.tiers import Tier

KEY = "autograder"


def forget(nb: NotebookNode) -> None:
    """Drop what the notebook claims about itself: it comes from a student."""
    nb.metadata.pop(KEY, None)


def record(nb: NotebookNode, step: Step, graded: Graded, tier: Tier, lang: str) -> None:
    """Keep the verdict, as a line of results tells it."""
    submission, verdict = graded.submission, graded.verdict
    made_from = fingerprint(submission, step, verdict.seed, lang)
    line = line_of(as_object(verdict, step, lang), submission, tier, made_from)
    nb.metadata.setdefault(KEY, {})[step.name] = {**line, "lang": lang}


def recorded(nb: NotebookNode) -> dict[str, dict[str, Any]]:
    """The lines by step that `record` has left, in a notebook that nbgrader has written.

    Where nothing was recorded there may be anything: a course that is graded without the kit keeps
    what a student has put there.
    """
    lines = nb.metadata.get(KEY)
    if not isinstance(lines, dict):
        return {}
    return {step: line for step, line in lines.items() if _is_line(line, step)}


def _is_line(line: Any, step: str) -> bool:
    if not isinstance(line, dict) or line.get("step") != step:
        return False
    return isinstance(line.get("seed"), int) and {"fingerprint", "checks", "lang"} <= line.keys()
