"""The graders of one of nbgrader's processes: one a step, started when needed, ended when idle."""

from __future__ import annotations

import atexit
import secrets
import threading
from functools import cache
from pathlib import Path

from autograder.bulk.coordinator import Graded
from autograder.bulk.grader import Grader
from autograder.bulk.waiting import Waiting
from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.front.classroom.handed_in import read_from
from autograder.wall.tiers import Tier, best
from autograder.workshop.threads import one_thread

_IDLE_SECONDS = 60.0  # a server that shows Formgrader lives on when all is graded


class Graders:
    """Verdicts on submissions, for whichever step is asked; one at a time.

    After each pause numbers are drawn anew: code that has run can tell its author what it saw.

    Args:
        tier: the walls around learners' code.
        idle: seconds after which a worker that nobody needs is ended.
    """

    def __init__(self, tier: Tier, idle: float = _IDLE_SECONDS) -> None:
        self.tier, self.idle = tier, idle
        self._graders: dict[str, Grader] = {}
        self._turn = threading.Lock()
        self._timer: threading.Timer | None = None
        atexit.register(self.close)

    def graded(self, step: Step, place: Path, student: str) -> Graded:
        """The verdict on what a student has handed in (see `read_from`).

        Raises:
            Broken: no submission's fault.
        """
        submission = read_from(place, student, step)
        with self._turn:
            if self._timer:
                self._timer.cancel()
            if step.name not in self._graders:
                self._graders[step.name] = self._grader(step)
            grader = self._graders[step.name]
            try:
                with one_thread():
                    return Graded(submission, grader.verdict(submission))
            finally:
                self._timer = threading.Timer(self.idle, self.close)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """End all workers; a later verdict starts another."""
        with self._turn:
            for grader in self._graders.values():
                grader.close()
            self._graders.clear()

    def _grader(self, step: Step) -> Grader:
        return Grader(step, secrets.randbelow(2**31), lambda task: Waiting(task, self.tier))


@cache
def graders(without_isolation: bool) -> Graders:
    """Those of this process.

    Raises:
        Trouble: nothing here keeps strangers' code away, and that was not said to be all right.
    """
    tier = best()
    if not tier.number and not without_isolation:
        raise Trouble("course_not_isolated")
    return Graders(tier)
