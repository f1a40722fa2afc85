"""How sound the catalogue is: `python -m benchmarks.soundness [STEP ...] [--seeds N]` prints a table and survivors."""

from __future__ import annotations

import argparse
from collections import Counter

import torch

from autograder.core.grading import grade
from autograder.core.step import Step, all_steps, find_step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict
from benchmarks.mutants import Mutant, mutants


def main() -> None:
    """Print, for each step: mistakes caught and named, mutants caught, mutants that got a name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    steps = [find_step(s) for s in options.steps] or list(all_steps())
    for step in steps:
        _catalogue(step, options.seeds)
        _mechanical(step)


def _catalogue(step: Step, seeds: int) -> None:
    count: Counter[str] = Counter()
    for mistake in step.misconceptions:
        text = mistake.applied_to(step.solution.read_text(encoding="utf-8"))
        for seed in range(seeds):
            verdict = grade(step, Source(text, f"{step.slug}.py"), seed=seed)
            names = _names(verdict)
            caught = verdict.points < verdict.max_points
            count["entries"] += 1
            count["caught"] += caught
            count["named"] += mistake.slug in names
            count["advice"] += mistake.advice is not None
            others = names - {mistake.slug}
            if not (caught or mistake.advice) or mistake.slug not in names or others:
                print(f"  {step.name} seed {seed} {mistake.slug}: caught {caught}, names {names}")
    print(f"{step.name} catalogue: {dict(count)}")


def _mechanical(step: Step) -> None:
    caught, named, survivors = 0, [], []
    every = list(mutants(step.solution.read_text(encoding="utf-8")))
    for mutant in every:
        verdict = grade(step, Source(mutant.text, f"{step.slug}.py"), seed=1)
        if verdict.points < verdict.max_points:
            caught += 1
            if names := _names(verdict):
                named.append((mutant, names))
        else:
            survivors.append((mutant, verdict))
    print(f"{step.name} mutants: {len(every)}, caught {caught}, named {len(named)}")
    for mutant, verdict in survivors:
        remarks = [c.check for c in verdict.checks if c.state != "passed"]
        print(f"  survives {_shown(mutant)} {remarks or ''}")
    for mutant, names in named:
        print(f"  named {sorted(names)}: {_shown(mutant)}")


def _shown(mutant: Mutant) -> str:
    return f"line {mutant.line}: {mutant.before}  ->  {mutant.after}"


def _names(verdict: Verdict) -> set[str]:
    return {slug for check in verdict.checks for slug in check.misconceptions}


if __name__ == "__main__":
    main()
