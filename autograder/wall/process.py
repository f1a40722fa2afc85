"""What a process gives up for good: privileges, being looked into, more of the machine's means."""

from __future__ import annotations

import os
import signal
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

from autograder.wall.system import function

with suppress(ImportError):  # there is none on Windows, and no wall either
    import resource

# Of prctl and of capset.
_DEATH, _DUMPABLE, _DROP, _NO_PRIVILEGES, _AMBIENT, _CLEAR = 1, 4, 24, 38, 47, 4
_CAPABILITIES = 0x20080522
_FILES, _TASKS = 256, 128


def settle(scratch: Path) -> None:
    """Make `scratch` the current folder, the home, and the place of temporary files."""
    os.chdir(scratch)
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "MPLCONFIGDIR"):
        os.environ[name] = str(scratch)
    tempfile.tempdir = str(scratch)


def unseen(parent: int | None = None) -> None:
    """Die with the parent; no other process of the same user may look into this one's memory.

    Args:
        parent: its number, where it is known: the parent may have died before this was asked for.
    """
    function("prctl", _DEATH, int(signal.SIGKILL), 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    function("prctl", _DUMPABLE, 0, 0, 0, 0)


def powerless() -> None:
    """Without capabilities, also as root; no program that it could start would give it any."""
    with suppress(OSError):  # it needs a capability to give up those that it has not
        for capability in range(64):
            function("prctl", _DROP, capability, 0, 0, 0)
    with suppress(OSError):  # no such thing before Linux 4.3
        function("prctl", _AMBIENT, _CLEAR, 0, 0, 0)
    nothing = struct.pack("=6I", *[0] * 6)
    function("capset", struct.pack("=Ii", _CAPABILITIES, 0), nothing)
    function("prctl", _NO_PRIVILEGES, 1, 0, 0, 0)


def modest(tasks: int) -> None:
    """Limits on descriptors and threads, beside those of time, memory and files that are set.

    Args:
        tasks: how many processes and threads there were before (see `tasks`). The limit counts all
            of this user's, and root's without an end: the filter of calls is what keeps a process
            from starting others.
    """
    _at_most(resource.RLIMIT_NOFILE, _FILES)
    _at_most(resource.RLIMIT_NPROC, tasks + _TASKS)


def _at_most(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def tasks() -> int:
    """How many processes and threads there are on this machine."""
    with open("/proc/loadavg", encoding="ascii") as f:
        return int(f.read().split()[3].partition("/")[2])
