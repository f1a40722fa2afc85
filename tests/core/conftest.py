"""What the core's tests share: a network to put code into, a grade that leaves nothing behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from textwrap import indent

import pytest

from autograder.core import engine

engine.start()

from autograder.core.grading import grade  # noqa: E402
from autograder.core.step import find_step  # noqa: E402
from autograder.core.subject import Source  # noqa: E402
from autograder.core.verdict import Verdict  # noqa: E402

FILE = "/some/dir/feed_forward.py"
HONEST = find_step(4).solution.read_text(encoding="utf-8")


@pytest.fixture
def network() -> Callable[..., str]:
    """Text of a right feed-forward network, with more code on top or in its two methods."""

    def text(top: str = "", init: str = "pass", forward: str = "pass") -> str:
        return f"""import ctypes, json, os, random, signal, sys, threading, time, warnings
import torch
from torch import nn
{top}
class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
{indent(init, " " * 8)}

    def forward(self, x):
{indent(forward, " " * 8)}
        return self.w_2(self.dropout(self.w_1(x).relu()))
"""

    return text


@pytest.fixture
def graded() -> Callable[..., Verdict]:
    """Grades a text as step 4; no process and no descriptor is left.

    It ends within 10 seconds, unless other limits are given.
    """

    def run(text: str, file: str = FILE, **options: object) -> Verdict:
        before = _descriptors()
        started = time.monotonic()
        verdict = grade(find_step(4), Source(text, file), **options)  # type: ignore[arg-type]
        assert time.monotonic() - started < 10 or "limits" in options
        assert _descriptors() == before
        with pytest.raises(ChildProcessError):  # no child is left, not even a zombie
            os.waitpid(-1, os.WNOHANG)
        return verdict

    return run


@pytest.fixture
def honest_passes(graded: Callable[..., Verdict]) -> Callable[[], None]:
    """Whatever was run before: honest work gets its points."""

    def check() -> None:
        verdict = graded(HONEST)
        assert verdict.passed
        assert verdict.points == 10

    return check


def _descriptors() -> list[str]:
    return sorted(os.listdir("/dev/fd"))
