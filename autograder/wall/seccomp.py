"""seccomp: a filter before every call to the kernel, as a program for its packet filter."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from autograder.wall.system import machine, syscall

# Instructions: load a word of the call, mask it, compare it, answer (linux/bpf_common.h).
LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
# Where in `struct seccomp_data` the number, the architecture and an argument's lower half lie.
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
X32 = 0x40000000
_SET_FILTER, _ALL_THREADS = 1, 1

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True)
class Table:
    """Which calls are allowed, absent, or allowed for some arguments (see syscalls.toml)."""

    allowed: Mapping[str, list[int]]
    absent: Mapping[str, list[int]]
    checked: Mapping[str, Mapping[str, Any]]
    newest: int


@cache
def table() -> Table:
    """The kit's own."""
    data = tomllib.loads((files("autograder.wall") / "syscalls.toml").read_text("utf-8"))
    return Table(**data)


def program(table: Table, machine: str, own: int) -> list[Instruction]:
    """The filter's instructions (code, jump if true, jump if false, operand).

    Every jump goes a few instructions forward, past an answer.

    Args:
        table: which calls may be made.
        machine: x86_64 or aarch64.
        own: the number of the process that it is for; to no other may it send signals.
    """
    column = _COLUMN[machine]
    lines: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, ARCHITECTURES[machine]),
        _answer(errno.EPERM),  # the numbers of another architecture mean other calls
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32),
        _answer(errno.EPERM),  # neither do those of the x32 calls
        (AT_LEAST, 0, 1, table.newest + 1),
        _answer(errno.ENOSYS),
    ]
    for numbers, answer in [
        *((n, _ALLOWED) for n in table.allowed.values()),
        *((n, _answer(errno.ENOSYS)) for n in table.absent.values()),
    ]:
        if numbers[column] >= 0:
            lines += [(EQUAL, 0, 1, numbers[column]), answer]
    for rule in table.checked.values():
        if rule["numbers"][column] >= 0:
            block = _check(rule, own)
            lines += [(EQUAL, 0, len(block), rule["numbers"][column]), *block]
    return [*lines, _answer(errno.EPERM)]


def _answer(error: int) -> Instruction:
    return (RETURN, 0, 0, ERROR | error)


_ALLOWED: Instruction = (RETURN, 0, 0, ALLOW)


def _check(rule: Mapping[str, Any], own: int) -> list[Instruction]:
    """Look at the lower half of an argument: the kernel drops the upper half of all of these."""
    lines: list[Instruction] = [(LOAD, 0, 0, ARGUMENTS + 8 * rule["argument"])]
    if "mask" in rule:
        lines.append((AND, 0, 0, rule["mask"]))
    found, otherwise = _ALLOWED, _answer(errno.EPERM)
    if "none_of" in rule:
        found, otherwise = otherwise, found
    for value in rule.get("one_of") or rule["none_of"]:
        lines += [(EQUAL, 0, 1, own if value == "own" else value), found]
    return [*lines, otherwise]


def refuse(table: Table) -> None:
    """From here on this process can make only the calls in the table; needs "no new privileges".

    Raises:
        OSError: the kernel has no filters.
    """
    lines = program(table, machine(), os.getpid())
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    held = ctypes.create_string_buffer(code, len(code))
    wanted = struct.pack("@HP", len(lines), ctypes.addressof(held))
    syscall("seccomp", _SET_FILTER, _ALL_THREADS, wanted)


def available() -> bool:
    """Whether the kernel has filters; asked without setting one."""
    try:
        syscall("seccomp", _SET_FILTER, 0, None)
    except OSError as e:
        return e.errno == errno.EFAULT  # it wanted to read the filter
    return True
