"""What pytest's terminal shows of graded steps: a block a step, and the sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.core.step import Step
from autograder.core.verdict import Verdict
from autograder.front import show

Markup = dict[str, bool]  # as pytest's terminal writer takes it

_MARKUP: dict[str, Markup] = {
    "title": {"bold": True},
    "good": {"green": True},
    "bad": {"red": True},
    "quiet": {"light": True},
    "plain": {},
}


@dataclass
class Graded:
    """One step graded on one file; `ran` are the checks that pytest has run of it."""

    step: Step
    verdict: Verdict
    again: str  # the command that grades it once more
    ran: set[str] = field(default_factory=set)


def account(
    graded: list[Graded], reports: Iterable[tuple[dict[str, Any], Any]], lang: str, details: bool
) -> Iterator[tuple[str, Markup]]:
    """Lines and their markup.

    Args:
        graded: the steps, in order.
        reports: what a check's item noted, and pytest's report of it.
        lang: "en" or "ko".
        details: False for a line a check and no more.
    """
    printed: dict[str, str] = {}  # in this process: learners' prints where there is no child
    for noted, report in reports:
        text = report.capstdout + report.capstderr
        printed[noted["step"]] = printed.get(noted["step"], "") + text
    for i, one in enumerate(graded):
        if i:
            yield "", {}
        verdict = one.verdict
        if not verdict.printed:
            verdict = replace(verdict, printed=printed.get(one.step.name, ""))
        lines = show.block(verdict, one.step, lang, again=one.again, only=one.ran, details=details)
        yield from ((line.text, _MARKUP[line.style]) for line in lines)
    if len(graded) > 1:
        line = show.total([g.verdict for g in graded], lang)
        yield "", {}
        yield line.text, _MARKUP[line.style]
