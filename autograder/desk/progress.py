"""How far a learner is: each step not started, under way or passed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.core.speech import LANGUAGES
from autograder.core.step import Step, all_steps
from autograder.core.trouble import Trouble
from autograder.desk import marking
from autograder.desk.work import work_in
from autograder.desk.workspace import Workspace, read, stub

if TYPE_CHECKING:
    from autograder.core.subject import Source
    from autograder.core.verdict import Verdict


@dataclass(frozen=True)
class Standing:
    """A step and the verdict on the learner's work; None where the stub is untouched or missing,
    and where the file cannot be read, which `trouble` tells.
    """

    step: Step
    verdict: Verdict | None
    trouble: Trouble | None = None

    @property
    def passed(self) -> bool:
        """All graded checks are passed."""
        return self.verdict is not None and self.verdict.passed


def standings(workspace: Workspace) -> Iterator[Standing]:
    """Every step's standing, in order; each is graded when it is asked for."""
    for step in all_steps():
        yield standing(step, workspace)


def standing(step: Step, workspace: Workspace) -> Standing:
    """One step's standing."""
    if not begun(step, workspace):
        return Standing(step, None)
    try:
        return Standing(step, marking.mark(step, marking.source(_work(step, workspace))))
    except Trouble as trouble:
        return Standing(step, None, trouble)


def passed_before(step: Step, workspace: Workspace) -> tuple[dict[str, Source], list[Step]]:
    """The learner's own files of the steps before this one, as far as they pass.

    Returns:
        Sources by slug, in order, and the steps that are not passed.
    """
    own: dict[str, Source] = {}
    others = []
    for earlier in all_steps():
        if earlier.number >= step.number:
            break
        if standing(earlier, workspace).passed:
            own[earlier.slug] = marking.source(_work(earlier, workspace))
        else:
            others.append(earlier)
    return own, others


def begun(step: Step, workspace: Workspace) -> bool:
    """Whether the learner has written anything into the step's file, or into its notebook."""
    file = _work(step, workspace)
    if not file.is_file():
        return False
    try:
        return read(file) not in [stub(step, lang) for lang in LANGUAGES]
    except Trouble:  # whatever it is, it is not the stub
        return True


def _work(step: Step, workspace: Workspace) -> Path:
    return work_in(workspace.file(step).parent, step)
