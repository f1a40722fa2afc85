"""How sound the catalogue is: `python -m benchmarks.soundness [STEP ...] [--write]`.

Prints, for each step, what became of its known mistakes, honest variations and mechanical mutants;
with `--write`, the pages docs/soundness.md and docs/soundness.ko.md are made from the same run.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.authoring.graded import Graded, grade_step
from autograder.authoring.processes import for_each
from autograder.authoring.soundness import fault_of, names
from autograder.core.step import Step, Words, all_steps, find_step
from benchmarks.mutants import Mutant, mutants
from benchmarks.soundness_data import OTHER_SEEDS, SEED, Doubt, Soundness, Survivor
from benchmarks.soundness_page import write

if TYPE_CHECKING:
    from autograder.core.subject import Source
    from autograder.core.verdict import Verdict

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Measure, print, and write the pages if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", help="all if none is named")
    parser.add_argument("--write", action="store_true", help="write docs/soundness*.md")
    options = parser.parse_args()
    if options.write and options.steps:
        parser.error("the pages are about all steps: name none")
    steps = [find_step(s) for s in options.steps] or list(all_steps())
    measured = for_each(measure, steps)
    for found in measured:
        _print(found)
    if options.write:
        write(measured, ROOT / "docs")


def measure(step: Step) -> Soundness:
    """Grade what is known about a step, and every mechanical mutant of its solution."""
    from autograder.core.grading import grade
    from autograder.core.subject import Source

    graded = grade_step(ROOT, step, SEED)
    reasons = _reasons(step)
    survivors, doubts, named = [], _other_names(graded), 0
    every = list(mutants(step.solution.read_text(encoding="utf-8")))
    for mutant in every:
        source = Source(mutant.text, f"{step.slug}.py")
        verdict = grade(step, source, seed=SEED)
        if verdict.points == verdict.max_points:
            remarks = [c.check for c in verdict.checks if c.state != "passed"]
            reason, equivalent = reasons.get((mutant.before, mutant.after), (None, False))
            survivors.append(Survivor(mutant, remarks, reason, equivalent))
        elif names(verdict):
            named += 1
            doubts += _doubts(step, source, mutant)
    return Soundness(graded, len(every), named, survivors, doubts)


def shown(mutant: Mutant) -> str:
    """A mutant in one line."""
    return f"line {mutant.line}: {mutant.before}  ->  {mutant.after}"


def _other_names(graded: Graded) -> list[Doubt]:
    """Names that a known mistake was given besides its own."""
    return [
        Doubt(slug, others, [])
        for slug, verdict in graded.mistakes.items()
        if (others := sorted(names(verdict) - {slug}))
    ]


def _doubts(step: Step, source: Source, mutant: Mutant) -> list[Doubt]:
    """A mutant is one change: its name should explain all that fails, whatever is drawn."""
    verdicts = [_patient(step, source, seed) for seed in (SEED, *OTHER_SEEDS)]
    given = names(verdicts[0])
    unsteady = sorted({slug for v in verdicts for slug in given ^ names(v)})
    failed = [c for c in verdicts[0].checks if c.points < c.max_points]
    unnamed = [c.check for c in failed if not c.misconceptions]
    doubtful = unsteady or (sorted(given) if unnamed else [])
    return [Doubt(shown(mutant), doubtful, unnamed)] if doubtful else []


def _patient(step: Step, source: Source, seed: int) -> Verdict:
    """The verdict, when all names have been tried: a busy machine may try but some at a time."""
    from autograder.core.grading import grade

    verdict = grade(step, source, seed=seed)
    for _ in range(4):
        before, verdict = verdict, grade(step, source, seed=seed)
        if [c.misconceptions for c in before.checks] == [c.misconceptions for c in verdict.checks]:
            break
    return verdict


def _reasons(step: Step) -> dict[tuple[str, str], tuple[Words, bool]]:
    data = tomllib.loads((ROOT / "benchmarks/equivalent.toml").read_text(encoding="utf-8"))
    return {
        (before, after): (entry["reason"], entry["equivalent"])
        for entry in data.get(step.name, ())
        for before, after in entry["changes"]
    }


def _print(found: Soundness) -> None:
    graded, step = found.graded, found.step
    for message in graded.unfit.values():
        print(f"  {message}")
    for slug, verdict in graded.mistakes.items():
        if fault := fault_of(step.misconception(slug), verdict):
            print(f"  {slug}: {fault}, names {sorted(names(verdict))}")
    for name, verdict in graded.variations.items():
        if verdict.points < verdict.max_points:
            print(f"  variation {name}: {[c.check for c in verdict.checks if c.state != 'passed']}")
    for survivor in found.survivors:
        why = "equivalent" if survivor.equivalent else "explained" if survivor.reason else "?"
        print(f"  survives ({why}) {shown(survivor.mutant)} {survivor.remarks or ''}")
    for doubt in found.doubtful:
        print(f"  in doubt {doubt.slugs}, unnamed {doubt.checks}: {doubt.what}")
    print(
        f"{step.name}: {len(graded.mistakes)} mistakes, {len(graded.variations)} variations; "
        f"{found.mutants} mutants, {found.caught} caught, {found.equivalent} equivalent, "
        f"{found.share:.1%} of the others caught, {found.named} named"
    )


if __name__ == "__main__":
    main()
