"""`autograder check`: grade a file, for one step or for all that it has something of."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.desk import marking
from autograder.front.commands.shared import (
    NOT_PASSED,
    PASSED,
    File,
    Lang,
    MaybeStepName,
    own_file,
    print_lines,
)
from autograder.front.troubles import find_step, language
from autograder.front.wording import say

if TYPE_CHECKING:
    from autograder.core.subject import Source
    from autograder.core.verdict import Verdict
    from autograder.front.show import Line

    Graded = Sequence[tuple[Step, Verdict]]


def check(
    step: MaybeStepName = None,
    file: File = None,
    mine: Annotated[
        bool, typer.Option("--mine", help="give it the pieces of your own earlier steps")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="print one JSON object and nothing else")
    ] = False,
    lang: Lang = None,
    seed: Annotated[int | None, typer.Option(help="draw the numbers of an earlier run")] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="no child process, no limits: for a debugger")
    ] = False,
) -> int:
    """Grade a step, or with --file alone every step that the file defines something of.

    Exit status: 0 all graded checks passed, 1 not, 2 nothing could be graded.
    """
    speech = language(lang)
    steps, path = _asked(step, file)
    source = marking.source(path)
    graded = []
    for one in steps:
        own = _own(one, speech, quiet=as_json) if mine else {}
        verdict = marking.mark(one, source, seed=seed, own=own, in_process=in_process)
        graded.append((one, verdict))
    if as_json:
        _print_json(graded, speech, alone=step is not None)
    else:
        print_lines(_lines(graded, speech, ["--file", str(file)] if file else [], mine))
    return PASSED if all(verdict.passed for _, verdict in graded) else NOT_PASSED


def _asked(step: str | None, file: Path | None) -> tuple[list[Step], Path]:
    """The steps to grade, and the file to grade them on."""
    if step is not None:
        found = find_step(step)
        return [found], file or own_file(found)
    if file is None:
        raise Trouble("no_step_named")
    from autograder.desk.whole_file import steps_in

    return steps_in(file), file


def _own(step: Step, lang: str, quiet: bool) -> dict[str, Source]:
    """The learner's earlier files that pass; it is said which pieces come from elsewhere."""
    from autograder.desk.progress import passed_before
    from autograder.desk.workspace import workspace

    own, others = passed_before(step, workspace())
    if not quiet:
        mine = ", ".join(find_step(slug).name for slug in own)
        print(say("check.mine", lang, steps=mine or say("word.none", lang)))
        if others:
            print(say("check.others", lang, steps=", ".join(s.name for s in others)))
    return own


def _lines(graded: Graded, lang: str, options: list[str], mine: bool) -> Iterator[Line]:
    from autograder.front.show import Line, block, total

    for step, verdict in graded:
        again = ["autograder", "check", str(step.number), *options, *(["--mine"] if mine else [])]
        yield from block(verdict, step, lang, again=shlex.join(again))
        if len(graded) > 1:
            yield Line("")
    if len(graded) > 1:
        yield total([verdict for _, verdict in graded], lang)


def _print_json(graded: Graded, lang: str, alone: bool) -> None:
    import json

    from autograder.front.result import as_object, together

    objects = [as_object(verdict, step, lang) for step, verdict in graded]
    print(json.dumps(objects[0] if alone else together(objects), indent=2))
