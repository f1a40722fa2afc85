"""What is told of one check alone: its lines, the points that it earns, whether it is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autograder.core.step import Step
from autograder.core.verdict import CheckVerdict, Verdict
from autograder.front import show

# Columns: `nbgrader validate` cuts longer lines off, JupyterLab breaks them inside words.
_WIDTH = 83


@dataclass(frozen=True)
class Single:
    """One check of a verdict, and the lines that tell of it; none of them is too long."""

    check: CheckVerdict
    lines: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """It earns nothing where there are points to earn."""
        return bool(self.check.max_points) and not self.check.points


def single(name: str, verdict: Verdict, step: Step, lang: str) -> Single:
    """What is told of the check of that name.

    Args:
        name: a check of the step's.
        verdict, step: what is told of.
        lang: "en" or "ko".
    """
    found = next(c for c in verdict.checks if c.check == name)
    return Single(found, tuple(_lines(found, verdict, step, lang)))


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """The lines, none of them too long."""
    return (part for line in lines for part in _wrapped(line, ""))


def _lines(check: CheckVerdict, verdict: Verdict, step: Step, lang: str) -> Iterator[str]:
    """Of a check that was not tried, also those of the one that tells why."""
    told: set[str] = set()
    wanted = [check]
    if check.state == "skipped":
        wanted += [c for c in verdict.checks if c.state not in ("passed", "skipped")][:1]
    for one in wanted:
        yield from _wrapped(" ".join(show.heading(one, step, lang).text.split()), "")
        for line in show.explained(one, step, lang, verdict.filename, told):
            yield from _wrapped(line, "    ")


def _wrapped(line: str, indent: str) -> Iterator[str]:
    from rich.console import Console
    from rich.text import Text

    inner = indent + line[: len(line) - len(line.lstrip())]
    for part in Text(line.strip()).wrap(Console(), _WIDTH - len(inner)):
        yield inner + part.plain.rstrip()
