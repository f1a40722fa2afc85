"""Live objects under examination: what a notebook's cells, or a script, have defined by now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograder.core.given import REFERENCE, NotGiven
from autograder.core.observation import Raised
from autograder.core.source import Source
from autograder.core.subject import Subject, raised


@dataclass(frozen=True)
class Live(Source):
    """A namespace of this very process, in the place of a text: nothing of it is executed anew.

    Attributes:
        filename: the script that the objects were defined in; '' for a notebook or a prompt.
        namespace: the names and the objects, as they are now.
        cells: for each name that a cell's code was compiled under, the number the cell has.
    """

    namespace: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    cells: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def subject(self, given: Collection[str] = (), allowed: Sequence[str] = ()) -> LiveSubject:
        """The subject: the names in `given` may be the reference's; `allowed` as in `Subject`."""
        return LiveSubject(self, given, allowed)


class LiveSubject(Subject):
    """Exports of a namespace, as they are when they are asked for."""

    missing = "not_run"  # its cell may be written, and not have been run

    def __init__(self, live: Live, given: Collection[str], allowed: Sequence[str]) -> None:
        super().__init__(live.namespace, live.filename, allowed)
        self._cells, self._given = live.cells, given

    def __getattr__(self, name: str) -> Any:
        """As for a file; what the reference has in the learner's place is refused as an import is.

        Raises:
            NotGiven: it is the reference's own, and no piece of an earlier step.
        """
        found = super().__getattr__(name)
        home = str(getattr(found, "__module__", "")).split(".")[0]
        if home == REFERENCE and name not in self._given:
            raise NotGiven(f"{REFERENCE}.{name}")
        return found

    def raised(self, error: BaseException) -> Raised:
        """The error as it is observed, with its cell."""
        return raised(error, self.label, self._cells)
