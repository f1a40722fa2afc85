"""What holds for every step: sound data, a right solution, every mistake caught and named."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.expected import Expected, reference
from autograder.core.grading import grade
from autograder.core.observation import STOPPED, Observation
from autograder.core.probing import observe
from autograder.core.step import Misconception, Step, all_steps, find_step
from autograder.core.subject import Source
from tests.distance import distance

STEPS = all_steps()
MISTAKES = [(s, m) for s in STEPS for m in s.misconceptions]
NAMES = [f"{s.name}-{m.slug}" for s, m in MISTAKES]
by_step = pytest.mark.parametrize("step", STEPS, ids=lambda s: s.name)
by_mistake = pytest.mark.parametrize(("step", "mistake"), MISTAKES, ids=NAMES)


def mistaken(step: Step, mistake: Misconception) -> Source:
    text = mistake.applied_to(step.solution.read_text(encoding="utf-8"))
    return Source(text, f"{step.slug}.py")


@by_step
def test_points_add_up_to_ten(step: Step) -> None:
    assert sum(c.points for c in step.checks) == 10


@by_step
def test_names_are_unique_and_checks_cover_the_exports(step: Step) -> None:
    assert len({c.name for c in step.checks}) == len(step.checks)
    assert {c.export for c in step.checks if c.graded} == set(step.exports)
    assert [c.main for c in step.checks].count(True) == 1
    assert step.slug not in step.exports


@by_step
def test_the_reference_is_observed_in_full_and_every_value_has_a_label(step: Step) -> None:
    for check in step.checks:
        seen = observe(step.probes[check.probe], reference(step.slug), Draw(1)).only(check.sees)
        assert seen.values, check.name
        assert not set(seen.values) & set(STOPPED), (check.name, seen.values)
        assert set(check.sees) <= set(seen.values), check.name
        assert set(seen.values) <= set(check.labels), check.name


@by_step
@pytest.mark.parametrize("seed", range(5))
def test_the_solution_gets_full_marks_and_no_remark(step: Step, seed: int) -> None:
    verdict = grade(step, Source.read(step.solution), seed=seed)
    assert [c for c in verdict.checks if c.state != "passed"] == []
    assert verdict.points == 10


@pytest.mark.slow
@by_step
def test_the_solution_gets_full_marks_whatever_is_drawn(step: Step) -> None:
    for seed in range(1000, 1050):
        verdict = grade(step, Source.read(step.solution), seed=seed)
        assert verdict.points == 10, (seed, verdict)


@by_mistake
def test_a_known_mistake_is_caught_and_named(step: Step, mistake: Misconception) -> None:
    _caught_and_named(step, mistake, seed=1)


@pytest.mark.slow
@by_mistake
def test_a_known_mistake_is_caught_and_named_whatever_is_drawn(
    step: Step, mistake: Misconception
) -> None:
    _caught_and_named(step, mistake, seed=2)


def _caught_and_named(step: Step, mistake: Misconception, seed: int) -> None:
    verdict = grade(step, mistaken(step, mistake), seed=seed)
    failed = [c for c in verdict.checks if c.state != "passed"]
    assert any(c.max_points for c in failed) != bool(mistake.advice), failed
    named = {slug for c in verdict.checks for slug in c.misconceptions}
    if mistake.advice and not failed:
        return
    assert mistake.slug in named, failed


@by_mistake
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_known_mistake_misses_by_far(step: Step, mistake: Misconception, seed: int) -> None:
    """On some failed check by a hundred tolerances, or by a difference that is none of degree."""
    margins = [
        _margin(
            Expected(step, seed).right(c.probe, {}).only(c.sees),
            wrong.only(c.sees),
        )
        / c.tolerance
        for c in step.checks
        if (wrong := Expected(step, seed).mistaken([mistake.slug], c.probe, {}))
    ]
    if not mistake.advice:
        assert max(margins) >= 100


def _margin(right: Observation, wrong: Observation) -> float:
    if right.values.keys() != wrong.values.keys():
        return math.inf
    gaps = [0.0]
    for key, value in right.values.items():
        other = wrong.values[key]
        if isinstance(value, Tensor) and isinstance(other, Tensor):
            gaps.append(distance(value, other))
        elif isinstance(value, float) and isinstance(other, float):
            gaps.append(abs(value - other) / (1 + abs(value)))
        elif isinstance(value, Tensor) or isinstance(other, Tensor) or value != other:
            gaps.append(math.inf)
    return max(gaps)


def texts(value: object, path: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Every text in two languages that a step holds."""
    if isinstance(value, dict) and value and set(value) <= {"en", "ko"}:
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, f"{path}.{key}")
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from texts(item, f"{path}[{i}]")
    elif is_dataclass(value):
        for f in fields(value):
            yield from texts(getattr(value, f.name), f"{path}.{f.name}")


@by_step
def test_every_text_exists_in_both_languages(step: Step) -> None:
    for path, words in texts(step, step.name):
        assert set(words) == {"en", "ko"}, path
        assert all(w.strip() for w in words.values()), path
        assert re.search("[가-힣]", words["ko"]), path
        holes = [sorted(re.findall(r"{\w+}", w)) for w in words.values()]
        assert holes[0] == holes[1], path


@by_step
def test_a_mistake_does_not_tell_the_answer(step: Step) -> None:
    """The question points at the cause; it never holds the line of code that mends it."""
    for mistake in step.misconceptions:
        for find, _ in mistake.edits:
            code = find.strip()
            if len(code) > 12:
                assert code not in mistake.question["en"] + mistake.place["en"], mistake.slug


def test_steps_are_found_by_number_and_by_name() -> None:
    for step in STEPS:
        for name in (step.number, str(step.number), f"{step.number:02d}", step.name, step.slug):
            assert find_step(name) is step
