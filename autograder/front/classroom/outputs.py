"""A verdict as the outputs of notebook cells, as `check` leaves them in a kernel."""

from __future__ import annotations

from typing import Any

from nbformat.v4 import new_output

from autograder.core.step import Step
from autograder.core.verdict import CheckVerdict, Verdict
from autograder.front.notebook.single import single
from autograder.front.notebook.table import Table

Output = Any  # a NotebookNode


def of_one(
    verdict: Verdict, step: Step, name: str, lang: str, most: float | None = None
) -> list[Output]:
    """The outputs of the cell that asks for one check; nbgrader reads the points from them.

    Args:
        verdict, step, name, lang: see `single`.
        most: the points of the cell, if they may be other than the check's: its own are worth as
            much of them.
    """
    told = single(name, verdict, step, lang)
    words = "\n".join(told.lines)
    if told.refused:
        return refusal(words)
    return [
        new_output("stream", name="stdout", text=f"{words}\n"),
        new_output("execute_result", data={"text/plain": _points(told.check, most)}),
    ]


def _points(check: CheckVerdict, most: float | None) -> str:
    if most is None or not check.max_points:
        return str(check.points)
    return f"{check.points * most / check.max_points:g}"


def of_all(verdict: Verdict, step: Step, lang: str) -> list[Output]:
    """The outputs of the cell that asks for the whole step; what the code printed is told here."""
    table = Table(verdict, step, lang, live=False)
    return [
        new_output("display_data", data={"text/html": table.html(), "text/plain": table.text()})
    ]


def refusal(text: str) -> list[Output]:
    """The outputs of a graded cell that earns nothing, and why."""
    lines = text.splitlines()
    return [new_output("error", ename="NotPassed", evalue=lines[0], traceback=lines)]
