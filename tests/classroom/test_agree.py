"""Three ways to grade, and the same marks: every honest variation and every known mistake."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from autograder.authoring.variations import variations
from autograder.bulk.grader import PATIENT
from autograder.core.grading import grade
from autograder.core.source import Source
from autograder.core.step import Step, find_step
from tests.classroom.course import ROOT, Course, answered, points_of


def answers(step: Step) -> dict[str, str]:
    """Whole answers of a step by a name that a folder may have."""
    solution = step.solution.read_text(encoding="utf-8")
    honest = variations(ROOT, step.slug).values()
    found = {f"honest-{number}": text for number, text in enumerate(honest)}
    return found | {m.slug: m.applied_to(solution) for m in step.misconceptions}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 10))
def test_check_and_grade_and_nbgrader_agree(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step, begun = find_step(number), time.monotonic()
    texts = answers(step)
    first = Course.made(tmp_path / "first" / "course", "--steps", number)
    first.nbgrader("generate_assignment", step.name)
    released = first.released(step.name)
    for name, text in texts.items():
        first.hand_in(name, step.name, answered(released, text))
    second = first.copy(tmp_path / "second" / "course")
    first.nbgrader("autograde", step.name, "--log-level=ERROR")
    (seed,) = {first.recorded(name, step.name)["seed"] for name in texts}
    second.grade(step.name, "--seed", seed)
    checked = {}
    for name, text in texts.items():
        source = Source(text, f"{step.slug}.py")
        # As patient as with a class, and with its numbers: some mistakes show with most only.
        verdict = grade(step, source, seed=seed, limits=PATIENT)
        checked[name] = points_of(verdict, step)
    assert first.marks(step.name) == checked
    assert second.marks(step.name) == checked
    cells = sum(map(len, checked.values()))
    with capsys.disabled():
        seconds = time.monotonic() - begun
        print(f"\n{step.name}: {len(texts)} answers, {cells} cells agree, {seconds:.0f} s")
    assert all(checked[name] == points_of_right(step) for name in texts if "honest-" in name)


def points_of_right(step: Step) -> dict[str, int]:
    """Full marks."""
    return {check.name: check.points for check in step.checks if check.graded}
