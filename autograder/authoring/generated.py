"""What is generated: stubs, notebooks, lists of mistakes that share a map, the record of checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograder.authoring import names, notebooks, stubs
from autograder.core.step import ALIKE, Step


def list_of(root: Path, step: Step) -> Path:
    """Where a step's list of mistakes that share the solution's map is kept, if it has one."""
    return root / "autograder" / "steps" / f"{step.slug}{ALIKE}"


def list_is_stale(root: Path, step: Step) -> bool:
    """Whether the step has such a list, and it is not what would be found out now."""
    path = list_of(root, step)
    return path.is_file() and path.read_text(encoding="utf-8") != _found_out(step)


def regenerate(root: Path, steps: Sequence[Step]) -> list[Path]:
    """Write anew what is stale, and return the files written. The steps are all there are."""
    written = [*stubs.regenerate(root), *notebooks.regenerate(root, steps)]
    for step in steps:
        if list_is_stale(root, step):
            list_of(root, step).write_text(_found_out(step), encoding="utf-8")
            written.append(list_of(root, step))
    if names.record(root, steps):
        written.append(root / names.RECORD)
    return written


def _found_out(step: Step) -> str:
    from autograder.core import engine

    engine.start()
    from autograder.authoring.alike import alike_of

    return alike_of(step)
