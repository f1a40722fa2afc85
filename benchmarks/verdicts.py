"""How long a verdict takes: `python -m benchmarks.verdicts`. Cold: ratios; warm: milliseconds."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

PAIRS = 7
WARM = 15


def main() -> None:
    """Print the table."""
    _cold()
    _warm()


def _cold() -> None:
    """pytest on a solution against its imports alone, in turn: a busy machine slows both."""
    plain = [sys.executable, "-c", "import torch, pytest"]
    graded = [sys.executable, "-m", "pytest", "exercises/step04", "--against", "solutions", "-q"]
    for command in (plain, graded):
        _seconds(command)  # bytecode and disk caches
    pairs = [(_seconds(plain), _seconds(graded)) for _ in range(PAIRS)]
    one, two = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"cold  import torch, pytest     {one:6.2f} s")
    print(
        f"cold  pytest exercises/step04  {two:6.2f} s   "
        f"ratio {ratio:.2f}   own share {two - one:.2f} s"
    )


def _seconds(command: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def _warm() -> None:
    """A verdict where torch is loaded and the same step was graded before."""
    import torch

    from autograder.core.grading import grade
    from autograder.core.step import all_steps
    from autograder.core.subject import Source

    torch.set_num_threads(1)
    for step in all_steps():
        solution = step.solution.read_text(encoding="utf-8")
        sources = {"right": solution}
        for mistake in step.misconceptions:
            sources[mistake.slug] = mistake.applied_to(solution)
        for seeds, label in (([1] * WARM, "one seed"), (range(100, 100 + WARM), "fresh seeds")):
            medians = {}
            for name, text in list(sources.items())[:: max(1, len(sources) // 6)]:
                source = Source(text, f"{step.slug}.py")
                grade(step, source, seed=1)
                times = []
                for seed in seeds:
                    started = time.perf_counter()
                    grade(step, source, seed=seed)
                    times.append(time.perf_counter() - started)
                medians[name] = statistics.median(times) * 1e3
            wrong = [m for name, m in medians.items() if name != "right"]
            print(
                f"warm  {step.name}  {label:11}  right {medians['right']:6.1f} ms"
                f"   wrong {min(wrong, default=0):6.1f} to {max(wrong, default=0):6.1f} ms"
            )


if __name__ == "__main__":
    main()
