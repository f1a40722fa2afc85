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

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NOBODY = 65534

Outcomes = dict[str, dict[str, str]]

collect_ignore = (
    [] if supported() else ["test_walls.py", "test_landlock.py", "test_tiers.py", "test_visible.py"]
)


def as_user(user: str, command: Sequence[str]) -> list[str]:
    """The command, run by that user: 'root', or 'nobody', which is whoever runs the tests else."""
    if user == "root" or os.getuid():
        return list(command)
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    closed = {p: gate for p in (sys.base_prefix, sys.prefix, str(ROOT)) if (gate := _closed(p))}
    if not closed:
        return drop
    lines = ["set -e", "mount --make-rprivate /", "mount -t tmpfs none /mnt"]
    for number, path in enumerate(closed):
        lines += [f"mkdir /mnt/{number}", f"mount --bind '{path}' /mnt/{number}"]
    lines += [
        f"mount -t tmpfs -o mode=755 none '{gate}'" for gate in dict.fromkeys(closed.values())
    ]
    for number, path in enumerate(closed):
        lines += [f"mkdir -p '{path}'", f"mount --move /mnt/{number} '{path}'"]
    script = "; ".join([*lines, 'exec "$@"'])
    return ["unshare", "--mount", "sh", "-c", script, "sh", *drop]


def _closed(path: str) -> str:
    """The folder above the path that only its owner may pass; the path is then laid over it."""
    for folder in reversed(Path(path).resolve().parents):
        if not folder.stat().st_mode & 1:
            return str(folder)
    return ""


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
