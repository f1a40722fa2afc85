"""`autograder grade` from outside: killed and begun again, appeals, refusals, two languages."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.front.command import main
from autograder.wall import tiers

MAIN = "import sys\nfrom autograder.front.command import main\nsys.exit(main())"
COMMAND = [sys.executable, "-c", MAIN, "grade"]
ALONE = {**os.environ, "AUTOGRADER_LANG": "en"}


@dataclass
class Result:
    status: int
    out: str
    err: str


Grade = Callable[..., Result]


@pytest.fixture
def grade(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Grade:
    """The command, called in this process."""
    monkeypatch.setenv("AUTOGRADER_LANG", "en")

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["autograder", "grade", *map(str, arguments)])
        capsys.readouterr()
        status = main()
        return Result(status, *capsys.readouterr())

    return call


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()]


def alike(line: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run."""
    checks = [{**c, "seconds": 0} for c in line["checks"]]
    return {**line, "seconds": 0, "checks": checks}


@pytest.fixture
def folder(tmp_path: Path, right: str, wrong: str) -> Path:
    folder = tmp_path / "class"
    (folder / "bob").mkdir(parents=True)
    (folder / "alice.py").write_text(right)
    (folder / "bob" / "feed_forward.py").write_text(wrong)
    (folder / "=carol.py").symlink_to("alice.py")
    cells = [{"cell_type": "code", "source": text, "metadata": {}} for text in ("1/0", right)]
    (folder / "dave.ipynb").write_text(json.dumps({"cells": cells}))
    return folder


def test_a_class_is_graded_and_once_only(
    grade: Grade, tmp_path: Path, folder: Path, right: str
) -> None:
    out = tmp_path / "results.jsonl"
    first = grade("step04", "--folder", folder, "--out", out, "--jobs", 2)
    assert (first.status, first.err) == (0, "")
    assert "isolation tier" in first.out
    graded = lines(out)
    assert [(g["submission"], g["points"]) for g in graded] == [
        ("=carol.py", 0),
        ("alice.py", 10),
        ("bob", 7),
        ("dave.ipynb", 10),
    ]
    assert len({g["seed"] for g in graded}) == len({g["tier"] for g in graded}) == 1
    assert graded[0]["versions"].keys() == {"kit", "python", "torch"}
    assert "symbolic link" in graded[0]["checks"][0]["message"]
    table = (tmp_path / "results.csv").read_text(encoding="utf-8-sig").splitlines()
    assert table[1].startswith("'=carol.py,0,10,")
    assert table[3].startswith("bob,7,10,")
    assert table[3].endswith(",activation-tanh")

    (folder / "erin.py").write_text(right)
    (folder / "alice.py").write_text("1 / 0")
    (folder / "bob" / "feed_forward.py").rename(folder / "feed_forward.py")
    again = grade("step04", "--folder", folder, "--out", out)
    assert again.status == 0
    assert "6 graded, 4 of them now" in again.out
    later = {g["submission"]: g for g in lines(out)}
    assert {name: g["points"] for name, g in later.items()} == {
        "=carol.py": 0,
        "alice.py": 0,
        "bob": 0,
        "dave.ipynb": 10,
        "erin.py": 10,
        "feed_forward.py": 7,
    }
    assert later["dave.ipynb"] == graded[3]
    # What ran before may have told its author its numbers: those who hand in later get others.
    assert later["erin.py"]["seed"] != graded[0]["seed"]
    assert later["erin.py"]["seed"] == later["alice.py"]["seed"]
    seed = graded[0]["seed"]
    asked = grade("step04", "--folder", folder, "--out", out, "--seed", seed)
    assert "6 graded, 4 of them now" in asked.out
    assert {line["seed"] for line in lines(out)} == {seed}


def test_killed_half_way_the_same_command_goes_on(
    grade: Grade, tmp_path: Path, right: str, wrong: str
) -> None:
    folder, out = tmp_path / "class", tmp_path / "results.jsonl"
    folder.mkdir()
    for i in range(12):
        (folder / f"s{i:02d}.py").write_text(f"{(right, wrong)[i % 2]}\n# {i}\n")
    arguments = ["4", "--folder", str(folder), "--out", str(out), "--seed", "5", "--jobs", "1"]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**ALONE, "TMPDIR": str(temporary)}
    running = subprocess.Popen([*COMMAND, *arguments], env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_for_lines(3, out, running)
        family = _family(running.pid)
    finally:
        running.kill()
        running.wait()
    assert family
    kept = [json.loads(text) for text in out.read_bytes().splitlines(keepends=True)[:3]]
    _all_gone(family)
    assert list(temporary.iterdir()) == []
    temporary.rmdir()
    with out.open("ab") as f:
        f.write(b'{"schema": 1, "step": "st')  # as if it was killed while it wrote
    again = grade(*arguments)
    assert (again.status, again.err) == (0, "")
    graded = {g["submission"]: g for g in lines(out)}
    assert list(graded) == sorted(p.name for p in folder.iterdir())
    assert [g["points"] for g in graded.values()] == [10, 7] * 6
    assert all(graded[line["submission"]] == line for line in kept)
    assert {p.name for p in tmp_path.iterdir()} == {"class", "results.jsonl", "results.csv"}

    whole = tmp_path / "whole.jsonl"
    assert grade("--seed", 5, "--out", whole, "4", "--folder", folder).status == 0
    assert list(map(alike, lines(whole))) == list(map(alike, graded.values()))
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "results.csv").read_bytes()


def _wait_for_lines(count: int, out: Path, running: subprocess.Popen[Any]) -> None:
    while not out.exists() or out.read_bytes().count(b"\n") < count:
        assert running.poll() is None
        time.sleep(0.01)


def _family(pid: int) -> set[int]:
    """Its children, and theirs."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return set()
    children = set(map(int, found))
    return children.union(*map(_family, children)) if children else children


def _all_gone(pids: set[int]) -> None:
    end = time.monotonic() + 10
    left = pids
    while left and time.monotonic() < end:
        time.sleep(0.02)
        left = {p for p in pids if _runs(p)}
    assert not left


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_ctrl_c_keeps_what_is_graded(tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "results.jsonl"
    (folder / "zoe.py").write_text("import time\ntime.sleep(60)\n")
    command = [*COMMAND, "4", "--folder", str(folder), "--out", str(out)]
    # Whoever starts these tests may have Ctrl-C ignored, as for commands in the background.
    heard = "import os, signal, sys; signal.signal(2, signal.SIG_DFL); "
    heard += "os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", heard, *command]
    running = subprocess.Popen(command, env=ALONE, stdout=subprocess.PIPE, text=True)
    _wait_for_lines(1, out, running)
    family = _family(running.pid)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "goes on from here" in said
    assert lines(out)
    _all_gone(family)


def test_an_appeal_repeats_one_verdict_and_writes_nothing(
    grade: Grade, tmp_path: Path, folder: Path
) -> None:
    out = tmp_path / "results.jsonl"
    (folder / "alice.py").unlink()
    (folder / "=carol.py").unlink()
    (folder / "dave.ipynb").unlink()
    assert grade(4, "--folder", folder, "--out", out, "--seed", 3).status == 0
    before = out.read_bytes()
    same = grade(4, "--folder", folder, "--only", "bob", "--out", out)
    assert same.status == 1
    assert "The same as in" in same.out
    assert "tanh" in same.out
    assert "7 of 10" in same.out
    (folder / "bob" / "feed_forward.py").write_text("1 / 0")
    other = grade(4, "--folder", folder, "--only", "bob", "--out", out)
    assert "says otherwise: 7 of 10" in other.out
    assert out.read_bytes() == before


def test_what_cannot_be_done_is_one_line(grade: Grade, tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "results.jsonl"
    foreign = tmp_path / "marks.txt"
    foreign.write_text("marks\n")
    for arguments, told in [
        (["4", "--folder", tmp_path / "none", "--out", out], "there is no folder"),
        (["4", "--folder", folder], "--out"),
        (["99", "--folder", folder, "--out", out], "there is no step"),
        (["4", "--folder", folder, "--out", foreign], "something else than results"),
        (["4", "--folder", folder, "--out", tmp_path], "cannot be written"),
        (["4", "--folder", folder, "--only", "nobody"], "nobody"),
        (["4", "--folder", folder, "--only", "bob", "--out", out], "results.jsonl"),
    ]:
        ended = grade(*arguments)
        assert ended.status == 2, arguments
        assert ended.out == ""
        assert ended.err.count("\n") == 1
        assert told in ended.err
    assert not out.exists()
    assert foreign.read_text() == "marks\n"


def test_strangers_code_is_refused_where_nothing_keeps_it_away(
    grade: Grade, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine whose system calls have other numbers than are known."""
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    tiers.best.cache_clear()
    tiers.trial.cache_clear()
    out = tmp_path / "results.jsonl"
    arguments = [4, "--folder", folder, "--out", out]
    try:
        refused = grade(*arguments)
        assert refused.status == 2
        assert "--without-isolation" in refused.err
        assert not out.exists()
        assert grade(*arguments, "--without-isolation").status == 0
        assert {g["tier"] for g in lines(out)} == {0}
    finally:
        tiers.best.cache_clear()
        tiers.trial.cache_clear()
