"""Which misconceptions keep their weights just as the solution does: found out once, so that a wrong
answer needs one reading of weights instead of one for every known mistake."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

from autograder.core.draw import Draw
from autograder.core.probing import observe
from autograder.core.step import ALIKE, Step
from autograder.core.subject import Source, trusted
from autograder.weights.layers import Map

SEEDS = range(12)  # enough for every size that a step draws


def alike_file(step: Step, folder: Path) -> Path:
    """Where the step's list is kept; `folder` holds the steps."""
    return (folder / step.slug).with_suffix(ALIKE)


def alike_of(step: Step) -> str:
    """The list as it is to be written: a slug a line, in order."""
    solution = step.solution.read_text(encoding="utf-8")
    asked = _maps(step, solution)
    same = [
        m.slug for m in step.misconceptions if _same(asked, _maps(step, m.applied_to(solution)))
    ]
    return "".join(f"{slug}\n" for slug in sorted(same))


def _maps(step: Step, text: str) -> dict[Any, Any]:
    """Every map of weights that the step's probes make of this text."""
    subject = trusted(Source(text, step.slug), step.slug)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in SEEDS:
            for probe in step.probes.values():
                observe(probe, subject, Draw(seed))
    return subject.memo


def _same(asked: dict[Any, Any], found: dict[Any, Any]) -> bool:
    return bool(asked) and all(_equal(asked.get(key), found[key]) for key in found)


def _equal(one: Any, two: Any) -> bool:
    if not isinstance(one, Map) or type(one) is not type(two):
        return False
    mine, other = vars(one), vars(two)
    return mine.keys() == other.keys() and all(_value(mine[k], other[k]) for k in mine)


def _value(one: Any, two: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_value(one[k], two[k]) for k in one)
    if isinstance(one, torch.Tensor):
        return isinstance(two, torch.Tensor) and torch.equal(one, two)
    return bool(one == two)
