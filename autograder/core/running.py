"""Have a subject's code run elsewhere, within limits, and collect what its probes saw."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from autograder.core.child import (
    FAILED,
    OUT_OF_MEMORY,
    Job,
    Limits,
    Wall,
    observations,
    prepare,
)
from autograder.core.forked import Forked, Process, Start
from autograder.core.observation import Malformed, Observation, decode, frame_length
from autograder.core.settings import put_back


@dataclass(frozen=True)
class Lost:
    """No observation: the process stopped, was stopped, or answered something that is none."""

    kind: Literal["timeout", "exit", "signal", "memory", "malformed", "skipped", "worker"]
    detail: str = ""


@dataclass
class Seen:
    """Loading's outcome, each probe's, and what was printed: `loading` characters while loading."""

    loaded: Observation | Lost
    probes: dict[str, Observation | Lost] = field(default_factory=dict)
    printed: str = ""
    loading: int = 0

    def add(self, part: Seen, longest: int) -> None:
        """What a further process saw; it has loaded the source once more."""
        self.probes |= part.probes
        self.printed = (self.printed + part.printed[part.loading :])[:longest]

    def late(self, exports: dict[str, str]) -> set[str]:
        """The exports of probes that ran out of time."""
        lost = {n for n, o in self.probes.items() if isinstance(o, Lost) and o.kind == "timeout"}
        return {exports[name] for name in lost}


# Seconds that a fork of this process has to be set up, try after try: a lock that another thread
# of this process held at the fork stops it for ever (see `child.take_locks`).
_TRIES = (0.4, 0.4, 0.8, 0.8, 1.6)


def can_fork() -> bool:
    """Whether learners' code can be run in a forked child here."""
    return hasattr(os, "fork")


def run(
    job: Job,
    exports: dict[str, str],
    *,
    limits: Limits | None = None,
    walls: Sequence[Wall] = (),
    start: Start | None = None,
    in_process: bool = False,
) -> Seen:
    """Load the job's source and run its probes.

    A probe that kills its process or does not come back costs itself only: the rest go on in a new
    child. After a time-out the other probes of the same export are skipped.

    Args:
        job: what to run.
        exports: the export each probe exercises.
        limits: seconds and bytes; whatever happens, `limits.step` seconds end it.
        walls: set up in the child before learners' code (see `child.work`).
        start: what starts a process for the job, in the place of a fork of this one.
        in_process: no child, no limits: for a debugger, or where the system cannot fork.
    """
    if in_process or not (start or can_fork()):
        return _here(job)
    limits = limits or Limits()
    tries = _tries(limits, forks=start is None)
    if start is None:
        prepare(job.task)
        start = partial(Forked, walls=walls)
    deadline = time.monotonic() + limits.step
    seen: Seen | None = None
    todo = list(job.probes)
    while True:
        part = _read(start, replace(job, probes=tuple(todo)), limits, deadline, tries)
        if seen is None:
            seen = part
        else:
            seen.add(part, limits.printed)
        if isinstance(part.loaded, Lost) or part.loaded.values:
            lost = part.loaded if isinstance(part.loaded, Lost) else Lost("skipped")
            seen.probes |= {name: lost for name in todo if name not in seen.probes}
        late = seen.late(exports)
        for name in job.probes:
            if name not in seen.probes and (exports[name] in late or time.monotonic() > deadline):
                seen.probes[name] = Lost("skipped", "timeout")
        todo = [name for name in job.probes if name not in seen.probes]
        if not todo:
            return seen
        if late:  # the next that hangs leaves time for exports that do not
            limits = replace(limits, probe=min(limits.probe, (deadline - time.monotonic()) / 2))


def _tries(limits: Limits, forks: bool) -> tuple[float, ...]:
    """Seconds to wait for each process; several are for forks that may inherit a held lock."""
    threads = forks and threading.active_count() > 1
    return (*(_TRIES if threads else ()), limits.load)


def _read(start: Start, job: Job, limits: Limits, deadline: float, tries: Sequence[float]) -> Seen:
    """What came of the job in the first process that could be set up.

    Raises:
        ChildProcessError: none could.
    """
    for patience in tries[:-1]:
        with contextlib.suppress(ChildProcessError):
            return _Reading(start(job, limits), job, limits).seen(deadline, patience)
    return _Reading(start(job, limits), job, limits).seen(deadline, tries[-1])


def _here(job: Job) -> Seen:
    with put_back(job.source.filename), contextlib.closing(observations(job)) as results:
        seen = Seen(next(results))
        seen.probes = dict(zip(job.probes, results, strict=False))
    for name in job.probes:
        seen.probes.setdefault(name, Lost("skipped"))
    return seen


class _Reading:
    """One process, read until it has answered everything, died, or used up its time."""

    def __init__(self, process: Process, job: Job, limits: Limits) -> None:
        self.process, self.job, self.limits = process, job, limits
        self.buffer = bytearray()
        self.printed = bytearray()
        self.result, self.log = process.result, process.log

    def seen(self, deadline: float, patience: float) -> Seen:
        """What came of loading and of each probe, up to the first that was lost.

        Raises:
            ChildProcessError: it was not set up within `patience` seconds.
        """
        probes: dict[str, Observation | Lost] = {}
        loading = b""
        try:
            if isinstance(self._next(time.monotonic() + patience), Lost):
                raise ChildProcessError("the process for learners' code could not be set up")
            loaded = self._next(min(deadline, time.monotonic() + self.limits.load))
            if isinstance(loaded, Observation) and loaded.values.keys() - {"raised"}:
                loaded = Lost("malformed", "loading tells of nothing but an exception")
            self._read_prints(until=time.monotonic() + 0.02)
            loading = bytes(self.printed)
            well = isinstance(loaded, Observation) and not loaded.values
            for name in self.job.probes if well else ():
                probes[name] = self._next(min(deadline, time.monotonic() + self.limits.probe))
                if isinstance(probes[name], Lost):
                    break
        finally:
            self._end()
        printed = self.printed.decode("utf-8", "replace")
        return Seen(loaded, probes, printed, len(loading.decode("utf-8", "replace")))

    def _next(self, deadline: float) -> Observation | Lost:
        while True:
            length = frame_length(self.buffer)
            if length is not None and length > self.limits.frame:
                return Lost("malformed", "too long")
            if length is not None and len(self.buffer) >= length:
                frame = bytes(self.buffer[:length])
                del self.buffer[:length]
                try:
                    return decode(frame)
                except Malformed as e:
                    return Lost("malformed", str(e))
            if not self._read(deadline):
                return Lost("timeout") if time.monotonic() >= deadline else self._death()

    def _read(self, deadline: float) -> bool:
        """Take what has come; False when time is over or there will be no more."""
        while (left := deadline - time.monotonic()) > 0:
            # Asked first: what it has written is then all there.
            gone = self.process.status() is not None
            ready = _ready([self.result, self.log], 0 if gone else min(left, 0.1))
            if self.log in ready:
                self._read_log()
            if self.result in ready:
                data = os.read(self.result, 1 << 16)
                self.buffer += data
                return bool(data)
            if gone:  # something it has started holds the other end
                return False
        return False

    def _read_log(self) -> None:
        data = os.read(self.log, 1 << 16)
        self.printed += data[: max(0, self.limits.printed - len(self.printed))]
        if not data:
            os.close(self.log)
            self.log = -1

    def _read_prints(self, until: float) -> None:
        """Take what lies there already; a flood has an end at that time."""
        while self.log >= 0 and time.monotonic() < until and _ready([self.log], 0):
            self._read_log()

    def _death(self) -> Lost:
        """How it ended; it has a moment for that."""
        patience = time.monotonic() + 0.3
        while (status := self.process.status()) is None and time.monotonic() < patience:
            time.sleep(0.002)
        if status is None:
            return Lost("malformed", "it goes on, and will say nothing more")
        if os.WIFSIGNALED(status):
            return Lost("signal", _name(os.WTERMSIG(status)))
        code = os.WEXITSTATUS(status)
        if code == OUT_OF_MEMORY:
            return Lost("memory")
        return Lost("malformed", "none") if code == FAILED else Lost("exit", str(code))

    def _end(self) -> None:
        """Stop it; read its last prints."""
        try:
            self.process.end()
            self._read_prints(until=time.monotonic() + 0.02)
        finally:
            os.close(self.result)
            if self.log >= 0:
                os.close(self.log)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of the real-time signals
        return f"signal {number}"


def _ready(ends: Sequence[int], seconds: float) -> set[int]:
    """Which descriptors can be read; waits at most `seconds` for one. Negative ones are none."""
    poll = select.poll()  # select.select takes no descriptor beyond 1023
    for end in ends:
        if end >= 0:
            poll.register(end, select.POLLIN)
    return {end for end, _ in poll.poll(max(0, seconds) * 1000)}
