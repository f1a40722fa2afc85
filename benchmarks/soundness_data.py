"""What benchmarks/soundness.py measures of a step, as data."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.authoring.graded import Graded
from autograder.core.step import Step, Words
from benchmarks.mutants import Mutant

SEED, OTHER_SEEDS = 1, (2, 3)


@dataclass(frozen=True)
class Survivor:
    """A mutant with full marks, the remarks it got, and why it has them, if anybody has said so.

    `equivalent`: it does the same wherever the step's text says anything.
    """

    mutant: Mutant
    remarks: list[str]
    reason: Words | None = None
    equivalent: bool = False


@dataclass(frozen=True)
class Doubt:
    """A name that a mutant, or a known mistake, may have been given wrongly.

    `slugs` are the names; `checks` the graded checks that failed and have none.
    """

    what: str
    slugs: list[str]
    checks: list[str]


@dataclass(frozen=True)
class Soundness:
    """Everything that is measured of one step."""

    graded: Graded
    mutants: int
    named: int
    survivors: list[Survivor]
    doubtful: list[Doubt]

    @property
    def step(self) -> Step:
        """The step."""
        return self.graded.step

    @property
    def caught(self) -> int:
        """Mutants that lost points."""
        return self.mutants - len(self.survivors)

    @property
    def equivalent(self) -> int:
        """Survivors that do nothing wrong."""
        return sum(s.equivalent for s in self.survivors)

    @property
    def share(self) -> float:
        """Share of the mutants that are not equivalent which lost points."""
        return self.caught / (self.mutants - self.equivalent)
