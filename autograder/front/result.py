"""A verdict as one JSON object, for programs. docs/json.md says what its fields mean."""

from __future__ import annotations

from typing import Any

from autograder.core.step import Step
from autograder.core.verdict import SCHEMA, CheckVerdict, Verdict
from autograder.front.show import PRINTED, message, title
from autograder.front.wording import escape_lines


def as_object(verdict: Verdict, step: Step, lang: str) -> dict[str, Any]:
    """The verdict in plain data, with its texts in `lang`."""
    return {
        "schema": SCHEMA,
        "step": verdict.step,
        "title": step.title[lang],
        "passed": verdict.passed,
        "points": verdict.points,
        "max_points": verdict.max_points,
        "checks": [_check(c, step, lang, verdict.filename) for c in verdict.checks],
        "printed": "\n".join(escape_lines(verdict.printed, PRINTED)),
        "seed": verdict.seed,
        "seconds": round(verdict.seconds, 4),
    }


def together(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """Several such objects as one: the file's sum, and the steps it was graded for."""
    return {
        "schema": SCHEMA,
        "passed": all(o["passed"] for o in objects),
        "points": sum(o["points"] for o in objects),
        "max_points": sum(o["max_points"] for o in objects),
        "steps": objects,
    }


def _check(check: CheckVerdict, step: Step, lang: str, filename: str) -> dict[str, Any]:
    return {
        "name": check.check,
        "title": title(check.check, step, lang),
        "state": check.state,
        "points": check.points,
        "max_points": check.max_points,
        "message": message(check, step, lang, filename),
        "misconceptions": list(check.misconceptions),
        "seconds": round(check.seconds, 4),
    }
