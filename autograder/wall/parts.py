"""What this machine has that walls can be made of, part by part: for whoever asks why not more."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from autograder.wall import bubblewrap, landlock, seccomp
from autograder.wall.system import function, machine, supported

_USERS = 0x10000000  # of unshare: a namespace of users


@dataclass(frozen=True)
class Parts:
    """Version of Landlock (0: none), filters of calls, namespaces of users, bubblewrap's version.

    `bubblewrap` is empty where it is not installed.
    """

    landlock: int
    seccomp: bool
    namespaces: bool
    bubblewrap: str


def parts() -> Parts:
    """What there is; nothing outside Linux on x86-64 and arm64."""
    if not supported():
        return Parts(0, False, False, "")
    return Parts(landlock.version(), seccomp.available(), _namespaces(), _bubblewrap())


def installed(package: str) -> str:
    """Version of an installed package, without importing it; '?' when it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def system() -> str:
    """The system's name, its kernel's version and the processor."""
    if not hasattr(os, "uname"):
        return f"Windows, {machine()}"
    name = os.uname()
    return f"{name.sysname} {name.release}, {machine()}"


def _namespaces() -> bool:
    child = os.fork()
    if not child:
        code = 1
        try:
            function("unshare", _USERS)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _bubblewrap() -> str:
    program = bubblewrap.program()
    if not program:
        return ""
    try:
        told = subprocess.run([program, "--version"], capture_output=True, timeout=10, text=True)
    except (OSError, subprocess.TimeoutExpired):
        return "?"
    return told.stdout.split()[-1] if told.stdout.split() else "?"
