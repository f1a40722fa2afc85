"""The kit as the gate sees it: a checkout, the steps asked about, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from autograder.authoring.graded import Graded, grade_steps
from autograder.core.step import Step, read_steps


@dataclass(frozen=True)
class Problem:
    """One thing to mend: `text` is a key of the gate's texts, `facts` fill its placeholders."""

    place: str  # a file below the root, or a step
    text: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Kit:
    """A checkout of the project.

    Args:
        root: its folder.
        numbers: the steps to look at; none means all, and what belongs to no step.
        seed: what sizes, inputs and weights are drawn from where something is graded.
    """

    root: Path
    numbers: tuple[int, ...] = ()
    seed: int = 1

    @cached_property
    def all_steps(self) -> tuple[Step, ...]:
        """Every step of this checkout, by number."""
        return read_steps(self.root / "autograder" / "steps")

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps to look at."""
        return tuple(s for s in self.all_steps if not self.numbers or s.number in self.numbers)

    @cached_property
    def graded(self) -> list[Graded]:
        """The steps to look at, graded; worked out once, when the first rule asks."""
        return grade_steps(self.root, self.steps, self.seed)

    @property
    def whole(self) -> bool:
        """Whether to look at what belongs to no step, too."""
        return not self.numbers

    def read(self, *parts: str) -> str:
        """The text of a file below the root."""
        return self.root.joinpath(*parts).read_text(encoding="utf-8")


Rule = Callable[[Kit], Iterator[Problem]]
