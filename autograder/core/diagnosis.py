"""Name the mistake: the known ones whose observations equal the learner's, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autograder.core.compare import equal
from autograder.core.expected import Expected, home, touches
from autograder.core.observation import Observation
from autograder.core.step import Check, Misconception, Step


@dataclass(frozen=True)
class Diagnosis:
    """`named`: check -> slugs of mistakes. `carried`: check -> slugs of mistakes under which it is passed."""

    named: dict[str, tuple[str, ...]]
    carried: dict[str, tuple[str, ...]]


def diagnose(step: Step, seen: Mapping[str, Observation], failed: set[str], seed: int) -> Diagnosis:
    """Explain the failed checks.

    A mistake is named on a check when it fails that check with the very observation that the learner's code gave, and
    when it fails no check that the learner's code passes. A mistake made in another export, or a convention that has
    already cost a check, is carried: what then agrees with the solution under the same edit is passed.

    Args:
        step: the step.
        seen: the observation of each check that has one, restricted to what the check sees.
        failed: names of the checks that failed.
        seed: what the observations were drawn from.
    """
    expected = Expected(step, seed)
    named: dict[str, tuple[str, ...]] = {}
    carried: dict[str, tuple[str, ...]] = {}
    base: tuple[str, ...] = ()
    for _ in range(3):  # each round stands on the conventions that the round before has found
        left = failed - named.keys() - carried.keys()
        found = _explain(step, seen, left, failed, expected, base)
        named |= found
        slugs = {s for names in named.values() if len(names) == 1 for s in names}
        _carry(step, seen, named, carried, failed, slugs, expected)
        more = tuple(sorted(s for s in slugs if step.misconception(s).convention))
        if not found or more == base:
            break
        base = more
    return Diagnosis({k: v for k, v in named.items() if k not in carried}, carried)


def _explain(
    step: Step,
    seen: Mapping[str, Observation],
    left: set[str],
    failed: set[str],
    expected: Expected,
    base: tuple[str, ...],
) -> dict[str, tuple[str, ...]]:
    explains: dict[str, set[str]] = {}
    for mistake in step.misconceptions:
        if mistake.slug in base:
            continue
        checks = _explained(step, mistake, seen, left, failed, expected, base)
        if checks:
            explains[mistake.slug] = checks
    best = {
        slug: checks
        for slug, checks in explains.items()
        if not any(checks < others for others in explains.values())
    }
    return {
        name: tuple(slug for slug, checks in best.items() if name in checks)
        for name in left
        if any(name in checks for checks in best.values())
    }


def _explained(
    step: Step,
    mistake: Misconception,
    seen: Mapping[str, Observation],
    left: set[str],
    failed: set[str],
    expected: Expected,
    base: tuple[str, ...],
) -> set[str]:
    """The checks that this mistake, on top of the conventions in `base`, explains; none if it contradicts one."""
    found: set[str] = set()
    for check in sorted(step.checks, key=lambda c: c.name not in left):
        if check.name not in seen or (check.name not in left and not found):
            continue
        if not touches(step, mistake, check.export):
            continue
        if check.name in left and not _tells(mistake, seen[check.name]):
            continue
        terms = seen[check.name].terms
        wrong = expected.mistaken((*base, mistake.slug), check.probe, terms)
        if wrong is None:
            return set()
        right = expected.mistaken(base, check.probe, terms) if base else None
        right = right or expected.right(check.probe, terms)
        if equal(right.only(check.sees), wrong.only(check.sees), check.tolerance):
            continue
        if check.name not in failed:
            return set()  # it would fail what the learner has right
        here = seen[check.name].only(check.sees)
        if check.name in left and equal(wrong.only(check.sees), here, check.tolerance):
            found.add(check.name)
    graded = {c.name for c in step.checks if c.graded}
    return found if mistake.advice or found & graded else set()  # a remark alone proves too little


def _tells(mistake: Misconception, seen: Observation) -> bool:
    """Whether a mistake can be told from this: many end in the same exception, or in no tensor."""
    return mistake.telling or not ("raised" in seen.values or "unusable" in seen.values)


def _carry(
    step: Step,
    seen: Mapping[str, Observation],
    named: dict[str, tuple[str, ...]],
    carried: dict[str, tuple[str, ...]],
    failed: set[str],
    slugs: set[str],
    expected: Expected,
) -> None:
    charged: set[str] = set()
    for check in step.checks:
        if check.name not in failed or check.name not in seen:
            continue
        here = set(named.get(check.name, ()))
        taken = {
            m.slug
            for m in map(step.misconception, sorted(slugs))
            if touches(step, m, check.export)
            and (home(step, m) != check.export or (m.convention and m.slug in charged))
        }
        charged |= here
        if not taken:
            continue
        wrong = expected.mistaken(sorted(taken), check.probe, seen[check.name].terms)
        if wrong and equal(
            wrong.only(check.sees), seen[check.name].only(check.sees), check.tolerance
        ):
            carried[check.name] = tuple(sorted(taken))
