"""Everything that is known about a step, graded: its stub, solution, mistakes and variations."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.authoring.generated import list_is_stale
from autograder.authoring.processes import for_each
from autograder.authoring.stubs import stub_of
from autograder.authoring.variations import variations

if TYPE_CHECKING:
    from autograder.core.step import Step
    from autograder.core.verdict import Verdict


@dataclass(frozen=True)
class Graded:
    """The verdicts of one step.

    `fault` says why there are none; `unfit` holds the mistakes whose edits do not fit the solution:
    while there is one, mistakes and variations are not graded. `stale_list`: see `generated`.
    """

    step: Step
    stub: Verdict | None = None
    solution: Verdict | None = None
    mistakes: dict[str, Verdict] = field(default_factory=dict)
    variations: dict[str, Verdict] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    stale_list: bool = False
    fault: str = ""


def grade_steps(root: Path, steps: Sequence[Step], seed: int) -> list[Graded]:
    """Grade all that is known about these steps of the running kit."""
    return for_each(partial(_grade_or_fault, root, seed), steps)


def _grade_or_fault(root: Path, seed: int, step: Step) -> Graded:
    try:
        graded = grade_step(root, step, seed)
        stale = not graded.unfit and list_is_stale(root, step)
        return replace(graded, stale_list=stale)
    except Exception as e:  # a step that is being written must not hide what the others have
        place = traceback.extract_tb(e.__traceback__)[-1]
        where = f"{Path(place.filename).name}, {place.lineno}"
        return Graded(step, fault=f"{type(e).__name__}: {e} ({where})")


def grade_step(root: Path, step: Step, seed: int) -> Graded:
    """Grade all that is known about one step; an error of the kit's own is let through."""
    from autograder.core.grading import grade
    from autograder.core.subject import Source

    def verdict(text: str) -> Verdict:
        return grade(step, Source(text, f"{step.slug}.py"), seed=seed)

    answer = root / "solutions" / step.name / f"{step.slug}.py"
    solution = answer.read_text(encoding="utf-8")
    texts, unfit = {}, {}
    for mistake in step.misconceptions:
        try:
            texts[mistake.slug] = mistake.applied_to(solution)
        except ValueError as e:
            unfit[mistake.slug] = str(e)
    stub = verdict(stub_of(solution, step.number))
    # A step that has run its probes holds on to them; a copy travels light.
    graded = Graded(replace(step), stub, verdict(solution), unfit=unfit)
    if not unfit:
        graded.mistakes.update({slug: verdict(text) for slug, text in texts.items()})
        honest = variations(root, step.slug)
        graded.variations.update({name: verdict(text) for name, text in honest.items()})
    return graded
