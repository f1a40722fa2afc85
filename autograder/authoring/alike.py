"""Which misconceptions keep their weights just as the solution does.

Found out once, so that a wrong answer costs one reading of weights, not one for every mistake.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from autograder.core.draw import Draw
from autograder.core.probing import observe
from autograder.core.step import Step
from autograder.core.subject import Source, Subject, trusted
from autograder.weights.layers import Map

SEEDS = range(24)  # enough to meet every size that a step draws


def alike_of(step: Step) -> str:
    """The list as it is to be written: a slug a line, in order."""
    text = step.solution.read_text(encoding="utf-8")
    solution = _subject(step, text)
    telling = [seed for seed in SEEDS if _reads_more(step, solution, seed)]
    same = []
    for mistake in step.misconceptions:
        subject = _subject(step, mistake.applied_to(text))
        for seed in telling:
            _reads_more(step, subject, seed)
        if _same(solution.memo, subject.memo):
            same.append(mistake.slug)
    return "".join(f"{slug}\n" for slug in sorted(same))


def _subject(step: Step, text: str) -> Subject:
    return trusted(Source(text, step.slug), step.slug)


def _reads_more(step: Step, subject: Subject, seed: int) -> bool:
    """Run every probe; whether weights of new sizes were read."""
    before = len(subject.memo)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for probe in step.probes.values():
            observe(probe, subject, Draw(seed))
    return len(subject.memo) > before


def _same(asked: dict[Any, Any], found: dict[Any, Any]) -> bool:
    return (
        bool(asked)
        and asked.keys() == found.keys()
        and all(_equal(asked[k], found[k]) for k in asked)
    )


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
