"""Where the parts of a whole come from: the learner's files, the model answers, the reference."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from autograder.authoring.stubs import BEGIN, END, UNWRITTEN
from autograder.core.given import REFERENCE
from autograder.core.step import Step, all_steps
from autograder.core.trouble import Trouble
from autograder.desk.assemble import Part
from autograder.desk.work import work_in
from autograder.desk.workspace import read, workspace

Origin = Literal["mine", "solutions", "reference"]


def parts(upto: Step, origin: Origin) -> list[Part]:
    """The files of the steps up to this one, in order; a step of the reference may have several.

    Raises:
        Trouble: one is missing, or the learner has not yet written all of it.
    """
    steps = [step for step in all_steps() if step.number <= upto.number]
    if origin == "reference":
        package = find_spec(REFERENCE)
        assert package and package.origin
        seen = {step.slug for step in all_steps()}
        folder = Path(package.origin).parent
        return [part for step in steps for part in _reference(step, step.slug, folder, seen)]
    return [_part(step, origin) for step in steps]


def _reference(step: Step, module: str, folder: Path, seen: set[str]) -> Iterator[Part]:
    """A module of the reference, and before it those that it needs and no step is named by."""
    path = folder / f"{module}.py"
    text = read(path)
    for node in ast.walk(ast.parse(text)):
        needed = node.module if isinstance(node, ast.ImportFrom) and node.level == 1 else None
        if needed and needed not in seen:
            seen.add(needed)
            yield from _reference(step, needed, folder, seen)
    yield Part(step, text, path.name)


def _part(step: Step, origin: Origin) -> Part:
    if origin == "solutions":
        lines = read(step.solution).split("\n")
        marks = (BEGIN, END)
        text = "\n".join(line for line in lines if line.strip() not in marks)
        return Part(step, text, step.solution.name)
    path = work_in(workspace().file(step).parent, step)
    if not path.is_file():
        raise Trouble("no_own_file", path=path, step=step.number)
    text = read(path)
    if UNWRITTEN.search(text):
        raise Trouble("unwritten", path=path, step=step.number)
    return Part(step, text, path.name)
