"""The filter of calls, interpreted call by call for both processors: the program is what counts."""

from __future__ import annotations

import errno
import re
import struct
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.wall import seccomp

MACHINES = ("x86_64", "aarch64")
COLUMN = {"x86_64": 0, "aarch64": 1}
OWN = 4242
ALLOWED, REFUSED, ABSENT = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
LONGEST = 4096  # instructions that the kernel takes
WORD = st.integers(0, 2**64 - 1)


@cache
def program(machine: str) -> list[seccomp.Instruction]:
    return seccomp.program(seccomp.table(), machine, OWN)


def answer(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """What the kernel would be told about a call: its packet filter, as far as it is used here."""
    architecture = architecture or seccomp.ARCHITECTURES[machine]
    padded = [a % 2**64 for a in (*arguments, *[0] * 6)][:6]
    data = struct.pack("=iIQ6Q", number, architecture, 0, *padded)
    value, at, lines = 0, 0, program(machine)
    for _ in range(LONGEST):
        code, yes, no, operand = lines[at]
        at += 1
        if code == 0x20:  # BPF_LD | BPF_W | BPF_ABS
            value = struct.unpack_from("=I", data, operand)[0]
        elif code == 0x54:  # BPF_ALU | BPF_AND | BPF_K
            value &= operand
        elif code == 0x15:  # BPF_JMP | BPF_JEQ | BPF_K
            at += yes if value == operand else no
        elif code == 0x35:  # BPF_JMP | BPF_JGE | BPF_K
            at += yes if value >= operand else no
        elif code == 0x06:  # BPF_RET | BPF_K
            return operand
        else:
            raise AssertionError(f"unknown instruction {code:#x}")
    raise AssertionError("no end")


def number(machine: str, name: str) -> int:
    table = seccomp.table()
    rows = {**table.allowed, **table.absent, **{k: r["numbers"] for k, r in table.checked.items()}}
    return rows[name][COLUMN[machine]]


def named(machine: str, group: str) -> dict[str, int]:
    rows = getattr(seccomp.table(), group)
    found = {k: r["numbers"] if group == "checked" else r for k, r in rows.items()}
    return {name: n[COLUMN[machine]] for name, n in found.items() if n[COLUMN[machine]] >= 0}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_is_answered_as_the_table_says(machine: str) -> None:
    allowed = {*named(machine, "allowed").values()}
    absent = {*named(machine, "absent").values()}
    checked = {*named(machine, "checked").values()}
    assert len(allowed) > 90
    for call in range(600):
        seen = answer(machine, call, 7, 7, 7)
        if call in allowed:
            assert seen == ALLOWED, call
        elif call in absent or call > seccomp.table().newest:
            assert seen == ABSENT, call
        elif call not in checked:
            assert seen == REFUSED, call


@pytest.mark.parametrize("machine", MACHINES)
@given(call=st.integers(0, 600), arguments=st.tuples(*[WORD] * 6))
def test_other_calls_than_the_listed_are_never_allowed(
    machine: str, call: int, arguments: tuple[int, ...]
) -> None:
    listed = {*named(machine, "allowed").values(), *named(machine, "checked").values()}
    assert call in listed or answer(machine, call, *arguments) != ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
@given(call=st.integers(0, 600), architecture=st.integers(1, 2**32 - 1))
def test_calls_of_another_architecture_are_refused(
    machine: str, call: int, architecture: int
) -> None:
    """Among them the 32-bit calls of the same processor, whose numbers mean other calls."""
    if architecture != seccomp.ARCHITECTURES[machine]:
        assert answer(machine, call, architecture=architecture) == REFUSED


@given(call=st.integers(0, 600))
def test_x32_calls_are_refused(call: int) -> None:
    assert answer("x86_64", 0x40000000 | call) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_the_kernel_would_take_the_program(machine: str) -> None:
    lines = program(machine)
    assert len(lines) <= LONGEST
    for at, (code, yes, no, operand) in enumerate(lines):
        assert 0 <= operand < 2**32 and 0 <= yes < 256 and 0 <= no < 256
        if code in (seccomp.EQUAL, seccomp.AT_LEAST):
            assert at + 1 + max(yes, no) < len(lines)
    assert lines[-1][0] == seccomp.RETURN


# ---------------------------------------------------------------- arguments

THREAD = 0x3D0F00  # as the C library starts one
NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
PROCESSES = (0x1200011, 0x4111, 17, 0, 0x1200000)  # fork, vfork, and barer ones


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_can_be_started_and_processes_cannot(machine: str) -> None:
    clone = number(machine, "clone")
    assert answer(machine, clone, THREAD) == ALLOWED
    for flags in PROCESSES:
        assert answer(machine, clone, flags) == REFUSED
    for flag in NAMESPACES:
        assert answer(machine, clone, THREAD | flag) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
@given(flags=WORD)
def test_without_the_flag_for_a_thread_nothing_is_started(machine: str, flags: int) -> None:
    clone = number(machine, "clone")
    assert answer(machine, clone, flags & ~0x10000) == REFUSED
    optional = 0x17C0F00  # what a thread may have or not; signals and the rest it may not
    expected = ALLOWED if not (flags % 2**32) & ~optional & ~0x10000 else REFUSED
    assert answer(machine, clone, flags | 0x10000) == expected


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("call", ("kill", "tgkill"))
@given(target=st.integers(-(2**31), 2**31 - 1), upper=st.integers(0, 2**32 - 1))
def test_signals_go_to_oneself_only(machine: str, call: str, target: int, upper: int) -> None:
    """The kernel looks at the lower half only; so does the filter."""
    asked = upper << 32 | target % 2**32
    expected = ALLOWED if target == OWN else REFUSED
    assert answer(machine, number(machine, call), asked, 9) == expected
    assert answer(machine, number(machine, call), upper << 32 | OWN, 9) == ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
@given(target=st.integers(-(2**31), 2**31 - 1))
def test_limits_are_ones_own(machine: str, target: int) -> None:
    expected = ALLOWED if target in (0, OWN) else REFUSED
    assert answer(machine, number(machine, "prlimit64"), target) == expected


SAFE = {"prctl": (0, {3, 15, 16, 0x53564D41}), "ioctl": (1, {0x5401, 0x541B, 0x5451})}
UNSAFE = {
    "prctl": (0, {1, 4, 8, 22, 24, 28, 36, 38, 47, 0x59616D61}),
    "ioctl": (1, {0x5412, 0x5402, 0x8901, 0x8902, 0xAE00}),
    "fcntl": (1, {8, 10, 15, 1024, 1026, 1031, 1033}),
    "open": (1, {0x200, 0x203, 0x80200, 0x1000203}),
    "openat": (2, {0x200, 0x203, 0x80200, 0x1000203}),
}
SAFE |= {
    "fcntl": (1, {1, 2, 3, 4, 6, 1030}),
    "open": (1, {0, 1, 2, 0x80000, 0x241, 0x202, 0x410000}),
    "openat": (2, {0, 1, 2, 0x80000, 0x241, 0x202, 0x410000}),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("call", SAFE)
def test_some_requests_are_harmless(machine: str, call: str) -> None:
    asked = number(machine, call)
    for cases, expected in ((SAFE, ALLOWED), (UNSAFE, REFUSED)):
        place, values = cases[call]
        for value in values if asked >= 0 else ():
            arguments = [0] * place + [value]
            assert answer(machine, asked, *arguments) == expected, hex(value)


# ---------------------------------------------------------------- numbers

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    header = next((Path(p) for p in HEADERS[machine] if Path(p).exists()), None)
    if header is None:
        pytest.skip("the kernel's headers are not installed")
    pairs = re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", header.read_text())
    there = {name: int(n) for name, n in pairs}
    # The header is for all processors with these numbers; 64-bit ones call two of them otherwise.
    there["newfstatat"] = there.get("newfstatat", there.get("fstatat"))
    for group in ("allowed", "absent", "checked"):
        for name, n in named(machine, group).items():
            assert there.get(name, n) == n, name
    assert sum(name in there for name in named(machine, "allowed")) > 80
