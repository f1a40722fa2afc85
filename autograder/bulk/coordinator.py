"""Grade many submissions: waiting workers run them, the verdicts are worked out here."""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from autograder.bulk.submissions import Submission
from autograder.bulk.waiting import Waiting, WorkerLost
from autograder.core.child import Job, Limits
from autograder.core.grading import judged, refused
from autograder.core.running import run
from autograder.core.step import Step
from autograder.core.task import Task
from autograder.core.verdict import Verdict
from autograder.wall.tiers import Tier


@dataclass(frozen=True)
class Graded:
    """A submission and its verdict."""

    submission: Submission
    verdict: Verdict


class Broken(Exception):
    """Learners' code cannot be run here: why the worker or its walls failed."""


def cores() -> int:
    """Those that this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def grade_all(
    step: Step,
    submissions: Iterable[Submission],
    *,
    seed: int,
    tier: Tier,
    jobs: int,
    limits: Limits | None = None,
) -> Iterator[Graded]:
    """Grade each submission once, in whatever order they come to an end.

    Args:
        step: for which step.
        submissions: taken one by one, as they are needed.
        seed: what sizes, inputs and weights are drawn from.
        tier: the walls around the workers.
        jobs: how many workers there are.
        limits: of one submission.

    Raises:
        Broken: no submission's fault.
    """
    crew = _Crew(step, seed, tier, jobs, limits or Limits())
    waiting = 0
    try:
        for submission in submissions:
            crew.take(submission)
            waiting += 1
            while waiting >= 2 * jobs:
                yield crew.next()
                waiting -= 1
        for _ in range(waiting):
            yield crew.next()
    finally:
        crew.stop()


class _Crew:
    """Threads, each with a worker of its own; the thread waits, and judges while no other does."""

    def __init__(self, step: Step, seed: int, tier: Tier, jobs: int, limits: Limits) -> None:
        self.step, self.seed, self.tier, self.limits = step, seed, tier, limits
        self.task = Task.of(step)
        self.exports = {c.probe: c.export for c in step.checks}
        self.todo: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[Graded | Exception] = queue.SimpleQueue()
        self.judging = threading.Lock()
        self.stopped = threading.Event()
        self.jobs = jobs
        self.threads: list[threading.Thread] = []

    def take(self, submission: Submission) -> None:
        """One more to do; a worker that is not needed is not started."""
        self.todo.put(submission)
        if len(self.threads) < self.jobs:
            self.threads.append(threading.Thread(target=self._work, daemon=True))
            self.threads[-1].start()

    def next(self) -> Graded:
        """The next that is done."""
        done = self.done.get()
        if isinstance(done, Exception):
            raise done
        return done

    def stop(self) -> None:
        """End all workers, whatever they do."""
        self.stopped.set()
        for _ in self.threads:
            self.todo.put(None)
        for thread in self.threads:
            thread.join()

    def _work(self) -> None:
        try:
            worker = Waiting(self.task, self.tier)
        except WorkerLost as e:
            self.done.put(Broken(str(e)))
            return
        try:
            while (submission := self.todo.get()) and not self.stopped.is_set():
                verdict = self._verdict(submission, worker)
                self.done.put(Graded(submission, verdict))
        except Exception as e:
            self.done.put(e)
        finally:
            worker.close()

    def _verdict(self, submission: Submission, worker: Waiting) -> Verdict:
        source = submission.source
        if source.problem:
            return refused(self.step, source, self.seed)
        started = time.perf_counter()
        job = Job(source, self.task, tuple(self.exports), self.seed)
        seen = run(job, self.exports, limits=self.limits, start=worker.start)
        with self.judging:  # expectations are worked out once, and torch's settings are global
            verdict = judged(self.step, source, seen, self.seed, patience=math.inf)
        return replace(verdict, seconds=time.perf_counter() - started)
