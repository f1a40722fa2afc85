"""Inside the process that runs learners' code: load the source, run the probes, send back one frame for each."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch

from autograder.core.draw import Draw
from autograder.core.given import REFERENCE, only_given
from autograder.core.observation import Observation, encode
from autograder.core.probing import observe
from autograder.core.ready_made import watched
from autograder.core.step import Step, given_to
from autograder.core.subject import Source, load, raised

with suppress(ImportError):  # there is none on Windows, and no fork either
    import resource

Wall = Callable[[], None]


@dataclass(frozen=True)
class Limits:
    """What learners' code may take: seconds for loading, for a probe, for the whole step; bytes."""

    load: float = 5.0
    probe: float = 4.0
    step: float = 8.5
    memory: int = 2 * 2**30
    file: int = 64 * 2**20
    printed: int = 4096
    frame: int = 16 * 2**20


@dataclass(frozen=True)
class Job:
    """One source, the step it is for, the probes to run (by name) and the seed they draw from."""

    source: Source
    step: Step
    probes: tuple[str, ...]
    seed: int


def prepare(step: Step) -> None:
    """Do here, once, what every child would have to do for itself: imports, and a first use of the encoder."""
    step.probes  # noqa: B018
    encode(Observation({"warm": torch.zeros(1)}))
    for slug in set(given_to(step).values()):
        importlib.import_module(f"{REFERENCE}.{slug}")


def observations(job: Job) -> Iterator[Observation]:
    """First what loading gave (no values when it went well), then each probe's observation."""
    watch = watched(job.step.ready_made, job.source.filename)
    with only_given(given_to(job.step)), watch as used:
        try:
            subject = load(job.source, job.step.slug)
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            yield Observation({"raised": raised(e, job.source.filename)})
            return
        yield Observation()
        for name in job.probes:
            used.clear()
            seen = observe(job.step.probes[name], subject, Draw(job.seed))
            if used:
                seen.terms["ready_made"] = list(used)
            yield seen


def work(
    job: Job, result: int, log: int, limits: Limits, base: int, walls: Sequence[Wall]
) -> None:
    """The forked child's whole life; never returns.

    Args:
        job: what to do.
        result: descriptor the frames are written to.
        log: descriptor that prints go to.
        limits: what may be taken.
        base: bytes that the parent had mapped (see `mapped`), on top of which `limits.memory` is allowed.
        walls: called in order before any of the learner's code runs.
    """
    code = 1
    try:
        os.setpgid(0, 0)
        _own_streams(log)
        torch.set_num_threads(1)  # first: an OpenMP pool that the parent has started would hang here
        gc.disable()  # a collection would touch, and so copy, every page of the parent
        _limit(limits, base)
        for wall in walls:
            wall()
        for seen in observations(job):
            frame = encode(seen)
            while frame:
                frame = frame[os.write(result, frame) :]
            sys.stdout.flush()
            sys.stderr.flush()
        code = 0
    finally:
        os._exit(code)


def _own_streams(log: int) -> None:
    """Prints and warnings go to the log, whatever the parent has done to its own streams."""
    faulthandler.disable()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, target)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)

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
    if base:  # without it the limit could not be told from what torch has mapped
        wanted[resource.RLIMIT_AS] = base + limits.memory
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
