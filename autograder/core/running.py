"""Have a subject's code run elsewhere, within limits, and collect what its probes saw."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from autograder.core.child import Job, Limits, Wall, mapped, observations, prepare, work
from autograder.core.observation import Malformed, Observation, decode, frame_length


@dataclass(frozen=True)
class Lost:
    """No observation: the process stopped, was stopped, or answered something that is none."""

    kind: Literal["timeout", "exit", "signal", "malformed", "skipped"]
    detail: str = ""


@dataclass
class Seen:
    """Loading's outcome, each probe's by name, and what was printed."""

    loaded: Observation | Lost
    probes: dict[str, Observation | Lost] = field(default_factory=dict)
    printed: str = ""


def can_fork() -> bool:
    """Whether learners' code can be run in a forked child here."""
    return hasattr(os, "fork")


def run(
    job: Job,
    exports: dict[str, str],
    *,
    limits: Limits | None = None,
    walls: Sequence[Wall] = (),
    in_process: bool = False,
) -> Seen:
    """Load the job's source and run its probes.

    A probe that kills its process or does not come back costs itself only: the rest go on in a new child. After a
    time-out the other probes of the same export (`exports`: probe -> export) are skipped.

    Args:
        job: what to run.
        exports: the export each probe exercises.
        limits: seconds and bytes; whatever happens, `limits.step` seconds end it.
        walls: set up in the child before learners' code (see `child.work`).
        in_process: no child, no limits: for a debugger, or where the system cannot fork.
    """
    if in_process or not can_fork():
        return _here(job)
    limits = limits or Limits()
    prepare(job.step)
    deadline = time.monotonic() + limits.step
    seen: Seen | None = None
    todo = list(job.probes)
    while True:
        part = _Child(Job(job.source, job.step, tuple(todo), job.seed), limits, walls).seen(deadline)
        if seen is None:
            seen = part
        else:
            seen.probes |= part.probes
            seen.printed = (seen.printed + part.printed)[: limits.printed]
        if isinstance(part.loaded, Lost) or part.loaded.values:
            lost = part.loaded if isinstance(part.loaded, Lost) else Lost("skipped")
            seen.probes |= {name: lost for name in todo if name not in seen.probes}
        late = {exports[n] for n, o in seen.probes.items() if isinstance(o, Lost) and o.kind == "timeout"}
        for name in job.probes:
            if name not in seen.probes and (exports[name] in late or time.monotonic() > deadline):
                seen.probes[name] = Lost("skipped", "timeout")
        todo = [name for name in job.probes if name not in seen.probes]
        if not todo:
            return seen


def _here(job: Job) -> Seen:
    results = observations(job)
    seen = Seen(next(results))
    seen.probes = dict(zip(job.probes, results, strict=False))
    for name in job.probes:
        seen.probes.setdefault(name, Lost("skipped"))
    return seen


class _Child:
    """One forked child, read until it has answered everything, died, or used up its time."""

    def __init__(self, job: Job, limits: Limits, walls: Sequence[Wall]) -> None:
        self.job, self.limits = job, limits
        self.result, result = os.pipe()
        self.log, log = os.pipe()
        base = mapped()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of BLAS: the child uses none
            self.pid = os.fork()
        if not self.pid:
            os.close(self.result)
            os.close(self.log)
            work(job, result, log, limits, base, walls)
        os.close(result)
        os.close(log)
        self.buffer = bytearray()
        self.printed = bytearray()

    def seen(self, deadline: float) -> Seen:
        names = ["", *self.job.probes]
        found: list[Observation | Lost] = []
        try:
            while len(found) < len(names):
                allowed = self.limits.probe if found else self.limits.load
                found.append(self._next(min(deadline, time.monotonic() + allowed)))
                if isinstance(found[-1], Lost) or (len(found) == 1 and found[0].values):  # type: ignore[union-attr]
                    break
        finally:
            last = found[-1] if found else None
            status = self._end(ended=isinstance(last, Lost) and last.kind == "exit")
        if isinstance(last, Lost) and last.kind == "exit":
            found[-1] = _death(status)
        text = bytes(self.printed).decode("utf-8", "replace")
        return Seen(found[0], dict(zip(names[1:], found[1:], strict=False)), text)

    def _next(self, deadline: float) -> Observation | Lost:
        while True:
            length = frame_length(self.buffer)
            if length is not None and length > self.limits.frame:
                return Lost("malformed")
            if length is not None and len(self.buffer) >= length:
                frame = bytes(self.buffer[:length])
                del self.buffer[:length]
                try:
                    return decode(frame)
                except Malformed as e:
                    return Lost("malformed", str(e)[:200])
            if not self._read(deadline):
                return Lost("timeout" if time.monotonic() >= deadline else "exit")

    def _read(self, deadline: float) -> bool:
        """Take what has come; False when time is over or the results have ended."""
        while (left := deadline - time.monotonic()) > 0:
            open_ends = [fd for fd in (self.result, self.log) if fd >= 0]
            ready, _, _ = select.select(open_ends, [], [], left)
            if self.log in ready:
                self._read_log()
            if self.result in ready:
                data = os.read(self.result, 1 << 16)
                self.buffer += data
                return bool(data)
        return False

    def _read_log(self) -> None:
        data = os.read(self.log, 1 << 16)
        self.printed += data[: max(0, self.limits.printed - len(self.printed))]
        if not data:
            os.close(self.log)
            self.log = -1

    def _drain(self, deadline: float) -> None:
        while self.log >= 0 and select.select([self.log], [], [], max(0, deadline - time.monotonic()))[0]:
            self._read_log()

    def _end(self, ended: bool) -> int:
        """Stop the child and whatever it has started in its process group; its exit status.

        Args:
            ended: its results have ended by themselves, so give it a moment to say how.
        """
        patience = time.monotonic() + (0.3 if ended else 0)
        while not os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if time.monotonic() >= patience:
                break
            time.sleep(0.002)
        for stop in (os.killpg, os.kill):  # before it is reaped, so that its number is surely its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                stop(self.pid, signal.SIGKILL)
        status = os.waitpid(self.pid, 0)[1]
        self._drain(time.monotonic() + 0.02)
        os.close(self.result)
        if self.log >= 0:
            os.close(self.log)
        return status


def _death(status: int) -> Lost:
    if os.WIFSIGNALED(status):
        return Lost("signal", signal.Signals(os.WTERMSIG(status)).name)
    return Lost("exit", str(os.WEXITSTATUS(status)))
