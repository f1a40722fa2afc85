"""Grade many submissions: waiting workers run them, the verdicts are worked out here."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace

from autograder.bulk.submissions import Submission
from autograder.bulk.waiting import Broken, Waiting, WorkerLost
from autograder.core.child import Job, Limits
from autograder.core.grading import judged, refused
from autograder.core.running import Lost, Seen, run
from autograder.core.step import Step
from autograder.core.task import Task
from autograder.core.verdict import Verdict
from autograder.wall.tiers import Tier

# Twice what a learner is made to wait: a busy machine must not cost anybody points.
PATIENT = Limits(load=10.0, probe=8.0, step=15.0)


@dataclass(frozen=True)
class Graded:
    """A submission and its verdict."""

    submission: Submission
    verdict: Verdict


def grade_all(
    step: Step,
    submissions: Iterable[Submission],
    *,
    seed: int,
    tier: Tier,
    jobs: int,
    limits: Limits | None = None,
    started: Sequence[Waiting] = (),
) -> Generator[Graded]:
    """Grade each submission once, in whatever order they come to an end.

    Args:
        step: for which step.
        submissions: taken one by one, as they are needed.
        seed: what sizes, inputs and weights are drawn from.
        tier: the walls around the workers.
        jobs: how many workers there are.
        limits: of one submission; `PATIENT` if none are given.
        started: workers for this step, begun before torch was loaded here; they are taken over.

    Raises:
        Broken: no submission's fault.
    """
    crew = _Crew(step, seed, tier, jobs, limits or PATIENT, started)
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
    """What the threads share: what is to do, what is done, and whose turn it is to judge."""

    def __init__(
        self,
        step: Step,
        seed: int,
        tier: Tier,
        jobs: int,
        limits: Limits,
        started: Iterable[Waiting],
    ) -> None:
        self.step, self.seed, self.tier, self.jobs, self.limits = step, seed, tier, jobs, limits
        self.task = Task.of(step)
        self.exports = {c.probe: c.export for c in step.checks}
        self.todo: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[Graded | Exception] = queue.SimpleQueue()
        self.judging = threading.Lock()
        self.stopped = threading.Event()
        self.hands: list[_Hand] = []
        self.started = list(started)

    def take(self, submission: Submission) -> None:
        """One more to do; a worker that is not needed is not started."""
        self.todo.put(submission)
        if len(self.hands) < self.jobs:
            self.hands.append(_Hand(self))
            self.hands[-1].start()

    def next(self) -> Graded:
        """The next that is done."""
        done = self.done.get()
        if isinstance(done, Exception):
            raise done
        return done

    def stop(self) -> None:
        """End all workers, whatever they do."""
        self.stopped.set()
        for hand in self.hands:
            self.todo.put(None)
            hand.cancel()
        for hand in self.hands:
            hand.join()
        for worker in self.started:
            worker.close()


class _Hand(threading.Thread):
    """A thread with a worker of its own: waits for it, and judges while no other does."""

    def __init__(self, crew: _Crew) -> None:
        super().__init__(daemon=True)
        self.crew = crew
        self.worker: Waiting | None = None

    def run(self) -> None:
        """Grade what there is to do, until there is no more."""
        crew = self.crew
        try:
            while (submission := crew.todo.get()) and not crew.stopped.is_set():
                crew.done.put(Graded(submission, self._verdict(submission)))
        except Exception as e:  # the kit's own: whoever waits for a verdict gets to know it
            crew.done.put(e)
        finally:
            self._dismiss()

    def cancel(self) -> None:
        """Wake the thread that waits for its worker."""
        worker = self.worker
        if worker:
            worker.cancel()

    def _verdict(self, submission: Submission) -> Verdict:
        crew, source = self.crew, submission.source
        if source.problem:
            return refused(crew.step, source, crew.seed)
        self.worker = self.worker or self._hired()
        started = time.perf_counter()
        seen = self._seen(Job(source, crew.task, tuple(crew.exports), crew.seed))
        with crew.judging:  # expectations are worked out once, and torch's settings are global
            verdict = judged(crew.step, source, seen, crew.seed, patience=math.inf)
        return replace(verdict, seconds=time.perf_counter() - started)

    def _seen(self, job: Job) -> Seen:
        """What came of it; where it was the worker that failed, from a second one."""
        crew = self.crew
        for last in (False, True):
            worker = self.worker or self._hired()
            try:
                return run(job, crew.exports, limits=crew.limits, start=worker.start)
            except (WorkerLost, ChildProcessError) as e:
                self._dismiss()
                if (last and isinstance(e, ChildProcessError)) or crew.stopped.is_set():
                    raise Broken(str(e)) from e
        return Seen(Lost("worker"))

    def _hired(self) -> Waiting:
        crew = self.crew
        self.worker = crew.started.pop() if crew.started else Waiting(crew.task, crew.tier)
        try:
            self.worker.until_ready()
        except WorkerLost as e:
            raise Broken(str(e)) from e
        return self.worker

    def _dismiss(self) -> None:
        worker, self.worker = self.worker, None
        if worker:
            worker.close()
