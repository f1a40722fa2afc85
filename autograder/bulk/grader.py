"""One submission after another: a waiting worker runs it, the verdict is worked out here."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from autograder.bulk.submissions import Submission
from autograder.bulk.waiting import Broken, Waiting, WorkerLost
from autograder.core.child import Job, Limits
from autograder.core.grading import judged, refused
from autograder.core.running import Lost, Seen, run
from autograder.core.step import Step
from autograder.core.task import Task
from autograder.core.verdict import Verdict

# Twice what a learner is made to wait: a busy machine must not cost anybody points.
PATIENT = Limits(load=10.0, probe=8.0, step=15.0)

Hire = Callable[[Task], Waiting]


class Grader:
    """Grades submissions for one step; its worker is hired when it is first needed.

    Args:
        step: for which step.
        seed: what sizes, inputs and weights are drawn from.
        hire: starts a worker, or hands over one that was started before.
        limits: of one submission.
        judging: held while a verdict is worked out, where several graders share this process:
            expectations are worked out once, and torch's settings are global.
    """

    def __init__(
        self,
        step: Step,
        seed: int,
        hire: Hire,
        limits: Limits = PATIENT,
        judging: threading.Lock | None = None,
    ) -> None:
        self.step, self.seed, self.limits = step, seed, limits
        self._task = Task.of(step)
        self._exports = {c.probe: c.export for c in step.checks}
        self._hire = hire
        self._judging = judging or threading.Lock()
        self._stopped = threading.Event()
        self._worker: Waiting | None = None

    def verdict(self, submission: Submission) -> Verdict:
        """The verdict on a submission.

        Raises:
            Broken: no submission's fault.
        """
        source = submission.source
        if source.problem:
            return refused(self.step, source, self.seed)
        self._worker = self._worker or self._hired()
        started = time.perf_counter()
        seen = self._seen(Job(source, self._task, tuple(self._exports), self.seed))
        with self._judging:
            verdict = judged(self.step, source, seen, self.seed, patience=math.inf)
        return replace(verdict, seconds=time.perf_counter() - started)

    def cancel(self) -> None:
        """From another thread: wake the one that waits for its worker."""
        self._stopped.set()
        worker = self._worker
        if worker:
            worker.cancel()

    def close(self) -> None:
        """End the worker, whatever it does."""
        worker, self._worker = self._worker, None
        if worker:
            worker.close()

    def _seen(self, job: Job) -> Seen:
        """What came of it; where it was the worker that failed, from a second one."""
        for last in (False, True):
            worker = self._worker or self._hired()
            try:
                return run(job, self._exports, limits=self.limits, start=worker.start)
            except (WorkerLost, ChildProcessError) as e:
                self.close()
                if (last and isinstance(e, ChildProcessError)) or self._stopped.is_set():
                    raise Broken(str(e)) from e
        return Seen(Lost("worker"))

    def _hired(self) -> Waiting:
        self._worker = self._hire(self._task)
        try:
            self._worker.until_ready()
        except WorkerLost as e:
            raise Broken(str(e)) from e
        return self._worker
