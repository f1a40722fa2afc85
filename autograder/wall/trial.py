"""Run where a worker would run: fork a child behind the walls, and have it try what it must not."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from autograder.wall import bubblewrap, visible
from autograder.wall.system import function
from autograder.wall.tiers import Tier, numbered

# What came of an attempt.
REFUSED, DONE = "refused", "done"
SECONDS = 10


def forbidden(scratch: Path, worker: int) -> dict[str, Callable[[], object]]:
    """What learners' code must not be able to do, each tried as harmlessly as it can be."""
    grader = visible.kit()[0] / "__init__.py"
    return {
        "read_files": lambda: os.open(grader, os.O_RDONLY),
        "list_folders": lambda: os.listdir("/"),
        "write_files": lambda: os.open(scratch.parent / "note", os.O_WRONLY | os.O_CREAT),
        "make_links": lambda: os.symlink("/", scratch / "link"),
        "change_modes": lambda: os.chmod(scratch, 0o700),
        "network": lambda: socket.socket(socket.AF_INET),
        "sockets": lambda: socket.socketpair(),
        "processes": _process,
        "programs": _program,
        "signals": lambda: os.kill(worker, 0),
        "memory": lambda: os.open(f"/proc/{worker}/mem", os.O_RDONLY),
        "tracing": lambda: function("ptrace", 0, 0, 0, 0),
        "namespaces": lambda: function("unshare", 0x10000000),
        "identity": lambda: os.setuid(os.getuid()),
        "limits": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 16, 1 << 16)),
    }


def needed(scratch: Path) -> dict[str, Callable[[], object]]:
    """What honest code does."""
    return {
        "read_libraries": lambda: os.close(os.open(os.__file__, os.O_RDONLY)),
        "write_scratch": lambda: (scratch / "note").write_text("mine"),
        "threads": lambda: threading.Thread(target=int).start(),
    }


def _process() -> None:
    if not os.fork():
        os._exit(0)


def _program() -> None:
    try:
        os.execv("/nowhere", ["/nowhere"])
    except FileNotFoundError:  # it looked for it: one that exists would have been started
        return


def attempts(tier: Tier, outside: Sequence[str] = ()) -> dict[str, str]:
    """By name what came of everything that is tried in a child; empty when it did not come back.

    Args:
        tier: the one that is tried.
        outside: the namespaces of whoever asks.
    """
    tier.enter()
    scratch = Path(tempfile.mkdtemp())
    walls = tier.walls(scratch)
    worker = os.getpid()
    answer, end = os.pipe()
    child = tier.fork()
    if not child:
        try:
            for wall in walls:
                wall()
            tried = {**forbidden(scratch, worker), **needed(scratch)}
            found = json.dumps({name: _outcome(attempt) for name, attempt in tried.items()})
            os.write(end, found.encode())
        except BaseException:
            traceback.print_exc()  # the last line is told as the reason
            sys.stderr.flush()
        finally:
            os._exit(0)
    os.close(end)
    signal.alarm(SECONDS)  # whatever happens, this process ends, and its child with it
    with os.fdopen(answer, "rb") as f:
        told = f.read()
    os.waitpid(child, 0)
    outcomes = dict(json.loads(told)) if told else {}
    if tier.number == 2:
        outcomes["leave_notes"] = DONE if os.listdir(scratch) else REFUSED
        shared = {*outside} & {*bubblewrap.namespaces()}
        outcomes["share_namespaces"] = DONE if shared else REFUSED
    (scratch / "note").unlink(missing_ok=True)
    scratch.rmdir()
    return outcomes


def _outcome(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except (OSError, ValueError, RuntimeError):
        return REFUSED
    return DONE


def main() -> None:
    """Print the outcomes for a tier; the arguments are its number and the asker's namespaces."""
    number, *outside = sys.argv[1:]
    print(json.dumps(attempts(numbered(int(number)), outside)))
