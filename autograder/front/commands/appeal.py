"""One verdict of a class again, for an appeal; no mark is written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.core.trouble import Trouble
from autograder.front.commands.marking import Asked, drawn, opened
from autograder.front.commands.shared import NOT_PASSED, PASSED, print_lines

if TYPE_CHECKING:
    from autograder.bulk.submissions import Submission
    from autograder.core.verdict import Verdict

    Line = Mapping[str, Any]


def in_folder(asked: Asked, name: str, out: Path | None, seed: int | None) -> int:
    """The verdict on a submission in a folder; with results at hand, whether they say the same."""
    from autograder.bulk.submissions import names_in, read

    names = names_in(asked.folder)
    matching = [n for n in names if name == n] or [n for n in names if Path(n).stem == name]
    if len(matching) != 1:
        raise Trouble("grading_no_submission", name=name, path=asked.folder)
    (found,) = matching
    line = None
    if out is not None:
        if not out.is_file():
            raise Trouble("no_file", path=out)
        with opened(out) as results:
            line = results.line(found)
    submission = read(asked.folder, found, asked.step)
    return _again(asked, submission, seed, "--folder", line, out)


def in_course(asked: Asked, name: str, seed: int | None) -> int:
    """The verdict on a student of a course; where it is graded, whether the marks are the same."""
    from autograder.front.classroom.assignment import assignment
    from autograder.front.classroom.handed_in import read_from

    with assignment(asked.folder, asked.step) as found:
        if name not in found.students():
            raise Trouble("course_no_submission", name=name, step=asked.step.name)
        line = found.line(name)
        submission = read_from(found.submitted(name), name, asked.step)
    return _again(asked, submission, seed, "--course", line, asked.folder)


def _again(
    asked: Asked,
    submission: Submission,
    seed: int | None,
    place: str,
    line: Line | None,
    home: Path | None,
) -> int:
    from autograder.core import engine

    engine.start()
    from autograder.bulk.coordinator import grade_all
    from autograder.front.show import block

    seed = drawn(seed, line["seed"] if line else None)
    asked.say_tier()
    (graded,) = grade_all(asked.step, [submission], seed=seed, tier=asked.tier, jobs=1)
    words = ["autograder", "grade", str(asked.step.number), place, str(asked.folder)]
    again = shlex.join([*words, "--only", submission.name, "--seed", str(seed)])
    print_lines(block(graded.verdict, asked.step, asked.lang, again=again))
    if line:
        same = _states(graded.verdict) == [(c["name"], c["state"]) for c in line["checks"]]
        points = {key: line[key] for key in ("points", "max_points", "seed")}
        place = home.resolve().name if home else ""
        asked.say("same" if same else "differs", path=place, **points)
    return PASSED if graded.verdict.passed else NOT_PASSED


def _states(verdict: Verdict) -> list[tuple[str, str]]:
    return [(c.check, c.state) for c in verdict.checks]
