"""Landlock: a process gives up all files but some, for itself and for good (kernel 5.13 on)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

from autograder.wall.system import syscall

# Rights to files, as bits, and in which version of Landlock each came.
_FILE_RIGHTS = (
    ("execute", 1),
    ("write_file", 1),
    ("read_file", 1),
    ("read_dir", 1),
    ("remove_dir", 1),
    ("remove_file", 1),
    ("make_char", 1),
    ("make_dir", 1),
    ("make_reg", 1),
    ("make_sock", 1),
    ("make_fifo", 1),
    ("make_block", 1),
    ("make_sym", 1),
    ("refer", 2),
    ("truncate", 3),
    ("ioctl_dev", 5),
)
_BIT = {name: 1 << place for place, (name, _) in enumerate(_FILE_RIGHTS)}
_ON_FILES = _BIT["execute"] | _BIT["write_file"] | _BIT["read_file"] | _BIT["truncate"]
_READ = _BIT["read_file"] | _BIT["read_dir"]
# No links, pipes, sockets or devices: whoever tidies up must not be led astray.
_OWN = _READ | sum(
    _BIT[name]
    for name in (
        "write_file", "remove_dir", "remove_file", "make_dir", "make_reg", "refer", "truncate",
    )
)  # fmt: skip

# Versions that can refuse TCP; abstract sockets and signals; keep quiet about what they refuse.
NETWORK, SCOPES, QUIET = 4, 6, 7
_TCP = 0b11
_SCOPED = 0b11
_VERSION = 1  # flag of landlock_create_ruleset
_BENEATH = 1  # type of rule
_NO_LOG = 1  # flag of landlock_restrict_self: whatever is tried here must not fill the system's log


@dataclass(frozen=True)
class Open:
    """What stays open: files and folders to read, devices to read and write, one folder for all."""

    read: tuple[Path, ...]
    devices: tuple[Path, ...] = ()
    own: Path | None = None


def version() -> int:
    """Which version of Landlock this kernel has; 0 for none."""
    try:
        return syscall("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:  # unknown to the kernel, or switched off when it was started
        return 0


def attributes(version: int) -> bytes:
    """The ruleset's attributes: every right that this version can take away is taken away."""
    files = sum(
        bit for (_, since), bit in zip(_FILE_RIGHTS, _BIT.values(), strict=True) if since <= version
    )
    network = _TCP if version >= NETWORK else 0
    scoped = _SCOPED if version >= SCOPES else 0
    return struct.pack("=QQQ", files, network, scoped)


def enclose(stays: Open, version: int) -> None:
    """From here on this process can reach only what stays open; needs "no new privileges".

    What of it does not exist is left out. Enclosing again only takes away.

    Args:
        stays: what it may still do.
        version: the kernel's, or an older one to do as it would.

    Raises:
        OSError: no Landlock.
    """
    wanted = attributes(version)
    handled = struct.unpack_from("=Q", wanted)[0]
    ruleset = syscall("landlock_create_ruleset", wanted, len(wanted), 0)
    try:
        _allow(ruleset, stays.read, _READ & handled)
        _allow(ruleset, stays.devices, (_READ | _BIT["write_file"]) & handled)
        _allow(ruleset, [stays.own] if stays.own else [], _OWN & handled)
        syscall("landlock_restrict_self", ruleset, _NO_LOG if version >= QUIET else 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, paths: Iterable[Path], rights: int) -> None:
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                folder = S_ISDIR(os.fstat(place).st_mode)
                rule = struct.pack("=Qi", rights if folder else rights & _ON_FILES, place)
                syscall("landlock_add_rule", ruleset, _BENEATH, rule, 0)
            finally:
                os.close(place)
