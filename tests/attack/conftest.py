"""Attacks are run in namespaces made for them, on small file systems that go with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from autograder.wall import tiers
from autograder.wall.system import supported
from tests.attack.ground import FIRST
from tests.users import as_user

SECONDS = 600

Outcome = dict[str, Any]

collect_ignore = [] if supported() else ["test_attacks.py"]

# Bounded: disks, by their size; what is left of processes, which ends with the first of them.
_SETTING = """
set -e
mount --make-rprivate /
mount -t tmpfs -o size=400m,nr_inodes=20000,mode=1777 none "$GROUND"
mount -t tmpfs -o size=64m,mode=1777 none /dev/shm
mount -t tmpfs -o size=64m,mode=1777 none /var/tmp
ulimit -c 0
set +e
"$@"
exit $?
"""


def apart(command: Sequence[str]) -> list[str]:
    """The command in namespaces of its own; whatever it starts ends with it."""
    mapped = [] if not os.getuid() else ["--user", "--map-root-user"]
    unshare = ["unshare", *mapped, "--pid", "--fork", "--kill-child", "--mount", "--ipc"]
    return [*unshare, "--mount-proc", "sh", "-c", _SETTING, FIRST, *command]


@contextmanager
def ground() -> Iterator[str]:
    """An empty folder that anybody may pass."""
    folder = tempfile.mkdtemp(prefix="ground")
    os.chmod(folder, 0o755)
    try:
        yield folder
    finally:
        os.rmdir(folder)


def run_apart(command: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run it; fail, and say why, where namespaces cannot be had."""
    environment = {
        "PATH": os.environ["PATH"],
        "GROUND": folder,
        "ATTACK_SECRET": "of the coordinator alone",
        "OMP_NUM_THREADS": "1",
    }
    ended = subprocess.run(
        apart(command),
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
    )
    if ended.returncode:
        pytest.fail(f"attacks are run in namespaces made for them: {ended.stderr[-2000:]}")
    return ended


@cache
def _outcomes(number: int, user: str) -> list[Outcome]:
    if user == "root" and os.getuid():
        pytest.skip("not run by root")
    if number and (reason := tiers.trial(number).reason):
        pytest.skip(f"no tier {number} here: {reason.key} {reason.detail}")
    with ground() as folder:
        argv = [sys.executable, "-B", "-m", "tests.attack.runner", str(number), folder]
        ended = run_apart(as_user(user, argv), folder)
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture(scope="session")
def outcomes() -> Callable[[int, str], list[Outcome]]:
    """What came of every attack, by a tier's number and a user; each is run once."""
    return _outcomes
