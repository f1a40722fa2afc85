"""A verdict as the outputs of notebook cells, as `check` leaves them in a kernel."""

from __future__ import annotations

from typing import Any

from nbformat.v4 import new_output

from autograder.core.step import Step
from autograder.core.verdict import Verdict
from autograder.front.notebook.table import Table, of_check

Output = Any  # a NotebookNode


def of_one(verdict: Verdict, step: Step, name: str, lang: str) -> list[Output]:
    """The outputs of the cell that asks for one check; nbgrader reads the points from them."""
    check = next(c for c in verdict.checks if c.check == name)
    lines = list(of_check(check, verdict, step, lang))
    if check.max_points and not check.points:
        return refusal("\n".join(lines))
    return [
        new_output("stream", name="stdout", text="\n".join(lines) + "\n"),
        new_output("execute_result", data={"text/plain": str(check.points)}),
    ]


def of_all(verdict: Verdict, step: Step, lang: str) -> list[Output]:
    """The outputs of the cell that asks for the whole step; what the code printed is told here."""
    table = Table(verdict, step, lang)
    return [
        new_output("display_data", data={"text/html": table.html(), "text/plain": table.text()})
    ]


def refusal(text: str) -> list[Output]:
    """The outputs of a graded cell that earns nothing, and why."""
    lines = text.splitlines()
    return [new_output("error", ename="NotPassed", evalue=lines[0], traceback=lines)]
