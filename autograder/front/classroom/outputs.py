"""A verdict as the outputs of notebook cells, as `check` would have left them in a kernel."""

from __future__ import annotations

from typing import Any

from nbformat.v4 import new_output

from autograder.core.step import Step
from autograder.core.verdict import CheckVerdict, Verdict
from autograder.front.show import block, message, title

Output = Any  # a NotebookNode


def of_check(verdict: Verdict, step: Step, name: str, lang: str) -> list[Output]:
    """The outputs of the cell that asks for one check; nbgrader reads the points from them."""
    check = next(c for c in verdict.checks if c.check == name)
    lines = told(check, step, lang, verdict.filename)
    if not check.points:
        heading = f"✗ {check.points}/{check.max_points}  {title(name, step, lang)}"
        return [_error([heading, *(f"  {line}" for line in lines)])]
    outputs = [new_output("stream", name="stdout", text="\n".join(lines) + "\n")] if lines else []
    data = {"text/plain": str(check.points)}
    return [*outputs, new_output("execute_result", data=data)]


def of_step(verdict: Verdict, step: Step, lang: str) -> list[Output]:
    """The outputs of the cell that asks for the whole step."""
    lines = block(verdict, step, lang, again="")
    text = "\n".join(line.text for line in lines)
    return [new_output("stream", name="stdout", text=f"{text}\n")]


def refusal(text: str) -> list[Output]:
    """The outputs of a graded cell that could not be graded: no points, and why."""
    return [_error(text.splitlines())]


def told(check: CheckVerdict, step: Step, lang: str, filename: str) -> list[str]:
    """What there is to tell about a check, line by line, already harmless."""
    return message(check, step, lang, filename).splitlines()


def _error(lines: list[str]) -> Output:
    return new_output("error", ename="✗", evalue=lines[0], traceback=lines)
