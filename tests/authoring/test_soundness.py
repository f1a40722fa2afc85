"""The soundness benchmark: mutants, reasons of survivors, and the pages that are made of a run."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from autograder.core.step import Step, all_steps, find_step
from benchmarks.mutants import mutants
from benchmarks.soundness import measure
from benchmarks.soundness_data import Soundness
from benchmarks.soundness_page import PAGES, write

ROOT = Path(__file__).parents[2]
REASONS = tomllib.loads((ROOT / "benchmarks/equivalent.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def masks() -> Soundness:
    return measure(find_step("masks"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a - b", {"x = a + b", "x = a", "x = b - a", "pass"}),
        ("x = not a", {"x = a", "pass"}),
        ("def f(x: int | None) -> int | None:\n    return x", {"return"}),
        ("f(a, k=1)", {"pass", "a", "f(a, k=2)", "f(a, k=0)", "f(a, k=-1)", "f(a, k=1000)"}),
    ],
)
def test_mutants_change_one_thing_and_no_types(text: str, expected: set[str]) -> None:
    found = [m.after for m in mutants(text)]
    assert set(found) == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)
def test_every_mutant_of_a_solution_is_python_and_none_is_the_solution(step: Step) -> None:
    text = step.solution.read_text(encoding="utf-8")
    every = [ast.unparse(ast.parse(m.text)) for m in mutants(text)]
    assert len(set(every)) == len(every) > 0
    assert ast.unparse(ast.parse(text)) not in every


@pytest.mark.parametrize("name", REASONS)
def test_every_reason_is_about_mutants_that_there_are(name: str) -> None:
    every = {(m.before, m.after) for m in mutants(find_step(name).solution.read_text())}
    told = [tuple(change) for entry in REASONS[name] for change in entry["changes"]]
    assert len(set(told)) == len(told)
    assert set(told) <= every
    for entry in REASONS[name]:
        assert re.search("[가-힣]", entry["reason"]["ko"])
        assert not re.search("[가-힣]", entry["reason"]["en"])


def test_a_step_is_measured(masks: Soundness) -> None:
    text = masks.step.solution.read_text(encoding="utf-8")
    assert masks.mutants == len(list(mutants(text)))
    assert masks.caught + len(masks.survivors) == masks.mutants
    assert masks.share == masks.caught / (masks.mutants - masks.equivalent) >= 0.95
    assert masks.graded.mistakes.keys() == {m.slug for m in masks.step.misconceptions}


def test_the_pages_hold_the_figures_of_the_run_in_both_languages(
    masks: Soundness, tmp_path: Path
) -> None:
    write([masks], tmp_path)
    pages = [(tmp_path / name).read_text(encoding="utf-8") for name in PAGES.values()]
    english, korean = pages
    row = f"| 02 masks | {len(masks.graded.mistakes)} | {len(masks.graded.mistakes)} | 0 |"
    for page in pages:
        assert row in page
        assert (
            f"| {masks.mutants} | {masks.caught} | {masks.equivalent} | {masks.share:.1%} |" in page
        )
        for survivor in masks.survivors:
            assert f"`{survivor.mutant.before}` → `{survivor.mutant.after}`" in page
    assert len(re.findall("^#", english, re.M)) == len(re.findall("^#", korean, re.M))
    assert not re.search("[가-힣]", english)
