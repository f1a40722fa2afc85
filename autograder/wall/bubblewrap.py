"""Tier 2: the waiting worker inside bubblewrap, and each of its children in a place of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from autograder.wall import visible
from autograder.wall.system import function

NOBODY = 65534
# Of unshare and mount.
_MOUNTS, _MESSAGES, _PROCESSES = 0x00020000, 0x08000000, 0x20000000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 1, 2, 4, 8
_ALL, _PRIVATE = 0x4000, 0x40000
_QUIET = _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS
SCRATCH_BYTES, SCRATCH_FILES = 64 * 2**20, 4096


def program() -> str | None:
    """Where bubblewrap is, if it is installed."""
    return shutil.which("bwrap")


def command(argv: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """The command line that starts `argv` inside: no network, no processes or files of others.

    What it sees is read-only, but for an empty /tmp of its own. It is nobody there, also when root
    starts it, and keeps one capability: to give each child file systems and process numbers of
    its own, which it does not let the child keep. Of the kit it sees what is in `folders`.
    """
    libraries = (*visible.libraries(), *_resolved(visible.libraries()))
    kit = [f for f in visible.kit() if any(library in f.parents for library in libraries)]
    return [
        program() or "bwrap",
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts"),
        *("--unshare-cgroup-try", "--die-with-parent", "--new-session"),
        *("--uid", str(NOBODY), "--gid", str(NOBODY)),
        *("--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"),
        # First: what is to be seen may lie below it.
        *("--tmpfs", "/tmp"),
        # Not --dev: its terminals need a second user namespace, which would not be allowed to give
        # the children process numbers of their own.
        *("--tmpfs", "/dev", *_bind("--dev-bind-try", visible.devices())),
        *("--symlink", "/proc/self/fd", "/dev/fd", "--proc", "/proc"),
        *_bind("--ro-bind-try", libraries),
        *_bind("--ro-bind-try", (*visible.interpreter(), *_outside_proc(visible.details()))),
        *_on("--tmpfs", kit),
        *_bind("--ro-bind", folders),
        *_on("--remount-ro", (*kit, Path("/dev"), Path("/"))),
        *("--chdir", "/tmp"),
        *argv,
    ]


def _bind(how: str, paths: Iterable[Path]) -> list[str]:
    return [a for path in dict.fromkeys(map(str, paths)) for a in (how, path, path)]


def _on(what: str, paths: Iterable[Path]) -> list[str]:
    return [a for path in paths for a in (what, str(path))]


def _resolved(paths: Iterable[Path]) -> list[Path]:
    return [path.resolve() for path in paths]


def _outside_proc(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.parts[1] != "proc"]


def fork() -> int:
    """As `os.fork`; the child is the first process of a namespace of its own, which dies with it.

    Raises:
        OSError: there is no process to be had, or this one is not inside `command`.
    """
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        function("unshare", _PROCESSES)  # for the children only
        try:
            child = os.fork()
        except OSError:
            function("setns", own, _PROCESSES)
            raise
        if child:
            function("setns", own, _PROCESSES)
        return child
    finally:
        os.close(own)


def private(scratch: Path, hidden: Sequence[Path]) -> None:
    """In the child: an empty file system laid over `scratch`, and over what is hidden."""
    function("unshare", _MOUNTS | _MESSAGES)
    function("mount", None, b"/", None, _ALL | _PRIVATE, None)  # nothing of it is seen outside
    _lay(scratch, _QUIET, f"size={SCRATCH_BYTES},nr_inodes={SCRATCH_FILES},mode=700")
    for folder in (*hidden, Path("/proc")):
        _lay(folder, _QUIET | _READ_ONLY, "size=4k,nr_inodes=1,mode=500")


def namespaces() -> tuple[str, ...]:
    """What the kernel calls the namespaces that this process is in and a worker must not be in."""
    return tuple(os.readlink(f"/proc/self/ns/{n}") for n in ("user", "pid", "mnt", "net", "ipc"))


def _lay(folder: Path, flags: int, options: str) -> None:
    function("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options.encode())
