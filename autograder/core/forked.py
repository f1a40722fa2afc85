"""A child forked off a process that has torch loaded: two pipes to read, and how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from autograder.core.child import Job, Limits, Wall, mapped, take_locks, work


class Process(Protocol):
    """One run of learners' code. Whoever has started it reads both pipes, and ends it once.

    Attributes:
        result, log: descriptors that frames and prints are read from; the reader closes them.
    """

    result: int
    log: int

    def status(self) -> int | None:
        """How it ended, as `os.waitpid` tells it; None while it goes on."""

    def end(self) -> int:
        """Stop it, and all that it has started in its process group; how it ended."""


Start = Callable[[Job, Limits], Process]


class Forked:
    """A child of this very process.

    Raises:
        OSError: there is no process to be had.
    """

    def __init__(self, job: Job, limits: Limits, walls: Sequence[Wall] = ()) -> None:
        self._status: int | None = None
        self.result, result = os.pipe()
        self.log, log = os.pipe()
        base = mapped()
        try:
            with warnings.catch_warnings():
                # Threads of BLAS: the child uses none.
                warnings.simplefilter("ignore", DeprecationWarning)
                take_locks()
                self._pid = os.fork()
            if not self._pid:
                work(job, result, log, limits, base, walls)
        except OSError:
            os.close(self.result)
            os.close(self.log)
            raise
        finally:
            os.close(result)
            os.close(log)

    def status(self) -> int | None:
        """See `Process`."""
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status

    def end(self) -> int:
        """See `Process`."""
        gone = self.status() is not None
        kill(self._pid, gone)
        if self._status is None:
            self._status = os.waitpid(self._pid, 0)[1]
        return self._status


def gradients_after_fork(patience: float = 2.0) -> bool:
    """Whether a child of this process, as it is now, could compute gradients.

    Once autograd has started a thread for a GPU (it does so for all it sees, at the first backward
    pass), no child of that process can. A child tries, which takes about 10 ms.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if not pid:
        try:
            torch.set_num_threads(1)
            torch.ones(1, requires_grad=True).sum().backward()
            os._exit(0)
        finally:
            os._exit(1)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.001)
    kill(pid, gone=False)
    os.waitpid(pid, 0)
    return False


def kill(pid: int, gone: bool) -> None:
    """Kill a child and its process group; the child itself unless it is `gone`."""
    if not gone:
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
