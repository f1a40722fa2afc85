"""Calls to the Linux kernel that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import cache

# Calls made before the walls stand, by the machine's name; those of Landlock are the same on all.
_NUMBERS = {
    "x86_64": {"seccomp": 317},
    "aarch64": {"seccomp": 277},
}
_EVERYWHERE = {
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}

Argument = int | bytes | None | ctypes.Array[ctypes.c_char]


def machine() -> str:
    """The processor's name as Linux has it: x86_64, aarch64, or another."""
    name = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(name, name)


def supported() -> bool:
    """Whether the walls are written for this system: Linux, 64 bits, x86-64 or arm64."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and machine() in _NUMBERS


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def function(name: str, *arguments: Argument) -> int:
    """Call a function of the C library.

    Raises:
        OSError: it returned a negative number; the kernel says why.
    """
    return _outcome(name, _library()[name](*map(_widened, arguments)))


def syscall(name: str, *arguments: Argument) -> int:
    """Call the kernel by the call's number.

    Raises:
        OSError: the kernel refuses, or does not know it.
    """
    number = _EVERYWHERE.get(name) or _NUMBERS[machine()][name]
    call = _library().syscall
    return _outcome(name, call(ctypes.c_long(number), *map(_widened, arguments)))


def _widened(argument: Argument) -> object:
    # A C function that takes any number of arguments would else be handed halves of numbers.
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _outcome(name: str, result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result
