"""What can be done behind the walls, at each tier, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from autograder.wall import tiers, visible
from autograder.wall.system import supported
from tests.users import NOBODY, as_user

HERE = Path(__file__).parent

Outcomes = dict[str, dict[str, str]]

collect_ignore = (
    [] if supported() else ["test_walls.py", "test_landlock.py", "test_tiers.py", "test_visible.py"]
)


@cache
def outcomes(number: int, user: str) -> Outcomes:
    """What attempts.py found out; each tier and user once."""
    if user == "root" and os.getuid():
        pytest.skip("not run by root")
    if number and (reason := tiers.trial(number).reason):
        pytest.skip(f"no tier {number} here: {reason.key} {reason.detail}")
    outside = tempfile.mkdtemp(prefix="outside")
    try:
        if user == "nobody" and not os.getuid():
            os.chown(outside, NOBODY, NOBODY)
        argv = [sys.executable, "-B", str(HERE / "attempts.py"), str(number), outside]
        command = tiers.numbered(number).command(argv, [*visible.kit(), HERE])
        ended = subprocess.run(
            as_user(user, command), capture_output=True, timeout=120, stdin=subprocess.DEVNULL
        )
        assert not ended.returncode, ended.stderr.decode()
        return json.loads(ended.stdout)
    finally:
        shutil.rmtree(outside)


@pytest.fixture(scope="session")
def tried() -> Callable[[int, str], Outcomes]:
    """By a tier's number and a user: groups of attempts, and what came of each."""
    return outcomes


@pytest.fixture
def run_as() -> Callable[[str, Sequence[str]], list[str]]:
    return as_user


@pytest.fixture
def in_a_child() -> Iterator[Callable[[Callable[[], object]], str]]:
    """Call something in a forked child; what it raises, or 'done'."""

    def run(work: Callable[[], object]) -> str:
        answer, end = os.pipe()
        child = os.fork()
        if not child:
            try:
                work()
                os.write(end, b"done")
            except BaseException as e:
                os.write(end, type(e).__name__.encode())
            finally:
                os._exit(0)
        os.close(end)
        with os.fdopen(answer, "rb") as f:
            told = f.read().decode()
        os.waitpid(child, 0)
        return told

    yield run
