"""`autograder report`: what a class has done, as one page to look at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.core.speech import choose
from autograder.core.trouble import Trouble
from autograder.front.commands.shared import PASSED, Lang, need, step_names
from autograder.front.show import near
from autograder.front.troubles import find_step, language
from autograder.front.wording import say

if TYPE_CHECKING:
    from autograder.core.step import Step
    from autograder.front.report.work import Work

    Lines = Iterator[tuple[Path, int, Mapping[str, Any]]]  # where each stands, and its number

Steps = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[STEP]...", help="these steps; else all there are", autocompletion=step_names
    ),
]
Course = Annotated[
    Path | None, typer.Option(metavar="DIR", help="a course: what its gradebook holds")
]
ResultsFiles = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="results of autograder grade; may be given several times"),
]
Out = Annotated[Path, typer.Option(metavar="FILE", help="where the page goes")]
Sort = Annotated[str, typer.Option(metavar="ORDER", help="students by name, or by points")]
Anonymous = Annotated[
    bool, typer.Option("--anonymous", help="hide names, and every text that could tell them")
]


def report(
    steps: Steps = None,
    course: Course = None,
    results: ResultsFiles = None,
    out: Out = Path("report.html"),
    sort: Sort = "name",
    anonymous: Anonymous = False,
    lang: Lang = None,
) -> int:
    """Make a page about a class: marks, lost checks, known mistakes, points, time.

    Exit status: 0 the page is written, 2 it is not.
    """
    speech = language(lang)
    if course is None and not results:
        raise Trouble("report_what")
    if course is not None and results:
        raise Trouble("report_both")
    if sort not in ("name", "points"):
        raise Trouble("report_order", name=sort)
    asked = [find_step(step) for step in steps or ()]
    from autograder.front.report.figures import count
    from autograder.front.report.page import page
    from autograder.front.report.work import nameless

    lines = list(_of_course(course, asked) if course else _of_files(results or ()))
    if course and lang is None:  # the page quotes what students were told
        speech = choose(next((line["lang"] for _, _, line in lines if "lang" in line), None))
    graded = [line for line in lines if "ungraded" not in line[2]]
    works = _works(graded)
    names = {step.name for step in asked}
    works = [work for work in works if not names or work.step in names]
    if not works:
        raise Trouble("report_empty", path=course or (results or [Path()])[0])
    if anonymous:
        works = nameless(works, lambda number: say("report.student", speech, number=number))
    figures = count(works, speech, "points" if sort == "points" else "name")
    _write(out, page(figures, speech, anonymous=anonymous))
    facts = {"students": len(figures.totals), "steps": len(figures.steps)}
    print(say("report.made", speech, path=near(out), **facts))
    if len(graded) < len(lines):
        print(say("report.ungraded", speech, count=len(lines) - len(graded)))
    return PASSED


def _of_course(course: Path, steps: list[Step]) -> Lines:
    """What a course's gradebook holds; of all steps where none is named."""
    if not course.is_dir():
        raise Trouble("no_folder", path=course)
    need("nbgrader", "classroom")
    from autograder.front.classroom.marks import lines_of

    for number, line in enumerate(lines_of(course, steps), 1):
        yield course, number, line


def _of_files(paths: Iterable[Path]) -> Lines:
    from autograder.bulk.results import Foreign, newest

    for path in paths:
        if not path.exists():
            raise Trouble("no_file", path=path)
        found = False
        try:
            for number, line in newest(path):
                found = True
                yield path, number, line
        except Foreign as e:
            raise Trouble("report_foreign", path=path, line=e.args[0]) from None
        except OSError as e:
            raise Trouble("unreadable", path=path, reason=e.strerror or str(e)) from None
        if not found:
            raise Trouble("report_empty", path=path)


def _works(lines: Iterable[tuple[Path, int, Mapping[str, Any]]]) -> list[Work]:
    from autograder.front.report.work import Foreign, work_of

    found: dict[tuple[str, str], Work] = {}
    for path, number, line in lines:
        try:
            work = work_of(line)
        except Foreign as e:
            key = "report_schema" if str(e) == "schema" else "report_foreign"
            raise Trouble(key, path=path, line=number) from None
        if (work.step, work.student) in found:
            raise Trouble("report_twice", student=work.student, step=work.step, path=path)
        found[work.step, work.student] = work
    return list(found.values())


def _write(path: Path, text: str) -> None:
    """Write the page, whole or not at all; nothing but an earlier report is written over."""
    from autograder.front.report.page import HEAD

    new = path.with_name(f".{path.name}.new")
    try:
        if path.exists() and not path.read_bytes().startswith(HEAD.encode()):
            raise Trouble("report_exists", path=path)
        new.write_text(text, encoding="utf-8", newline="\n")
        os.replace(new, path)
    except OSError as e:
        with suppress(OSError):
            new.unlink()
        raise Trouble("unwritable", path=path, reason=e.strerror or str(e)) from None
