"""The command line, `autograder`: which commands there are, and how a complaint is made."""

from __future__ import annotations

import os
import sys

import typer

from autograder.core.trouble import Trouble
from autograder.front.commands import (
    check,
    course,
    data,
    doctor,
    grade,
    learning,
    maintaining,
    making,
    report,
    train,
    translate,
)
from autograder.front.commands.shared import NOT_GRADED, PASSED, language_in
from autograder.front.troubles import complaint
from autograder.front.wording import tell_fault

app = typer.Typer(
    help="Grade the exercises of Transformer by Building, and help around them.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(check.check)
app.command()(learning.hint)
app.command()(learning.diff)
app.command()(learning.reset)
app.command("list")(learning.steps)
app.command()(doctor.doctor)
app.command()(grade.grade)
app.command()(report.report)
app.command()(making.init)
app.command()(making.assemble)
app.command()(making.regenerate)
app.command()(maintaining.gate)
app.command("new-step")(maintaining.new_step)
app.command()(translate.translate)
app.add_typer(course.app, name="course")
app.add_typer(data.app, name="data")
app.add_typer(train.app, name="train")


def main() -> int:
    """Run the command line and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show ✓ or Korean
    arguments = sys.argv[1:] or ["--help"]
    lang = language_in(arguments)
    try:
        return int(app(arguments, prog_name="autograder", standalone_mode=False) or 0)
    except BrokenPipeError:  # whoever was reading has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PASSED
    except Trouble as e:
        told = complaint(e, lang)
    except Exception as e:
        if hasattr(e, "format_message"):  # a wrong use of the command line
            told = " ".join(e.format_message().split())
        elif "--in-process" in arguments or os.environ.get("AUTOGRADER_DEBUG"):
            raise
        else:
            told = tell_fault(e, lang)
    print(f"autograder: {told}", file=sys.stderr)
    return NOT_GRADED
