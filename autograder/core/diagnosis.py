"""Name the mistake: the known ones whose observations equal the learner's, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from autograder.core.compare import equal
from autograder.core.expected import Expected, home, touches
from autograder.core.observation import Observation
from autograder.core.step import Check, Misconception, Step

PATIENCE = 3.0  # seconds that a learner is made to wait for a name


@dataclass(frozen=True)
class Diagnosis:
    """Slugs of mistakes by check: those named there, and those under which it is passed."""

    named: dict[str, tuple[str, ...]]
    carried: dict[str, tuple[str, ...]]


def diagnose(
    step: Step, seen: Mapping[str, Observation], failed: set[str], seed: int, patience: float
) -> Diagnosis:
    """Explain the failed checks.

    A mistake is named on a check when it fails that check with the very observation that the
    learner's code gave, and when it fails no check that the learner's code passes. A mistake made
    in another export, or a convention that has already cost a check, is carried: what then agrees
    with the solution under the same edit is passed.

    Args:
        step: the step.
        seen: the observation of each check that has one, restricted to what the check sees.
        failed: names of the checks that failed.
        seed: what the observations were drawn from.
        patience: seconds of processor time after which no further mistake is tried.
    """
    search = _Search(step, seen, failed, Expected(step, seed), time.process_time() + patience)
    named: dict[str, tuple[str, ...]] = {}
    carried: dict[str, tuple[str, ...]] = {}
    base: tuple[str, ...] = ()
    for _ in range(3):  # each round stands on the conventions that the round before has found
        found = search.explain(failed - named.keys() - carried.keys(), base)
        named |= found
        slugs = {s for names in named.values() if len(names) == 1 for s in names}
        carried |= search.carry(named, slugs)
        more = tuple(sorted(s for s in slugs if step.misconception(s).convention))
        if not found or more == base:
            break
        base = more
    return Diagnosis({k: v for k, v in named.items() if k not in carried}, carried)


@dataclass(frozen=True)
class _Search:
    """One learner's observations, and the known mistakes to hold against them."""

    step: Step
    seen: Mapping[str, Observation]
    failed: set[str]
    expected: Expected
    until: float

    def explain(self, left: set[str], base: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """The mistakes that explain checks in `left`, on top of the conventions in `base`.

        One check after the other, remarks last: only a mistake that looks the same there is held
        against all the others.
        """
        explains: dict[str, set[str]] = {}
        mistakes = [m for m in self.step.misconceptions if m.slug not in base]
        todo = [c for c in self.step.checks if c.name in left and c.name in self.seen]
        for check in sorted(todo, key=lambda c: not c.graded):
            if any(check.name in checks for checks in explains.values()):
                continue
            for mistake in mistakes:
                if mistake.slug in explains or time.process_time() > self.until:
                    continue
                if not check.graded and not mistake.advice:
                    continue  # it has to explain a graded check, too, and is tried there
                if mistake.shows and check.name not in mistake.shows:
                    continue
                if self._alike(mistake, check, base):
                    explains[mistake.slug] = self._explained(mistake, left, base)
        explains = {slug: checks for slug, checks in explains.items() if checks}
        best = {
            slug: checks
            for slug, checks in explains.items()
            if not any(checks < others for others in explains.values())
        }
        named = {name: tuple(s for s, checks in best.items() if name in checks) for name in left}
        return {name: slugs for name, slugs in named.items() if slugs}

    def _alike(self, mistake: Misconception, check: Check, base: tuple[str, ...]) -> bool:
        """Whether the check fails with this mistake just as it did with the learner's code."""
        here = self.seen[check.name]
        if not (touches(self.step, mistake, check.export) and _tells(mistake, here)):
            return False
        if self._refuted_at_home(mistake, check, base):
            return False
        wrong = self.expected.mistaken((*base, mistake.slug), check.probe, here.terms)
        return wrong is not None and _equal(check, wrong, here)

    def _refuted_at_home(self, mistake: Misconception, check: Check, base: tuple[str, ...]) -> bool:
        """Whether a mistake made in another export would fail one of that export's passed checks.

        Those are cheaper to look at than what is built with that export.
        """
        made_in = home(self.step, mistake)
        passed = (c for c in self.step.checks if c.export == made_in and c.name in self.seen)
        return made_in != check.export and any(
            self._changes(mistake, c, base) for c in passed if c.name not in self.failed
        )

    def _changes(self, mistake: Misconception, check: Check, base: tuple[str, ...]) -> bool:
        """Whether the check would see another thing with this mistake; or none at all."""
        terms = self.seen[check.name].terms
        wrong = self.expected.mistaken((*base, mistake.slug), check.probe, terms)
        right = self.expected.mistaken(base, check.probe, terms) if base else None
        right = right or self.expected.right(check.probe, terms)
        return wrong is None or not _equal(check, right, wrong)

    def _explained(self, mistake: Misconception, left: set[str], base: tuple[str, ...]) -> set[str]:
        """The checks that this mistake explains; none if it would fail one that is passed."""
        found: set[str] = set()
        for check in self.step.checks:
            if check.name not in self.seen or not touches(self.step, mistake, check.export):
                continue
            if check.name in self.failed:
                if check.name in left and self._alike(mistake, check, base):
                    found.add(check.name)
                continue
            if self._changes(mistake, check, base):
                return set()
        graded = {c.name for c in self.step.checks if c.graded}
        # a remark alone proves too little
        return found if mistake.advice or found & graded else set()

    def carry(
        self, named: Mapping[str, tuple[str, ...]], slugs: set[str]
    ) -> dict[str, tuple[str, ...]]:
        """The failed checks that are passed once these mistakes, charged elsewhere, are granted."""
        carried: dict[str, tuple[str, ...]] = {}
        charged: set[str] = set()
        for check in self.step.checks:
            if check.name not in self.failed or check.name not in self.seen:
                continue
            granted = sorted(
                m.slug
                for m in map(self.step.misconception, slugs)
                if touches(self.step, m, check.export)
                and (home(self.step, m) != check.export or (m.convention and m.slug in charged))
            )
            charged |= set(named.get(check.name, ()))
            here = self.seen[check.name]
            wrong = granted and self.expected.mistaken(granted, check.probe, here.terms)
            if wrong and _equal(check, wrong, here):
                carried[check.name] = tuple(granted)
        return carried


def _equal(check: Check, one: Observation, two: Observation) -> bool:
    return equal(one.only(check.sees), two.only(check.sees), check.tolerance)


def _tells(mistake: Misconception, seen: Observation) -> bool:
    """Whether a mistake can be told from this: many end in the same exception, or in no tensor."""
    return mistake.telling or not ("raised" in seen.values or "unusable" in seen.values)
