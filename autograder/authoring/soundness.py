"""Rules about verdicts: stubs fail, solutions and variations pass, mistakes are named."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.authoring.generated import list_of
from autograder.authoring.graded import Graded
from autograder.authoring.kit import Kit, Problem
from autograder.core.step import Misconception
from autograder.core.verdict import Verdict


def steps_are_gradable(kit: Kit) -> Iterator[Problem]:
    """Nothing in the kit itself stops; every mistake's edit fits the solution, at one place."""
    for graded in kit.graded:
        if graded.fault:
            yield Problem(graded.step.name, "fault", {"message": graded.fault})
        for message in graded.unfit.values():
            yield Problem(_data(graded), "unfit", {"message": message})


def lists_are_fresh(kit: Kit) -> Iterator[Problem]:
    """A list of mistakes that share the solution's map is what would be found out now."""
    for graded in kit.graded:
        if graded.stale_list:
            path = list_of(kit.root, graded.step)
            yield Problem(path.relative_to(kit.root).as_posix(), "stale")


def stubs_fail(kit: Kit) -> Iterator[Problem]:
    """The stub, as it is made from the solution, fails every graded check."""
    for graded in kit.graded:
        for check in graded.stub.checks if graded.stub else ():
            if check.max_points and check.state == "passed":
                yield Problem(graded.step.name, "stub_passes", {"check": check.check})


def solutions_pass(kit: Kit) -> Iterator[Problem]:
    """The solution has full marks."""
    for graded in kit.graded:
        if graded.solution and (lost := _lost(graded.solution)):
            yield Problem(graded.step.name, "solution_loses", {"checks": lost})


def mistakes_are_named(kit: Kit) -> Iterator[Problem]:
    """Every known mistake costs points and is named, or is advice, which costs none."""
    for graded in kit.graded:
        for slug, verdict in graded.mistakes.items():
            mistake = graded.step.misconception(slug)
            if fault := fault_of(mistake, verdict):
                facts = {"mistake": slug, "names": sorted(names(verdict)), "checks": _lost(verdict)}
                yield Problem(_data(graded), fault, facts)


def variations_pass(kit: Kit) -> Iterator[Problem]:
    """Every honest variation has full marks, and there are some."""
    for graded in kit.graded:
        if graded.fault or graded.unfit:
            continue
        if not graded.variations and (kit.root / "tests").is_dir():
            yield Problem(graded.step.name, "no_variation", {"slug": graded.step.slug})
        for name, verdict in graded.variations.items():
            if lost := _lost(verdict):
                facts = {"variation": name, "checks": lost, "names": sorted(names(verdict))}
                yield Problem(graded.step.name, "variation_loses", facts)


def fault_of(mistake: Misconception, verdict: Verdict) -> str:
    """What is wrong with a known mistake, given the verdict on its text; '' if nothing is."""
    if mistake.advice and _lost(verdict):
        return "advice_costs"
    if not mistake.advice and not _lost(verdict):
        return "mistake_escapes"
    remarked = any(c.state != "passed" for c in verdict.checks)
    return "mistake_unnamed" if remarked and mistake.slug not in names(verdict) else ""


def names(verdict: Verdict) -> set[str]:
    """The slugs of the mistakes that a verdict names."""
    return {slug for check in verdict.checks for slug in check.misconceptions}


def _lost(verdict: Verdict) -> list[str]:
    return [c.check for c in verdict.checks if c.points < c.max_points]


def _data(graded: Graded) -> str:
    return f"autograder/steps/{graded.step.slug}.toml"
