"""In the process that runs learners' code: load it, run the probes, send back a frame for each."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import torch

from autograder.core.draw import Draw
from autograder.core.given import REFERENCE, only_given
from autograder.core.live import Live
from autograder.core.observation import Observation, encode
from autograder.core.probing import Errors, observe
from autograder.core.ready_made import watched
from autograder.core.source import Source
from autograder.core.subject import Subject, load, raised
from autograder.core.task import Task

with suppress(ImportError):  # there is none on Windows, and no fork either
    import resource

Wall = Callable[[], None]

# How the child ends when it is not the learner's code that ends it.
FAILED, OUT_OF_MEMORY = 70, 71


@dataclass(frozen=True)
class Limits:
    """What learners' code may take: seconds for loading, for a probe, for the whole step; bytes."""

    load: float = 5.0
    probe: float = 4.0
    step: float = 7.5
    memory: int = 2 * 2**30
    file: int = 64 * 2**20
    printed: int = 4096
    frame: int = 16 * 2**20


@dataclass(frozen=True)
class Job:
    """One source, the task it is for, the probes to run (by name) and the seed they draw from.

    `own` are the learner's files (slug -> source, in the steps' order) whose pieces the source is
    given, in the place of the reference's.
    """

    source: Source
    task: Task
    probes: tuple[str, ...]
    seed: int
    own: Mapping[str, Source] = field(default_factory=dict)


def prepare(task: Task) -> None:
    """Do once what every child would have to do for itself: imports, a first use of the encoder."""
    task.load_probes()
    encode(Observation({"warm": torch.zeros(1)}))
    # It imports them: behind a wall no file of theirs can be read.
    with only_given(task.given, task.names):
        pass


def observations(
    job: Job, through: Errors = (KeyboardInterrupt,)
) -> Generator[Observation, None, None]:
    """First what loading gave (no values when it went well), then each probe's observation.

    `through` as in `observe`.
    """
    task = job.task
    probes = task.load_probes()
    with only_given(task.given, task.names) as offer, watched(task.ready_made) as used:
        try:
            for slug, own in job.own.items():
                load(own, f"{REFERENCE}.{slug}")
                offer(slug, sys.modules[f"{REFERENCE}.{slug}"])
            if isinstance(job.source, Live):
                subject: Subject = job.source.subject(task.given, task.allowed)
            else:
                subject = load(job.source, task.slug, task.allowed)
        except through:
            raise
        except BaseException as e:
            yield Observation({"raised": raised(e, job.source.filename)})
            return
        yield Observation()
        for name in job.probes:
            seen = observe(probes[name], subject, Draw(job.seed), through)
            if used:
                seen.terms["ready_made"] = list(used)
            yield seen


def work(job: Job, result: int, log: int, limits: Limits, base: int, walls: Sequence[Wall]) -> None:
    """The forked child's whole life; never returns.

    Args:
        job: what to do.
        result: descriptor the frames are written to.
        log: descriptor that prints go to.
        limits: what may be taken.
        base: bytes that the parent had mapped (see `mapped`); `limits.memory` is allowed on top.
        walls: called in order before any of the learner's code runs.
    """
    leave, code = os._exit, FAILED  # taken now: learners' code may put something else in its place
    try:
        os.setpgid(0, 0)
        _own_streams(log, result)
        # First: a child that asks for the OpenMP pool which its parent has started hangs.
        torch.set_num_threads(1)
        torch.set_num_threads = _one_thread  # type: ignore[assignment]
        gc.disable()  # a collection would touch, and so copy, every page of the parent
        # Every operation of torch hands the interpreter over: a busy thread of the learner's own
        # would keep it for 5 ms each time, and the probes would run out of time.
        sys.setswitchinterval(5e-5)
        _limit(limits, base)
        for wall in walls:
            wall()
        take_locks()
        _send(result, encode(Observation()))  # all is set up
        for seen in observations(job, through=()):
            _send(result, encode(seen))
        code = 0
    except MemoryError:
        code = OUT_OF_MEMORY
    finally:
        while True:  # the parent's code must not go on here, whatever a signal handler raises
            with suppress(BaseException):
                leave(code)


def take_locks() -> None:
    """Take and give back locks of torch's.

    In a process that is about to fork: whichever thread held one waits then for the interpreter.
    In the child: a lock that another thread held at the fork will never be given back, and stops
    the child here; the parent hears nothing, and forks anew.
    """
    torch.default_generator.get_state()
    torch.ones(2, 2) @ torch.ones(2, 2)


def _send(result: int, frame: bytes) -> None:
    while frame:
        frame = frame[os.write(result, frame) :]
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # it may be closed, or something else by now
            stream.flush()


def _one_thread(threads: int) -> None:
    """Stands for torch.set_num_threads."""


def _own_streams(log: int, result: int) -> None:
    """Prints and warnings go to the log; of the parent's files and sockets nothing stays open."""
    faulthandler.disable()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, target)
    with suppress(OSError):
        for fd in map(int, os.listdir("/dev/fd")):
            if fd > 2 and fd != result:
                with suppress(OSError):
                    os.close(fd)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    # Line by line: what was printed before a crash or a time-out is seen.
    for fd, name in ((1, "stdout"), (2, "stderr")):
        stream = open(fd, "w", 1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)

    def show(message, category, filename, lineno, file=None, line=None):  # type: ignore[no-untyped-def]
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    warnings.showwarning = show
    warnings.simplefilter("default")


def mapped() -> int:
    """Bytes of address space this process has mapped; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _limit(limits: Limits, base: int) -> None:
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: limits.file}
    # A loop must end even when the parent is killed and cannot end it.
    wanted[resource.RLIMIT_CPU] = 2 * int(limits.step) + 2
    if base:  # without it the limit could not be told from what torch has mapped
        wanted[resource.RLIMIT_AS] = base + limits.memory
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
