"""`autograder check`: grade a file."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.desk import marking
from autograder.front.commands.shared import (
    NOT_PASSED,
    PASSED,
    File,
    Lang,
    StepName,
    find_step,
    language,
    own_file,
    print_lines,
)

if TYPE_CHECKING:
    from autograder.core.step import Step
    from autograder.core.verdict import Verdict


def check(
    step: StepName,
    file: File = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="print one JSON object and nothing else")
    ] = False,
    lang: Lang = None,
    seed: Annotated[int | None, typer.Option(help="draw the numbers of an earlier run")] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="no child process, no limits: for a debugger")
    ] = False,
) -> int:
    """Grade a step. Exit status: 0 all graded checks passed, 1 not, 2 nothing could be graded."""
    speech = language(lang)
    found = find_step(step)
    source = marking.source(file or own_file(found))
    verdict = marking.mark(found, source, seed=seed, in_process=in_process)
    if as_json:
        _print_json(verdict, found, speech)
    else:
        from autograder.front.show import block

        again = ["autograder", "check", str(found.number), *(["--file", str(file)] if file else [])]
        print_lines(block(verdict, found, speech, again=shlex.join(again)))
    return PASSED if verdict.passed else NOT_PASSED


def _print_json(verdict: Verdict, step: Step, lang: str) -> None:
    import json

    from autograder.front.result import as_object

    print(json.dumps(as_object(verdict, step, lang), indent=2))
