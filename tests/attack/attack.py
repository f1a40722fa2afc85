"""A hostile submission: what it tries, how that is seen to succeed, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Literal

# How an attack is seen to have succeeded.
#   reach: it says GOT, or the ground around it is no longer what it was
#   hang:  it goes on when its time is over and nobody stops it
#   dies:  whoever runs it in its own process has no verdict, for the next submission either
#   marks: wrong code has more points than the same code without the attack
Kind = Literal["reach", "hang", "dies", "marks"]

NEVER = 3


@dataclass(frozen=True)
class Attack:
    """One idea.

    Attributes:
        name: what is tried, in a few words.
        code: run while the file is loaded, with the names of `Facts` and `got`.
        kind: how success is seen.
        since: the lowest tier that must stop it; NEVER is listed among what is not stopped.
        shown: where it is first shown to succeed: a child without walls or limits ("open"), or a
            grader that compares in the submission's own process ("naive").
        root: only root could do it at all.
        times: how many submissions do it, one after the other.
        forward: what the network does first.
        step: which step's submission it is.
        network: in the place of the usual class.
        most: points that are no success; as many as without the attack where it is None.
    """

    name: str
    code: str
    kind: Kind = "reach"
    since: int = 1
    shown: Literal["open", "naive"] = "open"
    root: bool = False
    times: int = 1
    forward: str = ""
    step: int = 4
    network: str = ""
    most: int | None = None


Facts = Mapping[str, object]  # constants of the ground: paths, ports, numbers of processes

_PRELUDE = """
import ctypes, errno, fcntl, gc, importlib, json, mmap, os, resource, signal, socket, struct
import subprocess, sys, threading, time
from pathlib import Path
import torch
from torch import nn

LIBC = ctypes.CDLL(None, use_errno=True)

def got(*what):
    os.write(1, ("GOT " + " ".join(map(str, what))[:200] + "\\n").encode())

def call(number, *arguments):
    result = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a
                                                   for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def each(attempt, of):
    for one in of:
        try:
            attempt(one)
        except BaseException:
            continue

def others():
    return [p for p in (os.getppid(), VICTIM, 1) if p not in (0, os.getpid())]
"""

_NETWORK = """
class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
{forward}
        return {result}
"""

_RIGHT = "self.w_2(self.dropout(self.w_1(x).relu()))"
_WRONG = "x * 0"


def submission(attack: Attack, facts: Facts, armed: bool = True) -> str:
    """Its text; not `armed`, the same without the attack."""
    constants = "".join(f"{name} = {value!r}\n" for name, value in facts.items())
    code = dedent(attack.code).strip() if armed else ""
    tried = f"""
try:
{indent(code or "pass", "    ")}
except OSError as e:
    print("refused", type(e).__name__, e.errno)
except Exception as e:
    print("refused", type(e).__name__, e)
"""
    forward = dedent(attack.forward).strip() if armed else ""
    usual = _NETWORK.format(
        forward=indent(forward or "pass", " " * 8),
        result=_WRONG if attack.kind == "marks" else _RIGHT,
    )
    network = attack.network if armed and attack.network else usual
    # Of what has been tried by then nothing more is to be seen.
    rest = "raise SystemExit" if attack.kind == "reach" else network
    return f"{_PRELUDE}\n{constants}\n{tried}\n{rest}"
