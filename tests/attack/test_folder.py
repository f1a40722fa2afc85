"""What lies in a folder of submissions to mislead whoever reads it: each is told, none is followed.

Nothing hostile is executed here, so it needs no namespaces: the code that is graded is right.
"""

from __future__ import annotations

import csv
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.bulk.submissions import names_in, read
from autograder.core.step import find_step

pytestmark = pytest.mark.attack

SECRET = "the work of somebody else"
STEP = find_step(4)
RIGHT = STEP.solution.read_text(encoding="utf-8")

Put = Callable[[Path, Path], None]  # into the folder, aiming at a file outside it


def _folder(name: str, put: Put) -> Put:
    def inside(folder: Path, outside: Path) -> None:
        (folder / name).mkdir()
        put(folder / name, outside)

    return inside


def _large(path: Path, size: int) -> None:
    with path.open("wb") as f:
        f.write(b'{"cells": [')
        f.truncate(size)


def _device(folder: Path, outside: Path) -> None:
    if os.getuid():
        pytest.skip("only root makes devices")
    os.mknod(folder / "s.py", 0o600 | stat.S_IFCHR, os.makedev(1, 5))


def _socket(folder: Path, outside: Path) -> None:
    before = os.getcwd()
    os.chdir(folder)  # names of sockets are short
    try:
        socket.socket(socket.AF_UNIX).bind("s.py")
    finally:
        os.chdir(before)


# What a reader that suspects nothing does with it: "reads" the secret, "waits", takes "much".
TRAPS: dict[str, tuple[str, Put]] = {
    "a link to another's file": ("reads", lambda f, o: (f / "s.py").symlink_to(o)),
    "a link out by ..": (
        "reads",
        lambda f, o: (f / "s.py").symlink_to(os.path.relpath(o, f)),
    ),
    "a folder with such a link": (
        "reads",
        _folder("s", lambda f, o: (f / "feed_forward.py").symlink_to(o)),
    ),
    "a link to a folder": ("reads", lambda f, o: (f / "s").symlink_to(o.parent)),
    "a folder with a link to a folder": (
        "reads",
        _folder("s", lambda f, o: (f / "step04").symlink_to(o.parent)),
    ),
    "a link to a device without end": ("much", lambda f, o: (f / "s.py").symlink_to("/dev/zero")),
    "a link to itself": ("fails", lambda f, o: (f / "s.py").symlink_to("s.py")),
    "a pipe that nobody writes to": ("waits", lambda f, o: os.mkfifo(f / "s.py")),
    "a folder with such a pipe": ("waits", _folder("s", lambda f, o: os.mkfifo(f / "s.py"))),
    "a device": ("much", _device),
    "a socket": ("fails", _socket),
    "a notebook of 200 MB": ("much", lambda f, o: _large(f / "s.ipynb", 200 * 10**6)),
    "a file of 1 TB of holes": ("much", lambda f, o: _large(f / "s.py", 10**12)),
    "a folder in a folder in a folder": (
        "reads",
        lambda f, o: (f / "s/a/b/c").mkdir(parents=True),
    ),
}

_SUSPECTS_NOTHING = """
import os, sys
for top, folders, files in os.walk(sys.argv[1], followlinks=True):
    for name in files:
        with open(os.path.join(top, name), "rb") as f:
            data = f.read(2**26 + 1)
        print(data[:100], "much" if len(data) > 2**26 else "")
"""


def suspects_nothing(folder: Path) -> str:
    """What another reader makes of the folder: it prints what it reads."""
    argv = [sys.executable, "-c", _SUSPECTS_NOTHING, str(folder)]
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=3)
    except subprocess.TimeoutExpired:
        return "waits"
    if ended.returncode:
        return "fails"
    told = {SECRET: "reads", "much": "much"}
    return next((does for sign, does in told.items() if sign in ended.stdout), "")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that no submission may lead to."""
    (tmp_path / "other").mkdir()
    path = tmp_path / "other" / "feed_forward.py"
    path.write_text(f"# {SECRET}\n{RIGHT}")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class").mkdir()
    return tmp_path / "class"


@pytest.mark.parametrize("trap", TRAPS)
def test_traps_are_told_and_not_followed(folder: Path, outside: Path, trap: str) -> None:
    does, put = TRAPS[trap]
    put(folder, outside)
    if trap != "a folder in a folder in a folder":
        assert suspects_nothing(folder) == does, "the trap is none"
    (name,) = names_in(folder)
    submission = read(folder, name, STEP)
    assert submission.source.problem
    assert submission.source.text == ""


NAMES = {
    "a dash first": "--help.py",
    "a line break": "ada\n10,10.py",
    "control characters": "\x1b[2J\x07.py",
    "a formula": "=HYPERLINK(1).py",
    "two dots": "..hidden.py",
    "half of an encoding": os.fsdecode(b"\xff\xfe.py"),
    "a quote": "a\"';$(touch executed).py",
    "another alphabet, turned round": "\u202eyp.ada.py",
    "a name as long as can be": "a" * 252 + ".py",
    "a space": " .py",
}


@pytest.fixture
def graded(folder: Path, tmp_path: Path) -> Callable[[], subprocess.CompletedProcess[bytes]]:
    """`autograder grade` of the folder, by the command line."""

    def run() -> subprocess.CompletedProcess[bytes]:
        out = tmp_path / "results.jsonl"
        start = "import sys; from autograder.front.command import main; sys.exit(main())"
        argv = [sys.executable, "-c", start, "grade", "4", "--folder", str(folder)]
        argv += ["--out", str(out), "--jobs", "1", "--without-isolation"]
        return subprocess.run(argv, capture_output=True, cwd=tmp_path, timeout=120)

    return run


def test_a_folder_of_traps_stops_nobody(
    folder: Path,
    outside: Path,
    tmp_path: Path,
    graded: Callable[[], subprocess.CompletedProcess[bytes]],
) -> None:
    """All of them at once, and odd names, graded by the command: honest work has its points."""
    places = {}
    for number, trap in enumerate(TRAPS):
        if trap == "a device" and os.getuid():
            continue
        part = tmp_path / f"part{number}"
        part.mkdir()
        TRAPS[trap][1](part, outside)
        (made,) = part.iterdir()
        places[trap] = f"trap{number}{made.suffix}"
        made.rename(folder / places[trap])
    for name in NAMES.values():
        (folder / name).write_text(RIGHT)
    ended = graded()
    assert ended.returncode == 0, ended.stderr.decode("utf-8", "replace")[-2000:]

    text = (tmp_path / "results.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    points = {line["submission"]: line["points"] for line in lines}
    assert (
        len(points) == len(lines) == len(places) + len([n for n in NAMES.values() if n[0] != "."])
    )
    assert {points[name] for name in places.values()} == {0}
    assert {p for name, p in points.items() if name not in places.values()} == {10}
    assert SECRET not in text
    assert not {"executed", "help"} & {p.name for p in tmp_path.rglob("*")}
    assert b"\x1b[2J" not in ended.stdout + ended.stderr
    with (tmp_path / "results.csv").open(newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))
    assert len(rows) == len(lines) + 1
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "-", "@")]
