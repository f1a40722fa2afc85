"""Where the parts of a whole come from: the learner's files, the model answers, the reference."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from autograder.authoring.stubs import BEGIN, END
from autograder.core.given import REFERENCE
from autograder.core.step import Step, all_steps
from autograder.desk.assemble import Part
from autograder.desk.trouble import Trouble
from autograder.desk.workspace import read, workspace

Origin = Literal["mine", "solutions", "reference"]

_UNWRITTEN = re.compile(r"step \d+: \S+ is not implemented yet")


def parts(upto: Step, origin: Origin) -> list[Part]:
    """The files of the steps up to this one, in order.

    Raises:
        Trouble: one is missing, or the learner has not yet written all of it.
    """
    return [_part(step, origin) for step in all_steps() if step.number <= upto.number]


def _part(step: Step, origin: Origin) -> Part:
    if origin == "reference":
        package = find_spec(REFERENCE)
        assert package and package.origin
        path = Path(package.origin).with_name(f"{step.slug}.py")
        return Part(step, read(path), path.name)
    if origin == "solutions":
        lines = read(step.solution).split("\n")
        marks = (BEGIN, END)
        text = "\n".join(line for line in lines if line.strip() not in marks)
        return Part(step, text, step.solution.name)
    path = workspace().file(step)
    if not path.is_file():
        raise Trouble("no_own_file", path=path, step=step.number)
    text = read(path)
    if _UNWRITTEN.search(text):
        raise Trouble("unwritten", path=path, step=step.number)
    return Part(step, text, path.name)
