"""Honest code loses nothing behind the walls: every model answer has full marks there."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.core.child import Limits
from autograder.core.grading import grade
from autograder.core.step import Step, all_steps
from autograder.core.subject import Source
from autograder.wall.tiers import numbered, trial

ROOT = Path(__file__).parents[2]
PATIENT = Limits(load=60, probe=60, step=120)


@pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)
def test_the_model_answer_has_full_marks(step: Step, tmp_path: Path) -> None:
    if (reason := trial(1).reason) is not None:
        pytest.skip(f"no walls here: {reason.key}")
    source = Source.read(ROOT / "solutions" / step.name / f"{step.slug}.py")
    verdict = grade(step, source, seed=5, limits=PATIENT, walls=numbered(1).walls(tmp_path))
    assert not [c for c in verdict.checks if c.state != "passed"]
