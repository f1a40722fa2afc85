"""How fast a class is graded: `python -m benchmarks.class_grading [--long]`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autograder.authoring.variations import variations
from autograder.core.step import find_step
from autograder.wall.tiers import best
from benchmarks.memory import peak_memory

STEP = find_step(4)
ROOT = Path(__file__).parents[1]
JOBS = 2
CLASS, SIZES, LONG = 200, (100, 1_000), 10_000
FEW = 40
ASLEEP = "import time\ntime.sleep(60)\n"


def main() -> None:
    """Print the tables."""
    asked = _asked()
    if asked.grade:
        print(json.dumps(_times(asked.grade)))
        return
    tier = best()
    print(f"{STEP.name}, {JOBS} workers, isolation tier {tier.number} ({tier.name})")
    print("60 % right: the solution and honest variations; 40 % wrong: the catalogue's mistakes")
    _rate()
    _scaling((*SIZES, LONG) if asked.long else SIZES)
    _sleeper()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help=f"{LONG:,} submissions, too")
    parser.add_argument("--grade", metavar="DIR", type=Path, help="used by the benchmark itself")
    return parser.parse_args()


def _rate() -> None:
    """Submissions a second: of the whole command, and once it is under way."""
    took = _graded(CLASS)
    whole = CLASS / took["whole"]
    half = CLASS // 2
    under_way = (CLASS - half) / (took["times"][-1] - took["times"][half - 1])
    print(f"{CLASS} submissions       {whole:7.2f} a second, the command's start included")
    print(f"                      {under_way:7.2f} a second in the second half of them")


def _scaling(sizes: tuple[int, ...]) -> None:
    for size in sizes:
        took = _graded(size)
        print(
            f"{size:6,} submissions    {took['times'][-1]:7.1f} s"
            f"   {1e3 * took['times'][-1] / size:6.1f} ms each   coordinator {took['peak']:.0f} MiB"
        )


def _sleeper() -> None:
    """One of two workers is asleep: the other goes on at its own pace."""
    took = _graded(FEW, asleep=True)
    gaps = [b - a for a, b in zip(took["times"], took["times"][1:], strict=False)]
    print(
        f"one of {FEW} sleeps      {took['times'][-1]:7.1f} s   it is the last;"
        f" longest wait for another {max(gaps[:-1]):.2f} s"
    )


def mix() -> Iterator[str]:
    """Texts without an end: of five each three right and two wrong, no two the same."""
    solution = STEP.solution.read_text(encoding="utf-8")
    right = cycle([solution, *variations(ROOT, STEP.slug).values()])
    wrong = cycle([m.applied_to(solution) for m in STEP.misconceptions if not m.advice])
    for number in range(sys.maxsize):
        text = next(right if number % 5 in (0, 2, 4) else wrong)
        yield f"{text}\n# {number}\n"


def _graded(count: int, asleep: bool = False) -> dict[str, Any]:
    """A class graded by a process of its own: what `_times` says, and seconds in all."""
    with TemporaryDirectory() as home:
        folder = Path(home, "class")
        folder.mkdir()
        for number, text in enumerate(islice(mix(), count)):
            text = ASLEEP if asleep and not number else text
            (folder / f"s{number:05d}.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", __spec__.name, "--grade", str(folder)]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        whole = time.perf_counter() - started
        return {**json.loads(done.stdout), "whole": whole}


def _times(folder: Path) -> dict[str, Any]:
    """Seconds after which each submission was done, and the most memory used; as the command."""
    from autograder.bulk.results import Results
    from autograder.bulk.submissions import names_in
    from autograder.bulk.waiting import Waiting
    from autograder.core import engine
    from autograder.core.task import Task

    started = time.perf_counter()
    tier, names, task = best(), names_in(folder), Task.of(STEP)
    workers = [Waiting(task, tier) for _ in range(JOBS)]
    engine.start()
    from autograder.bulk.folder import grade_folder
    from autograder.front.result import as_object

    times = []
    with closing(Results(folder.parent / "results.jsonl")) as results:
        for _ in grade_folder(
            folder,
            names,
            results,
            lambda graded: as_object(graded.verdict, STEP, "en"),
            step=STEP,
            seed=1,
            tier=tier,
            jobs=JOBS,
            lang="en",
            started=workers,
        ):
            times.append(time.perf_counter() - started)
        results.finish(names)
    return {"times": times, "peak": peak_memory()}


if __name__ == "__main__":
    main()
