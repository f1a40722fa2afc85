"""Grade many submissions: waiting workers run them, the verdicts are worked out here."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

from autograder.bulk.grader import PATIENT, Grader
from autograder.bulk.submissions import Submission
from autograder.bulk.waiting import Waiting
from autograder.core.child import Limits
from autograder.core.step import Step
from autograder.core.task import Task
from autograder.core.verdict import Verdict
from autograder.wall.tiers import Tier


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

    def hire(self, task: Task) -> Waiting:
        """A worker: one that was started before, while there is any."""
        return self.started.pop() if self.started else Waiting(task, self.tier)

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
            hand.grader.cancel()
        for hand in self.hands:
            hand.join()
        for worker in self.started:
            worker.close()


class _Hand(threading.Thread):
    """A thread with a grader of its own."""

    def __init__(self, crew: _Crew) -> None:
        super().__init__(daemon=True)
        self.crew = crew
        self.grader = Grader(crew.step, crew.seed, crew.hire, crew.limits, crew.judging)

    def run(self) -> None:
        """Grade what there is to do, until there is no more."""
        crew = self.crew
        try:
            while (submission := crew.todo.get()) and not crew.stopped.is_set():
                crew.done.put(Graded(submission, self.grader.verdict(submission)))
        except Exception as e:  # the kit's own: whoever waits for a verdict gets to know it
            crew.done.put(e)
        finally:
            self.grader.close()
