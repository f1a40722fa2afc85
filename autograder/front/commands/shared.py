"""What the commands share: their options, their exit statuses, how lines are printed."""

# Nothing here imports torch or rich before it is needed: help and complaints come at once.
from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.core.speech import Language, choose
from autograder.core.step import Step, all_steps
from autograder.core.trouble import Trouble
from autograder.desk.work import work_in
from autograder.desk.workspace import workspace

if TYPE_CHECKING:
    from autograder.front.show import Line

PASSED, NOT_PASSED, NOT_GRADED = 0, 1, 2  # exit statuses
INTERRUPTED = 130  # of what Ctrl-C has ended, as everywhere


def step_names(incomplete: str) -> list[str]:
    """The names of steps that begin like that, for the shell to complete."""
    names = [name for step in all_steps() for name in (step.name, step.slug)]
    return [name for name in names if name.startswith(incomplete)]


_HELP = "4, 04, step04 or feed_forward"

StepName = Annotated[str, typer.Argument(metavar="STEP", help=_HELP, autocompletion=step_names)]
MaybeStepName = Annotated[
    str | None, typer.Argument(metavar="[STEP]", help=_HELP, autocompletion=step_names)
]
Lang = Annotated[str | None, typer.Option(help="en or ko")]
File = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="a file to take instead of your own"),
]


def language_in(arguments: list[str]) -> Language:
    """The language that a command line asks for, before it is understood."""
    for option, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if option == "--lang":
            return choose(value)
        if option.startswith("--lang="):
            return choose(option.removeprefix("--lang="))
    return choose()


def need(package: str, extra: str) -> None:
    """Go on only where a package is installed that one of the extras brings (else Trouble)."""
    if find_spec(package) is None:
        raise Trouble("needs_extra", package=package, extra=extra)


def own_file(step: Step) -> Path:
    """The learner's file of a step: Python, or the notebook if only that has been written in.

    Raises:
        Trouble: there is no working folder, or the file is not in it.
    """
    file = work_in(workspace().file(step).parent, step)
    if not file.exists():
        raise Trouble("no_own_file", path=file, step=step.number)
    return file


def print_lines(lines: Iterable[Line]) -> None:
    """Lines on standard output, in colour where that is a terminal."""
    from rich.console import Console
    from rich.text import Text

    styles: dict[str, Any] = {"title": "bold", "good": "green", "bad": "red", "quiet": "dim"}
    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text(line.text, style=styles.get(line.style, "")))
