"""The heart: probe a subject, compare with the reference, name mistakes, give the verdict."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from autograder.core.child import Job, Limits, Wall
from autograder.core.compare import Difference, difference
from autograder.core.diagnosis import PATIENCE, Diagnosis, diagnose
from autograder.core.expected import Expected
from autograder.core.observation import Observation, Raised
from autograder.core.running import Lost, Seen, run
from autograder.core.step import Check, Step
from autograder.core.subject import Source
from autograder.core.task import Task
from autograder.core.verdict import CheckVerdict, Finding, State, Verdict

_NO_PYTHON = ("SyntaxError", "IndentationError", "TabError")


def grade(
    step: Step,
    source: Source,
    *,
    seed: int | None = None,
    own: Mapping[str, Source] | None = None,
    in_process: bool = False,
    limits: Limits | None = None,
    walls: Sequence[Wall] = (),
) -> Verdict:
    """The verdict on a source.

    Args:
        step: which step's checks to run.
        source: the learner's text.
        seed: what sizes, inputs and weights are drawn from; None takes this run's, which nobody has
            seen and which lets the run look up what it has worked out before.
        own: the learner's files (slug -> source, in the steps' order) that take the reference's
            place in giving the pieces of earlier steps.
        in_process: run the code here, without limits, for a debugger.
        limits, walls: see `running.run`.
    """
    started = time.perf_counter()
    seed = _seed_of_this_run() if seed is None else seed
    if source.problem:
        verdict = refused(step, source, seed)
    else:
        exports = {c.probe: c.export for c in step.checks}
        job = Job(source, Task.of(step), tuple(exports), seed, own or {})
        seen = run(job, exports, limits=limits, walls=walls, in_process=in_process)
        verdict = judged(step, source, seen, seed)
    return replace(verdict, seconds=time.perf_counter() - started)


@cache
def _seed_of_this_run() -> int:
    return secrets.randbelow(2**31)


def refused(step: Step, source: Source, seed: int) -> Verdict:
    """The verdict on a source that has a problem: nothing of it is run."""
    assert source.problem
    return Verdict(step.name, _unloaded(step, source.problem), seed, filename=source.filename)


def judged(
    step: Step, source: Source, seen: Seen, seed: int, patience: float = PATIENCE
) -> Verdict:
    """The verdict on what was seen of a source; nothing of the learner's is executed here.

    Args:
        step, source, seed: what was run, and for what.
        seen: what came of it.
        patience: as in `diagnose`.
    """
    if isinstance(seen.loaded, Lost):
        checks = _unloaded(step, *_lost("load", seen.loaded))
    elif seen.loaded.values:
        checks = _unloaded(step, _loading(seen.loaded.values["raised"]))
    else:
        checks = _compared(step, seen, seed, patience)
    return Verdict(step.name, checks, seed, seen.printed, filename=source.filename)


def _unloaded(step: Step, finding: Finding, state: State = "error") -> tuple[CheckVerdict, ...]:
    """One check that says why the source could not be loaded, the others skipped."""
    first, *rest = step.checks
    skipped = (Finding("skipped.load"),)
    return (
        CheckVerdict(first.name, first.export, state, 0, first.points, (finding,)),
        *(CheckVerdict(c.name, c.export, "skipped", 0, c.points, skipped) for c in rest),
    )


def _loading(error: object) -> Finding:
    assert isinstance(error, Raised)
    special = {
        **dict.fromkeys(_NO_PYTHON, "load.syntax"),
        "NotGiven": "load.not_given",
        "ModuleNotFoundError": "load.no_module",
        "ImportError": "load.import",
        "SystemExit": "load.exit",
        "NoNotebook": "load.notebook",
    }
    return Finding(special.get(error.kind, "load.raised"), vars(error))


def _compared(step: Step, seen: Seen, seed: int, patience: float) -> tuple[CheckVerdict, ...]:
    expected = Expected(step, seed)
    views: dict[str, Observation] = {}
    differences: dict[str, Difference] = {}
    for check in step.checks:
        found = seen.probes[check.probe]
        if isinstance(found, Lost):
            continue
        views[check.name] = found.only(check.sees)
        asked = expected.right(check.probe, found.terms).only(check.sees)
        differs = difference(asked, views[check.name], check.tolerance)
        if differs:
            differences[check.name] = differs
    failed = {n for n, d in differences.items() if not _unwritten(d)}
    none = Diagnosis({}, {})
    diagnosis = diagnose(step, views, failed, seed, patience) if failed else none
    return tuple(_verdict(c, seen, differences, diagnosis, step) for c in step.checks)


def _unwritten(differs: Difference) -> bool:
    """The stub is untouched there: nothing to diagnose."""
    # The line tells: torch raises the same for what it cannot do with a meta tensor.
    return differs.kind == "raised" and "NotImplementedError" in differs.facts["code"]


def _unparsed(differs: Difference) -> bool:
    """A cell of a notebook is no Python; a SyntaxError that code raised has a function's name."""
    facts = differs.facts
    if differs.kind != "raised" or facts["kind"] not in _NO_PYTHON:
        return False
    return facts["line"] is not None and not facts["function"]


def _verdict(
    check: Check, seen: Seen, differences: dict[str, Difference], diagnosis: Diagnosis, step: Step
) -> CheckVerdict:
    found = seen.probes[check.probe]
    blank = CheckVerdict(check.name, check.export, "passed", check.points, check.points)
    if isinstance(found, Lost):
        finding, state = _lost("probe", found)
        return replace(blank, state=state, points=0, findings=(finding,))
    blank = replace(blank, seconds=found.seconds)
    if check.main and found.terms.get("ready_made"):
        finding = Finding("ready_made", {"found": found.terms["ready_made"][0]})
        return replace(blank, state="failed", points=0, findings=(finding,))
    if check.name not in differences:
        return blank
    if check.name in diagnosis.carried:
        notes = tuple(Finding("carried", {"mistake": s}) for s in diagnosis.carried[check.name])
        return replace(blank, findings=notes)
    differs = differences[check.name]
    slugs = diagnosis.named.get(check.name, ())
    findings = (_told(differs), *(Finding("mistake", {"mistake": s}) for s in slugs))
    broken: State = "error" if differs.kind == "unusable" or _unparsed(differs) else "failed"
    return replace(blank, state=broken, points=0, findings=findings, misconceptions=slugs)


def _told(differs: Difference) -> Finding:
    facts = {"key": differs.key, **differs.facts}
    if differs.kind == "unusable":
        return Finding(f"unusable.{differs.facts['problem']}", facts)
    if differs.kind == "unreadable":
        return Finding(f"unreadable.{differs.facts['reason']}", facts)
    if _unwritten(differs):
        return Finding("not_implemented", facts)
    if _unparsed(differs):
        return Finding("load.syntax", facts)
    if differs.facts.get("kind") == "NotGiven":
        return Finding("load.not_given", facts)
    return Finding(f"difference.{differs.kind}", facts)


def _lost(where: str, lost: Lost) -> tuple[Finding, State]:
    states: dict[str, State] = {"timeout": "timeout", "skipped": "skipped"}
    key = f"lost.{lost.kind}" if lost.kind != "timeout" else f"lost.timeout_{where}"
    return Finding(key, {"detail": lost.detail}), states.get(lost.kind, "error")
