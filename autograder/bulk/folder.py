"""A folder of submissions graded into a file of results: what is there already is left alone."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from autograder.bulk.coordinator import Graded, grade_all
from autograder.bulk.fingerprint import fingerprint, versions
from autograder.bulk.results import Results
from autograder.bulk.submissions import Submission, read
from autograder.bulk.waiting import Waiting
from autograder.core.step import Step
from autograder.wall.tiers import Tier

Tell = Callable[[Graded], dict[str, Any]]


def line_of(
    told: Mapping[str, Any], submission: Submission, tier: Tier, fingerprint: str
) -> dict[str, Any]:
    """A line of results: a verdict in plain data, and what it was made from."""
    return {
        **told,
        "submission": submission.name,
        "file": submission.source.filename,
        "tier": tier.number,
        "isolation": tier.name,
        "versions": versions(),
        "fingerprint": fingerprint,
    }


def grade_folder(
    folder: Path,
    names: Sequence[str],
    results: Results,
    tell: Tell,
    *,
    step: Step,
    seed: int,
    only_seed: bool,
    tier: Tier,
    jobs: int,
    lang: str,
    started: Sequence[Waiting] = (),
) -> Generator[Graded | None]:
    """Grade the submissions of these names; one value for each once its line is on the disk.

    It is None where the line was there already, made from the same submission, step, version of the
    kit and language.

    Args:
        folder, names: see `submissions.names_in`.
        results: where lines are looked up and added.
        tell: a verdict as a line holds it, in `lang`.
        step, seed, tier, jobs, started: see `grade_all`.
        only_seed: a line that was made from another seed is not good enough.
        lang: of the texts in the lines.
    """
    prints: dict[str, str] = {}
    present: list[None] = []

    def todo() -> Iterator[Submission]:
        for name in names:
            submission = read(folder, name, step)
            line = None if only_seed else results.line(name)
            drawn = line["seed"] if line else seed
            if results.has(name, fingerprint(submission, step, drawn, lang)):
                present.append(None)
            else:
                prints[name] = fingerprint(submission, step, seed, lang)
                yield submission

    all_of_them = grade_all(step, todo(), seed=seed, tier=tier, jobs=jobs, started=started)
    with closing(all_of_them) as verdicts:
        for graded in verdicts:
            submission = graded.submission
            made_from = prints.pop(submission.name)
            results.add(line_of(tell(graded), submission, tier, made_from))
            yield graded
            while present:
                yield present.pop()
    yield from present
