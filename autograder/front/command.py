"""The command line: `autograder check 4` grades a file, `autograder regenerate` makes the stubs."""

# What is slow to import (torch, rich) is imported where it is used: `autograder --help` is quick.
from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.front.wording import LANGUAGES, Language, choose, say, tell_fault

if TYPE_CHECKING:
    from autograder.core.step import Step
    from autograder.core.subject import Source
    from autograder.core.verdict import Verdict

PASSED, NOT_PASSED, NOT_GRADED = 0, 1, 2  # exit statuses

app = typer.Typer(
    help="Grade the exercises of Transformer by Building.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class CannotGrade(Exception):
    """Nothing could be graded; the message is one line for a person."""


@app.callback()
def _together() -> None:
    """Keeps `check` a command's name, however many commands there are."""


@app.command()
def check(
    step: Annotated[str, typer.Argument(help="4, 04, step04 or feed_forward")],
    file: Annotated[
        Path | None, typer.Option(help="the file to grade, instead of exercises/stepNN's")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="print one JSON object and nothing else")
    ] = False,
    lang: Annotated[str | None, typer.Option(help="en or ko")] = None,
    seed: Annotated[int | None, typer.Option(help="draw the numbers of an earlier run")] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="no child process, no limits: for a debugger")
    ] = False,
) -> int:
    """Grade a step. Exit status: 0 all graded checks passed, 1 not, 2 nothing could be graded."""
    language = _language(lang)
    found = _step(step, language)
    path = file or _own_file(found)
    verdict = _verdict(found, _source(path, language), seed, in_process)
    if as_json:
        _print_json(verdict, found, language)
    else:
        again = ["autograder", "check", str(found.number), *(["--file", str(file)] if file else [])]
        _print_lines(verdict, found, language, shlex.join(again))
    return PASSED if verdict.passed else NOT_PASSED


@app.command()
def regenerate(lang: Annotated[str | None, typer.Option(help="en or ko")] = None) -> int:
    """Make the stubs anew from the model answers (in a checkout of the project)."""
    language = _language(lang)
    from autograder.authoring.stubs import regenerate as write_stale

    root = Path(__file__).parents[2]
    if not (root / "solutions").is_dir() or not (root / "exercises").is_dir():
        raise CannotGrade(say("cannot.checkout", language))
    written = write_stale(root)
    for path in written:
        print(say("made.wrote", language, path=str(path.relative_to(root))))
    if not written:
        print(say("made.fresh", language))
    return PASSED


def main() -> int:
    """Run the command line and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show ✓ or Korean
    arguments = sys.argv[1:] or ["--help"]
    try:
        return int(app(arguments, prog_name="autograder", standalone_mode=False) or 0)
    except CannotGrade as e:
        complaint = str(e)
    except Exception as e:
        if hasattr(e, "format_message"):  # a wrong use of the command line
            complaint = " ".join(e.format_message().split())
        elif "--in-process" in arguments:
            raise
        else:
            complaint = tell_fault(e, choose())
    print(f"autograder: {complaint}", file=sys.stderr)
    return NOT_GRADED


def _language(lang: str | None) -> Language:
    if lang and lang not in LANGUAGES:
        raise CannotGrade(say("cannot.language", choose(), name=lang))
    return choose(lang)


def _step(name: str, lang: Language) -> Step:
    from autograder.core.step import NoSuchStep, all_steps, find_step

    try:
        return find_step(name)
    except NoSuchStep:
        known = ", ".join(s.name for s in all_steps())
        raise CannotGrade(say("cannot.no_step", lang, name=name, steps=known)) from None


def _own_file(step: Step) -> Path:
    """The learner's file below the current folder, or else the kit's own stub."""
    here = Path("exercises", step.name, f"{step.slug}.py")
    return here if here.exists() else step.stub


def _source(path: Path, lang: Language) -> Source:
    if path.is_dir():
        raise CannotGrade(say("cannot.folder", lang, path=str(path)))
    if not path.is_file():
        raise CannotGrade(say("cannot.no_file", lang, path=str(path)))
    from autograder.core import engine

    engine.start()
    from autograder.core.subject import Source

    try:
        return Source.read(path)
    except OSError as e:
        reason = e.strerror or type(e).__name__
        raise CannotGrade(say("cannot.unreadable", lang, path=str(path), reason=reason)) from None


def _verdict(step: Step, source: Source, seed: int | None, in_process: bool) -> Verdict:
    from autograder.core.grading import grade

    return grade(step, source, seed=seed, in_process=in_process)


def _print_json(verdict: Verdict, step: Step, lang: Language) -> None:
    import json

    from autograder.front.result import as_object

    print(json.dumps(as_object(verdict, step, lang), indent=2))


def _print_lines(verdict: Verdict, step: Step, lang: Language, again: str) -> None:
    from rich.console import Console
    from rich.text import Text

    from autograder.front.show import block

    styles: dict[str, Any] = {"title": "bold", "good": "green", "bad": "red", "quiet": "dim"}
    console = Console(highlight=False, soft_wrap=True)
    for line in block(verdict, step, lang, again=again):
        console.print(Text(line.text, style=styles.get(line.style, "")))
