"""What the process that runs learners' code is told of a step: names, and not what is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograder.core.given import Names, all_names
from autograder.core.step import Step, given_to, probes_of

if TYPE_CHECKING:
    from autograder.core.step import Probe


@dataclass(frozen=True)
class Task:
    """A step without its texts, its points and its known mistakes; plain data.

    Attributes:
        slug: the step's.
        probes: the names of its probes.
        given: the pieces of earlier steps, export -> slug.
        names: all that the reference package has, so that the rest of it is refused by name.
        ready_made, allowed: as in `Step`.
    """

    slug: str
    probes: tuple[str, ...]
    given: Mapping[str, str]
    names: Names
    ready_made: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    @classmethod
    def of(cls, step: Step) -> Task:
        """The step's."""
        probes = tuple(dict.fromkeys(c.probe for c in step.checks))
        return cls(step.slug, probes, given_to(step), all_names(), step.ready_made, step.allowed)

    def load_probes(self) -> dict[str, Probe]:
        """The probes by name; imports torch."""
        return probes_of(self.slug, self.probes)
