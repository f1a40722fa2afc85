"""Work on several steps at once, one process for each processor."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from autograder.core.step import Step

T = TypeVar("T")


def for_each(work: Callable[[Step], T], steps: Sequence[Step]) -> list[T]:
    """What the work gives for each step, in their order.

    Args:
        work: called in forked processes that have torch loaded, so a function of a module or a
            `partial` of one; what it returns is pickled.
        steps: what to work on; those with the most known mistakes are begun first.
    """
    from autograder.core import engine

    engine.start()  # before anything else brings torch, and any process is forked off
    from autograder.core.running import can_fork

    jobs = min(len(steps), os.cpu_count() or 1)
    if jobs < 2 or not can_fork():
        return [work(step) for step in steps]
    longest_first = sorted(steps, key=lambda step: -len(step.misconceptions))
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        running = {step.name: pool.submit(work, step) for step in longest_first}
        return [running[step.name].result() for step in steps]
