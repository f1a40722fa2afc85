"""What the tests of steps share: grading a text, planting edits in it, reading the verdict."""

from autograder.authoring.soundness import names as named
from autograder.core.grading import grade
from autograder.core.step import Step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict

__all__ = ["changed", "edited", "failed", "graded", "named"]


def graded(step: Step, text: str, seed: int = 3) -> Verdict:
    """The verdict on a learner's file that holds this text."""
    return grade(step, Source(text, f"{step.slug}.py"), seed=seed)


def edited(text: str, *edits: tuple[str, str]) -> str:
    """The text with the first of each two replaced by the second; it must stand there once."""
    for find, replace in edits:
        assert text.count(find) == 1, (find, text.count(find))
        text = text.replace(find, replace)
    return text


def changed(text: str, find: str, replace: str) -> str:
    """The text with one edit."""
    return edited(text, (find, replace))


def failed(verdict: Verdict, *, advice: bool = False) -> set[str]:
    """The graded checks that did not pass; with `advice`, those without points, too."""
    return {c.check for c in verdict.checks if c.state != "passed" and (c.max_points or advice)}
