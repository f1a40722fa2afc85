"""Tier 2: what the waiting worker sees, and that each of its children has a place of its own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from autograder.wall import visible
from autograder.wall.tiers import numbered, trial

RunAs = Callable[[str, Sequence[str]], list[str]]
USERS = ("root", "nobody")

START = f"""
import json, os, sys, tempfile
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from autograder.wall import tiers, visible
tier = tiers.numbered(int(sys.argv[1]))
tier.enter()
scratch = Path(tempfile.mkdtemp())
walls = tier.walls(scratch)

def child(work):
    pid = tier.fork()
    if not pid:
        code = 1
        try:
            for wall in walls:
                wall()
            code = work() or 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def needs(number: int, user: str) -> None:
    if user == "root" and os.getuid():
        pytest.skip("not run by root")
    if number and (reason := trial(number).reason) is not None:
        pytest.skip(f"no tier {number} here: {reason.key} {reason.detail}")


def argv(number: int, code: str) -> list[str]:
    text = START + textwrap.dedent(code)
    python = [sys.executable, "-I", "-B", "-c", text, str(number)]
    return numbered(number).command(python, visible.kit())


@pytest.fixture
def told(run_as: RunAs) -> Callable[..., Any]:
    """What the worker's code prints as JSON."""

    def run(code: str, number: int = 2, user: str = "nobody") -> Any:
        needs(number, user)
        command = run_as(user, argv(number, code))
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert not ended.returncode, ended.stderr
        return json.loads(ended.stdout)

    return run


@pytest.mark.parametrize("user", USERS)
def test_a_child_cannot_fill_the_disk(told: Callable[..., Any], user: str) -> None:
    code = """
    def fill():
        with open("big", "wb") as f:
            while True:
                f.write(bytes(2**20))
    def many():
        for number in range(10**5):
            open(str(number), "w").close()
    def tried(work):
        def run():
            try:
                work()
            except OSError as e:
                return e.errno
        return child(run)
    print(json.dumps([tried(fill), tried(many), tried(lambda: open("a", "w").write("a") and None),
        os.listdir(scratch)]))
    """
    full = 28  # ENOSPC
    assert told(code, user=user) == [full, full, 0, []]


@pytest.mark.parametrize("user", USERS)
def test_children_have_process_numbers_of_their_own(told: Callable[..., Any], user: str) -> None:
    code = "print(json.dumps([child(os.getpid), child(os.getppid), child(os.getpid), os.getpid()]))"
    one, parent, another, worker = told(code, user=user)
    assert (one, parent, another) == (1, 0, 1)
    assert worker < 10  # bubblewrap's own namespace


@pytest.mark.parametrize("user", USERS)
def test_a_child_has_no_capability_and_the_worker_one(told: Callable[..., Any], user: str) -> None:
    code = """
    import ctypes, struct
    def held():
        head, data = struct.pack("=Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
        assert not ctypes.CDLL(None).capget(head, data)
        return list(struct.unpack("=6I", data.raw))
    print(json.dumps([held(), child(lambda: sum(held())), os.getuid(), child(os.getuid) % 256]))
    """
    worker, child, uid, _ = told(code, user=user)
    admin = 1 << 21
    assert worker[0] == worker[1] == admin and worker[3] == worker[4] == 0
    assert child == 0
    assert uid == 65534


@pytest.mark.parametrize("user", USERS)
def test_the_worker_sees_no_network_and_nobodys_files(told: Callable[..., Any], user: str) -> None:
    code = """
    import socket
    around = [str(p) for p in (Path.home(), Path("/etc/passwd"), Path("/var"), Path("/usr/bin"))]
    print(json.dumps([[name for _, name in socket.if_nameindex()],
        [p for p in around if p != "/tmp" and os.path.exists(p)],
        os.access("/", os.W_OK), len([p for p in os.listdir("/proc") if p.isdigit()])]))
    """
    interfaces, files, writable, processes = told(code, user=user)
    assert interfaces == ["lo"]
    assert (files, writable) == ([], False)
    assert processes <= 3


@pytest.mark.parametrize("number", (0, 1, 2))
def test_nothing_of_the_environment_is_handed_on(
    told: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("SECRET", "marks")
    environment = told("print(json.dumps(dict(os.environ)))", number=number)
    assert "marks" not in environment.values()
    assert environment["PYTHONHASHSEED"] == "0"


@pytest.mark.parametrize("number", (1, 2))
@pytest.mark.parametrize("user", USERS)
def test_all_ends_when_the_coordinator_is_killed(run_as: RunAs, number: int, user: str) -> None:
    """A pipe whose other end the worker and its child hold is closed when they are gone."""
    needs(number, user)
    code = """
    import time
    os.write(1, b"ready")
    child(lambda: time.sleep(60))
    time.sleep(60)
    """
    inner = f"import subprocess; subprocess.run({argv(number, code)!r}, stdin=-3)"
    command = run_as(user, [sys.executable, "-c", inner])
    answer, end = os.pipe()
    with subprocess.Popen(command, stdout=end) as coordinator:
        os.close(end)
        assert os.read(answer, 5) == b"ready"
        coordinator.send_signal(signal.SIGKILL)
    poll = select.poll()
    poll.register(answer, select.POLLIN)
    assert poll.poll(10_000), "something of it goes on"
    assert os.read(answer, 1) == b""
    os.close(answer)
