"""Tiers of isolation: which walls stand around learners' code here, found out by trying."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from autograder.wall import bubblewrap, landlock, process, seccomp, visible
from autograder.wall.system import machine, supported

Wall = Callable[[], None]

NAMES = ("none", "landlock+seccomp", "bubblewrap")
_PATIENCE = 30.0
NEEDED = ("read_libraries", "write_scratch", "threads")


@dataclass(frozen=True)
class Reason:
    """Why a tier is not to be had here: a key of the catalogue of texts, and what was seen."""

    key: str
    detail: str = ""


@dataclass(frozen=True)
class Tier:
    """What keeps learners' code away from everything else.

    Attributes:
        number: 0 isolates nobody; 1 Landlock, seccomp and limits; 2 the same inside bubblewrap, in
            namespaces and a scratch folder of each submission's own.
        name: in a word, for results.
        reasons: why it is no higher one; a person is told by `autograder doctor`.
    """

    number: int
    name: str
    reasons: tuple[Reason, ...] = ()

    def command(self, argv: Sequence[str], folders: Sequence[Path] = ()) -> list[str]:
        """The command line that starts the waiting worker `argv` where this tier wants it.

        It is complete: with an environment of its own that holds nothing of the caller's, and
        descriptors handed on by `pass_fds` stay open. The worker dies with the thread that starts
        it, so start it from the main thread.

        Args:
            argv: the worker's own command line; the first is the path of an interpreter.
            folders: what it must be able to read beside the interpreter and its libraries: files
                and folders of the kit. Learners' code cannot read them.
        """
        inner = list(argv) if self.number < 2 else bubblewrap.command(argv, folders)
        cleared = shutil.which("env")
        return [cleared, "-i", *_environment(self.number), *inner] if cleared else inner

    def enter(self) -> None:
        """The worker calls it once, at its start: it cannot be looked into, and dies in time."""
        if self.number:
            process.unseen()

    def fork(self) -> int:
        """As `os.fork`, in the worker: tier 2 gives the child processes' numbers of its own."""
        return bubblewrap.fork() if self.number == 2 else os.fork()

    def walls(self, scratch: Path) -> Sequence[Wall]:
        """What a child of the worker calls, in order, before learners' code (`child.work`).

        Args:
            scratch: the worker's folder, empty: the only place that learners' code may write to.
                Make it with `tempfile.mkdtemp()` in the worker itself, once; empty it between
                submissions (a tier 2 child writes to a file system of its own, laid over it).
        """
        settle = partial(process.settle, scratch)
        if not self.number:
            return (settle,)
        stays = landlock.Open(visible.readable(), visible.devices(), scratch)
        hidden = [folder for folder in visible.kit() if folder.is_dir()]
        own = (partial(bubblewrap.private, scratch, hidden),) if self.number == 2 else ()
        parent = os.getpid() if self.number == 1 else None  # tier 2's child cannot see its parent
        return (
            partial(process.modest, process.tasks()),
            *own,
            settle,
            process.powerless,
            partial(process.unseen, parent),
            partial(landlock.enclose, stays, landlock.version()),
            partial(seccomp.refuse, seccomp.table()),
        )


def _environment(number: int) -> list[str]:
    """All that the worker gets of one: names and values."""
    given = {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "USER": "learner",
        "HOME": "/tmp",
        "PYTHONHASHSEED": "0",  # so that a verdict can be repeated exactly
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    kept = ["LD_LIBRARY_PATH"] + ["TMPDIR"] * (number < 2)
    given |= {name: os.environ[name] for name in kept if name in os.environ}
    return [f"{name}={value}" for name, value in given.items()]


def numbered(number: int, reasons: tuple[Reason, ...] = ()) -> Tier:
    """The tier of that number, untested: for the worker, which is told by the coordinator."""
    return Tier(number, NAMES[number], reasons)


@dataclass(frozen=True)
class Trial:
    """How a tier was tried: what came of each attempt, and why it does not hold, if it does not."""

    number: int
    outcomes: Mapping[str, str] = field(default_factory=dict)
    reason: Reason | None = None


@cache
def best() -> Tier:
    """The highest tier that holds here; tried once a process, in children of its own."""
    reasons: list[Reason] = []
    for number in (2, 1):
        reason = trial(number).reason
        if reason is None:
            return numbered(number, tuple(reasons))
        if reason not in reasons:
            reasons.append(reason)
    return numbered(0, tuple(reasons))


@cache
def trial(number: int) -> Trial:
    """Start what would be a worker of tier 1 or 2, and let a child of it try what it must not."""
    missing = _missing(number)
    if missing:
        return Trial(number, reason=missing)
    here = Path(__file__).parent
    home = str(here.parents[1])
    start = f"import sys; sys.path.insert(0, {home!r}); from autograder.wall import trial as t"
    argv = [sys.executable, "-I", "-B", "-c", f"{start}; t.main()", str(number)]
    argv += bubblewrap.namespaces()
    command = numbered(number).command(argv, [here, here.parent / "__init__.py"])
    try:
        ended = subprocess.run(
            command, capture_output=True, timeout=_PATIENCE, stdin=subprocess.DEVNULL, check=False
        )
        outcomes = dict(json.loads(ended.stdout)) if ended.returncode == 0 else {}
    except (OSError, ValueError, subprocess.TimeoutExpired) as e:
        return Trial(number, reason=Reason("trial", f"{type(e).__name__}: {e}"[:300]))
    if not outcomes:
        told = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        key = "bubblewrap_fails" if number == 2 else "trial"
        return Trial(number, reason=Reason(key, told[-1][:300] if told else str(ended.returncode)))
    return Trial(number, outcomes, _leak(outcomes))


def _missing(number: int) -> Reason | None:
    if not supported():
        return Reason("system", f"{sys.platform} {machine()}")
    if not landlock.version():
        return Reason("landlock", os.uname().release)
    if not seccomp.available():
        return Reason("seccomp", os.uname().release)
    if number == 2 and not bubblewrap.program():
        return Reason("bubblewrap")
    return None


def _leak(outcomes: Mapping[str, str]) -> Reason | None:
    done = [n for n, outcome in outcomes.items() if outcome == "done" and n not in NEEDED]
    if done:
        return Reason("leak", ", ".join(done))
    lost = [n for n in NEEDED if outcomes.get(n) != "done"]
    return Reason("lost", ", ".join(lost)) if lost else None
