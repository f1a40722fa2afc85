"""A waiting worker as the coordinator sees it: started, given jobs, watched, stopped."""

from __future__ import annotations

import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.bulk import wire
from autograder.bulk.emptied import empty
from autograder.core.task import Task
from autograder.wall.tiers import Tier

if TYPE_CHECKING:  # the coordinator starts its workers before it imports torch itself
    from autograder.core.child import Job, Limits

# It has the coordinator's own idea of where modules are, and nothing else of its surroundings.
_START = """import json, sys
sys.path[:] = json.loads(sys.argv[1])
from autograder.bulk.worker import main
main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
"""
_IMPORTED = re.compile(r"^from \.(\w+) import", re.MULTILINE)
_START_SECONDS = 120.0
_END_SECONDS = 20.0  # a full scratch folder takes its time


class WorkerLost(Exception):
    """The worker has gone, or does not answer; its last words."""


class Broken(Exception):
    """Learners' code cannot be run here: why the worker or its walls failed."""


def cores() -> int:
    """Those that this process may use, where the system tells: one worker for each."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Waiting:
    """One worker process, for one step.

    It may end with the thread that starts it, so that thread has to stay.
    """

    def __init__(self, task: Task, tier: Tier) -> None:
        self.control, theirs = socket.socketpair()
        # In tier 2 the worker sees none of ours, and its own vanishes with it.
        self._home = tempfile.mkdtemp(prefix="autograder-") if tier.number < 2 else ""
        self._words = tempfile.TemporaryFile()  # noqa: SIM115
        path = json.dumps([os.path.abspath(p) for p in sys.path])
        argv = [sys.executable, "-I", "-B", "-c", _START, path]
        argv += [str(tier.number), str(theirs.fileno()), self._home]
        command = tier.command(argv, _needed(task))
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._words,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is the coordinator's
            )
        self.status: int | None = None
        with suppress(OSError):  # noticed when it does not get ready
            wire.send_task(self.control, task)

    def until_ready(self, seconds: float = _START_SECONDS) -> None:
        """Return when it can take a job.

        Raises:
            WorkerLost: it does not start, or is stuck.
        """
        while self._is_told(seconds):
            if self._listen() == wire.READY:
                return
        raise self.lost()

    def start(self, job: Job, limits: Limits) -> Far:
        """Have a child run the job; as `forked.Start`.

        Raises:
            WorkerLost: there is no worker any more.
        """
        self.status = None
        result, result_end = os.pipe()
        log, log_end = os.pipe()
        try:
            with tempfile.TemporaryFile() as told:
                wire.write_job(told.fileno(), job, limits)
                ends = [told.fileno(), result_end, log_end]
                socket.send_fds(self.control, [wire.START], ends)
        except OSError as e:
            os.close(result)
            os.close(log)
            raise self.lost() from e
        finally:
            os.close(result_end)
            os.close(log_end)
        return Far(self, result, log)

    def look(self) -> int | None:
        """How the present child ended; None while it goes on."""
        while self.status is None and self._is_told(0):
            self._listen()
        return self.status

    def end(self) -> int:
        """End the present child; the worker can take another job then."""
        try:
            self.control.sendall(wire.END)
        except OSError as e:
            raise self.lost() from e
        self.until_ready(_END_SECONDS)
        if self.status is None:
            raise self.lost()
        return self.status

    def lost(self) -> WorkerLost:
        """What there is to say about a worker that is no longer of use."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)  # its last words come last
        self._words.seek(0)
        last = self._words.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
        return WorkerLost(last[-1][:300] if last else "")

    def cancel(self) -> None:
        """From another thread: whatever is waited for, the worker is lost now."""
        with suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)

    def close(self, patience: float = 2.0) -> None:
        """Stop the worker; it has a moment to clear away."""
        self.control.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._words.close()
        if os.path.isdir(self._home):  # what a worker that was killed has left
            with suppress(OSError):
                empty(Path(self._home))
                os.rmdir(self._home)

    def _is_told(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _listen(self) -> bytes:
        try:
            message = wire.receive_one(self.control)
            if message == wire.GONE:
                self.status = wire.receive_status(self.control)
        except wire.Closed as e:
            raise self.lost() from e
        return message


class Far:
    """A child of the worker's; as `forked.Process`."""

    def __init__(self, worker: Waiting, result: int, log: int) -> None:
        self.worker, self.result, self.log = worker, result, log

    def status(self) -> int | None:
        """See `forked.Process`."""
        return self.worker.look()

    def end(self) -> int:
        """See `forked.Process`."""
        return self.worker.end()


def _needed(task: Task) -> list[Path]:
    """Of the kit, what the worker reads: no text of a step, and of the reference what is given."""
    import autograder
    import transformer_ref

    kit, reference = (Path(package.__path__[0]) for package in (autograder, transformer_ref))
    code = ("__init__.py", "bulk", "core", "toys", "wall", "weights", "wiring")
    steps = sorted((kit / "steps").glob("*.py"))
    return [*(kit / name for name in code), *steps, *_pieces(reference, set(task.given.values()))]


def _pieces(reference: Path, given: set[str]) -> list[Path]:
    """Files of the given pieces, and of what they import of the package."""
    found: set[str] = set()
    new = {"__init__", *given}
    while new:
        found |= new
        texts = [(reference / f"{name}.py").read_text(encoding="utf-8") for name in new & given]
        given = given | {name for text in texts for name in _IMPORTED.findall(text)}
        new = given - found
    return [reference / f"{name}.py" for name in sorted(found)]
