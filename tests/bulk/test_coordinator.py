"""Submissions graded by waiting workers: verdicts as a fork gives them, whoever comes first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.bulk.coordinator import grade_all
from autograder.bulk.submissions import names_in, read
from autograder.core.grading import grade
from autograder.core.step import Step
from autograder.core.verdict import Verdict
from autograder.wall.tiers import best, numbered


def alike(verdict: Verdict) -> Verdict:
    """Without what differs from run to run."""
    checks = tuple(replace(c, seconds=0.0) for c in verdict.checks)
    return replace(verdict, checks=checks, seconds=0.0)


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_workers_give_the_verdicts_that_a_fork_gives(
    tmp_path: Path, step: Step, right: str, wrong: str, tier: int
) -> None:
    if tier > best().number:
        pytest.skip(f"this machine gives tier {best().number}")
    (tmp_path / "alice.py").write_text(right)
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "feed_forward.py").write_text(wrong)
    found = [read(tmp_path, name, step) for name in names_in(tmp_path)]
    graded = grade_all(step, found, seed=1, tier=numbered(tier), jobs=1)
    verdicts = {g.submission.name: g.verdict for g in graded}
    assert {name: v.points for name, v in verdicts.items()} == {"alice.py": 10, "bob": 7}
    for submission in found:
        here = grade(step, submission.source, seed=1)
        assert alike(verdicts[submission.name]) == alike(here)
