"""The waiting worker: torch and a step's probes loaded, no secrets; forks a child for each job."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from autograder.core import engine

engine.start()

from autograder.bulk import wire  # noqa: E402
from autograder.bulk.emptied import empty  # noqa: E402
from autograder.core.child import FAILED, mapped, prepare, work  # noqa: E402
from autograder.core.forked import kill  # noqa: E402
from autograder.core.task import Task  # noqa: E402
from autograder.wall.system import function  # noqa: E402
from autograder.wall.tiers import Tier, numbered  # noqa: E402

_DEATH = 1  # of prctl: the signal that comes when the parent dies


def main(tier: int, control: int, home: str) -> None:
    """Serve until the other end of the control socket (a descriptor) is closed.

    The scratch folder lies in `home`, or among temporary files if that is ''.
    """
    place = numbered(tier)
    place.enter()
    with suppress(OSError):  # it leaves when the socket is closed, and clears away before
        function("prctl", _DEATH, 0, 0, 0, 0)
    with socket.socket(fileno=control) as coordinator:
        task = wire.receive_task(coordinator)
        prepare(task)
        gc.freeze()
        scratch = Path(tempfile.mkdtemp(prefix="autograder-", dir=home or None))
        worker = Worker(coordinator, task, place, scratch)
        try:
            worker.serve()
        except wire.Closed:
            pass
        finally:
            worker.end()
            scratch.rmdir()
            with suppress(OSError):  # the coordinator does it, too, but may be gone
                os.rmdir(home)


class Worker:
    """Runs one child at a time, and tells how it ended."""

    def __init__(self, control: socket.socket, task: Task, tier: Tier, scratch: Path) -> None:
        self.control, self.task, self.tier, self.scratch = control, task, tier, scratch
        self.walls = tier.walls(scratch)
        self.base = mapped()
        self.child = 0  # of the present job, also when it is gone
        self.gone = False
        self.wake, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler nothing is woken

    def serve(self) -> None:
        """Do as one is told.

        Raises:
            Closed: nobody is there any more.
        """
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wake, select.POLLIN)
        self.control.sendall(wire.READY)
        while True:
            ready = {end for end, _ in poll.poll()}
            if self.wake in ready:
                os.read(self.wake, 4096)
                self._look(os.WNOHANG)
            if self.control.fileno() in ready:
                self._obey()

    def _obey(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(self.control, 1, 3)
        if message == wire.START:
            self._start(*descriptors)
        elif message == wire.END:
            self.end()
            self.control.sendall(wire.READY)
        else:
            raise wire.Closed

    def _start(self, job: int, result: int, log: int) -> None:
        self.gone = False
        self.child = self.tier.fork()
        if not self.child:
            self._be_child(job, result, log)
        for descriptor in (job, result, log):
            os.close(descriptor)

    def _be_child(self, job: int, result: int, log: int) -> None:
        """The child's whole life; it alone reads the job. Never returns."""
        leave = os._exit
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            told, limits = wire.read_job(job, self.task)
            work(told, result, log, limits, self.base, self.walls)
        finally:
            leave(FAILED)

    def _look(self, how: int) -> None:
        """Whether the child has ended; it is told once."""
        if self.child and not self.gone:
            pid, status = os.waitpid(self.child, how)
            if pid:
                self.gone = True
                self.control.sendall(wire.gone(status))

    def end(self) -> None:
        """Nothing of the present job is left afterwards."""
        if self.child:
            kill(self.child, self.gone)
            self._look(0)
            self.child = 0
        empty(self.scratch)
