"""`autograder hint`, `diff`, `reset` and `list`: what a learner asks for around an exercise."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.core.step import Step, all_steps
from autograder.core.step import find_step as step_called
from autograder.desk import marking
from autograder.desk.reset import reset as begin_anew
from autograder.desk.work import names_of, work_in
from autograder.desk.workspace import read, workspace
from autograder.front.commands.shared import (
    NOT_PASSED,
    PASSED,
    File,
    Lang,
    StepName,
    own_file,
    print_lines,
)
from autograder.front.show import near
from autograder.front.troubles import complaint, find_step, has_check, language
from autograder.front.wording import say

if TYPE_CHECKING:
    from autograder.core.verdict import Verdict
    from autograder.desk.progress import Standing
    from autograder.front.show import Line


def _check_names(ctx: typer.Context, incomplete: str) -> list[str]:
    try:
        checks = step_called(ctx.params.get("step") or "").checks
    except LookupError:
        return []
    return [c.name for c in checks if c.name.startswith(incomplete)]


def hint(
    step: StepName,
    check: Annotated[
        str | None,
        typer.Argument(
            metavar="[CHECK]", help="one check, by its name", autocompletion=_check_names
        ),
    ] = None,
    more: Annotated[bool, typer.Option("--more", help="say where to look, too")] = False,
    file: File = None,
    lang: Lang = None,
) -> int:
    """Ask you a question about what went wrong; with --more say where to look."""
    speech = language(lang)
    found = find_step(step)
    if check:
        has_check(found, check)
    source = marking.source(file or own_file(found))
    verdict = marking.mark(found, source)
    from autograder.front.hints import hint as lines

    what = _typed(found, file)
    print_lines(lines(verdict, found, speech, check=check, more=more, what=what))
    return PASSED


def diff(
    step: StepName,
    spoil: Annotated[
        bool, typer.Option("--spoil", help="show it even though the step is not passed")
    ] = False,
    file: File = None,
    lang: Lang = None,
) -> int:
    """Compare your file with the model answer, once you have passed the step."""
    speech = language(lang)
    found = find_step(step)
    path = file or own_file(found)
    if not spoil:
        verdict = marking.mark(found, marking.source(path))
        if not verdict.passed:
            points = {"points": verdict.points, "max_points": verdict.max_points}
            print(say("diff.not_yet", speech, step=_typed(found, file), **points))
            return NOT_PASSED
    from autograder.desk.difference import difference

    lines = difference(found, read(path), near(path))
    if lines:
        _print_difference(lines)
    else:
        print(say("diff.same", speech))
    return PASSED


def reset(step: StepName, lang: Lang = None) -> int:
    """Begin a step anew: your file is kept beside it, and the stub, or notebook, is written."""
    speech = language(lang)
    found = find_step(step)
    place = workspace()
    file, backup = begin_anew(found, place, speech)
    if backup:
        print(say("reset.kept", speech, path=near(backup)))
    print(say("made.wrote", speech, path=near(file)))
    more = work_in(file.parent, found)
    if more != file and more.name != names_of(found)[0]:
        print(say("reset.more", speech, path=near(more)))
    print(say("reset.next", speech, exercise=near(file.parent)))
    return PASSED


def steps(lang: Lang = None) -> int:
    """Show the steps, the points you have, and what comes next."""
    speech = language(lang)
    from autograder.desk.progress import standings
    from autograder.front.show import Line, total

    place = workspace()
    verdicts: list[Verdict] = []
    following: Step | None = None
    unseen = 0
    for standing in standings(place):
        print_lines([_row(standing, speech)])
        verdicts += [standing.verdict] if standing.verdict else []
        unseen += 0 if standing.verdict else sum(c.points for c in standing.step.checks)
        if not standing.passed:
            following = following or standing.step
    if verdicts:
        print_lines([Line(""), total(verdicts, speech, unseen)])
    if following:
        exercise = near(place.file(following).parent)
        print_lines([Line(say("list.next", speech, exercise=exercise))])
    else:
        print_lines([Line(say("list.done", speech, step=all_steps()[-1].number))])
    return PASSED


def _typed(step: Step, file: Path | None) -> str:
    """What is graded, as it is typed behind a command."""
    return shlex.join([str(step.number), *(["--file", str(file)] if file else [])])


def _row(standing: Standing, lang: str) -> Line:
    from autograder.front.show import Line

    name, verdict = f"{standing.step.name}  {standing.step.title[lang]}", standing.verdict
    if standing.trouble:
        return Line(f"  ✗ {'':>5}  {name} ({complaint(standing.trouble, lang)})", "bad")
    if verdict is None:
        return Line(f"  – {'':>5}  {name} ({say('list.not_started', lang)})", "quiet")
    points = f"{verdict.points}/{verdict.max_points}"
    if verdict.passed:
        return Line(f"  ✓ {points:>5}  {name}", "good")
    return Line(f"  ✗ {points:>5}  {name}", "bad")


def _print_difference(lines: list[str]) -> None:
    """In a diff's colours on a terminal; control characters in it are spelt out."""
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    from autograder.front.wording import escape

    text = "\n".join(escape(line.expandtabs(), 10_000) for line in lines)
    console = Console(highlight=False, soft_wrap=True)
    colours = Syntax(text, "diff", theme="ansi_dark", background_color="default")
    console.print(colours.highlight(text) if console.is_terminal else Text(text), end="\n")
