"""Verdicts: for each check its state, its points, and what to tell the learner, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["passed", "failed", "skipped", "error", "timeout"]

SCHEMA = 1


@dataclass(frozen=True)
class Finding:
    """One thing to tell: `text` is a key of the texts, `facts` fill its placeholders."""

    text: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckVerdict:
    """What became of one check.

    passed: the observation agrees. failed: it does not, or the learner's code raised. error: the
    code could not be run (syntax, import, a missing name, a dead process). timeout: it did not come
    back. skipped: not tried, since an earlier check already told why.
    """

    check: str
    export: str
    state: State
    points: int
    max_points: int
    findings: tuple[Finding, ...] = ()
    misconceptions: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def unwritten(self) -> bool:
        """What was asked for still is as the stub has it."""
        return any(f.text == "not_implemented" for f in self.findings)


@dataclass(frozen=True)
class Verdict:
    """All checks of one step on one subject, and what it printed meanwhile (cut, not escaped).

    `filename` is the one that findings give lines of.
    """

    step: str
    checks: tuple[CheckVerdict, ...]
    seed: int
    printed: str = ""
    seconds: float = 0.0
    filename: str = ""

    @property
    def passed(self) -> bool:
        """Every graded check passed."""
        return all(c.state == "passed" for c in self.checks if c.max_points)

    @property
    def points(self) -> int:
        """Points earned."""
        return sum(c.points for c in self.checks)

    @property
    def max_points(self) -> int:
        """Points there are."""
        return sum(c.max_points for c in self.checks)
