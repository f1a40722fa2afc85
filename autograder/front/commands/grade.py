"""`autograder grade`: the submissions of a class, each behind walls, into one file of results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.core.trouble import Trouble
from autograder.front.commands import appeal
from autograder.front.commands.marking import Asked, drawn, opened
from autograder.front.commands.shared import (
    INTERRUPTED,
    NOT_PASSED,
    PASSED,
    Lang,
    StepName,
    need,
)
from autograder.front.show import near
from autograder.front.troubles import find_step, language

if TYPE_CHECKING:
    from autograder.bulk.results import Results
    from autograder.wall.tiers import Tier

Folder = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="a file or a folder for each student: .py or .ipynb"),
]
Course = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="an nbgrader course: marks go into its gradebook"),
]
Out = Annotated[
    Path | None, typer.Option(metavar="RESULTS", help="where results go, a line of JSON each")
]
Only = Annotated[
    str | None, typer.Option(metavar="NAME", help="show one verdict again, and write no mark")
]
Seed = Annotated[int | None, typer.Option(min=0, help="draw the numbers of an earlier run")]
Jobs = Annotated[int | None, typer.Option(min=1, help="how many at once; else one a core")]
Unsafe = Annotated[
    bool, typer.Option("--without-isolation", help="run strangers' code with no wall around it")
]


def grade(
    step: StepName,
    folder: Folder = None,
    course: Course = None,
    out: Out = None,
    only: Only = None,
    seed: Seed = None,
    jobs: Jobs = None,
    without_isolation: Unsafe = False,
    lang: Lang = None,
) -> int:
    """Grade a folder of submissions, or a course. The same command goes on after an interruption.

    Exit status: 0 all are graded, 1 some marks could not be written, 130 interrupted, 2 nothing
    could be graded. With --only: 0 when all graded checks passed, 1 not.
    """
    speech = language(lang)
    found = find_step(step)
    place = _place(folder, course)
    if out is None and only is None and course is None:
        raise Trouble("grading_no_out")
    if course is not None:
        if out is not None:
            raise Trouble("grading_course_out")
        need("nbgrader", "classroom")
    tier = _tier(without_isolation)
    from autograder.bulk.waiting import Broken, cores

    asked = Asked(found, place, tier, jobs or cores(), speech)
    try:
        if only is not None:
            if course is None:
                return appeal.in_folder(asked, only, out, seed)
            return appeal.in_course(asked, only, seed)
        return _all(asked, out, seed) if course is None else _course(asked, seed)
    except Broken as e:
        raise Trouble("grading_broken", reason=str(e)) from None
    except KeyboardInterrupt:
        asked.say("stopped")
        return INTERRUPTED


def _place(folder: Path | None, course: Path | None) -> Path:
    """The folder to look for submissions in."""
    if (folder is None) == (course is None):
        raise Trouble("grading_no_place")
    place = folder or course
    assert place
    if not place.is_dir():
        raise Trouble("no_folder", path=place)
    return place


def _tier(without_isolation: bool) -> Tier:
    from autograder.wall.tiers import best

    if not hasattr(os, "fork"):
        raise Trouble("grading_no_fork")
    tier = best()
    if not tier.number and not without_isolation:
        raise Trouble("grading_not_isolated")
    return tier


def _all(asked: Asked, out: Path | None, seed: int | None) -> int:
    """Grade what is not graded yet."""
    from autograder.bulk.results import table_of
    from autograder.bulk.submissions import names_in

    assert out is not None
    table = table_of(out)
    try:
        names = names_in(asked.folder, (out, table))
    except OSError as e:
        raise Trouble("unreadable", path=asked.folder, reason=e.strerror or "?") from None
    with opened(out) as results:
        asked.say("plan", step=asked.step.name, count=len(names))
        asked.say_tier()
        anew = _grade(asked, names, results, seed) if names else 0
        results.finish(names)
    asked.say("done", count=len(names), anew=anew, path=near(out), table=near(table))
    return PASSED


def _grade(asked: Asked, names: list[str], results: Results, seed: int | None) -> int:
    """How many were graded now."""
    from autograder.bulk.waiting import Waiting
    from autograder.core import engine
    from autograder.core.task import Task

    task = Task.of(asked.step)
    begun = min(asked.jobs, results.lacks(names))
    started = [Waiting(task, asked.tier) for _ in range(begun)]
    engine.start()  # meanwhile: it takes as long
    from autograder.bulk.folder import grade_folder
    from autograder.front.result import as_object

    verdicts = grade_folder(
        asked.folder,
        names,
        results,
        lambda graded: as_object(graded.verdict, asked.step, asked.lang),
        step=asked.step,
        seed=drawn(seed, None),
        only_seed=seed is not None,
        tier=asked.tier,
        jobs=asked.jobs,
        lang=asked.lang,
        started=started,
    )
    anew = 0
    with _bar(asked, len(names)) as advance, closing(verdicts):
        for graded in verdicts:
            anew += graded is not None
            advance()
    return anew


def _course(asked: Asked, seed: int | None) -> int:
    """Grade what a course has collected and not graded yet."""
    from autograder.bulk.waiting import Waiting
    from autograder.core import engine
    from autograder.core.task import Task
    from autograder.front.classroom.assignment import assignment

    with assignment(asked.folder, asked.step) as found:
        found.check_walls()
        students = found.students()
        if not students:
            asked.say("nothing_collected", step=asked.step.name)
            return PASSED
        asked.say("course", step=asked.step.name, count=len(students))
        asked.say_tier()
        task = Task.of(asked.step)
        started = [Waiting(task, asked.tier) for _ in range(min(asked.jobs, len(students)))]
        engine.start()  # meanwhile: it takes as long
        from autograder.front.classroom.everyone import grade_everyone

        everyone = grade_everyone(
            found,
            students,
            tier=asked.tier,
            jobs=asked.jobs,
            seed=drawn(seed, None),
            started=started,
        )
        anew, faults = 0, []
        with _bar(asked, len(students)) as advance, closing(everyone):
            for written in everyone:
                anew += written.verdict is not None
                faults += [written] if written.fault else []
                advance()
    for written in faults:
        asked.say("unwritten", student=written.student, reason=written.fault)
    name = asked.folder.resolve().name
    asked.say("course_done", count=len(students) - len(faults), anew=anew, path=name)
    return NOT_PASSED if faults else PASSED


@contextmanager
def _bar(asked: Asked, total: int) -> Iterator[Callable[[], None]]:
    """Inside, a terminal shows how far it is; the value is called once for each that is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(highlight=False, soft_wrap=True)
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bars:
        task = bars.add_task("", total=total)
        yield lambda: bars.advance(task)
