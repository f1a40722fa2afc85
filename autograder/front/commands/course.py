"""`autograder course create`: a course for nbgrader, made from the kit."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from autograder.core.step import Step, all_steps
from autograder.core.trouble import Trouble
from autograder.front.commands.shared import PASSED, Lang, need
from autograder.front.troubles import find_step, language
from autograder.front.wording import say

app = typer.Typer(help="A course for nbgrader.")


@app.callback()
def course() -> None:
    """A course that is graded with nbgrader."""


@app.command()
def create(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder, or an empty one")],
    steps: Annotated[
        str | None, typer.Option(metavar="STEPS", help="which, such as 1-9 or 1,3,5-7; else all")
    ] = None,
    students: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="columns: id, first_name, last_name, email, lms_user_id"
        ),
    ] = None,
    lang: Lang = None,
) -> int:
    """Make a course: nbgrader's own commands and pages work in it, and grade behind walls."""
    speech = language(lang)
    chosen = _steps(steps) if steps is not None else list(all_steps())
    need("nbgrader", "classroom")
    from autograder.front.classroom.course import create as make
    from autograder.front.classroom.students import students_in

    enrolled = students_in(students) if students else []
    make(folder, chosen, speech, enrolled)
    facts = {"path": str(folder), "steps": len(chosen), "students": len(enrolled)}
    print(say("classroom.made", speech, **facts))
    place = shlex.quote(str(folder))
    print(say("classroom.next", speech, folder=place, step=chosen[0].name))
    return PASSED


def _steps(text: str) -> list[Step]:
    """The steps of '1-9', or '1,3,5-7', by number; no step twice."""
    found: dict[int, Step] = {}
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\w+?)(?:\s*-\s*(\w+))?\s*", part)
        if not ends:
            raise Trouble("no_steps", text=text)
        first, last = (find_step(end or ends[1]) for end in ends.groups())
        between = [s for s in all_steps() if first.number <= s.number <= last.number]
        if not between:
            raise Trouble("no_steps", text=text)
        found |= {s.number: s for s in between}
    return [found[number] for number in sorted(found)]
