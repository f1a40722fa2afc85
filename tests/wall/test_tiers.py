"""Which tier there is, is found out by trying, and told in words and as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.front.commands import doctor as front
from autograder.wall import parts, tiers
from autograder.wall.system import supported

LANGUAGES = ("en", "ko")
linux = pytest.mark.skipif(not supported(), reason="there are no walls for this system")


def doctor(path: str, *arguments: str) -> str:
    """What `autograder doctor` prints where programs are looked for in `path`."""
    code = "import sys; from autograder.front.command import main; sys.exit(main())"
    ended = subprocess.run(
        [sys.executable, "-c", code, "doctor", *arguments],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def as_json(path: str, *arguments: str) -> Any:
    return json.loads(doctor(path, "--json", *arguments))


def programs(folder: Path, bubblewrap: str = "") -> str:
    """A folder with `env` in it, and a script that stands for bubblewrap."""
    (folder / "env").symlink_to(str(shutil.which("env")))
    if bubblewrap:
        (folder / "bwrap").write_text(f"#!/bin/sh\n{bubblewrap}\n")
        (folder / "bwrap").chmod(0o755)
    return str(folder)


def test_the_best_tier_is_the_highest_that_holds() -> None:
    holding = [n for n in (1, 2) if tiers.trial(n).reason is None]
    assert tiers.best().number == max(holding, default=0)
    assert len(tiers.best().reasons) == (2 - tiers.best().number if supported() else 1)


@linux
def test_without_bubblewrap_there_is_tier_1_and_it_is_told_why(tmp_path: Path) -> None:
    seen = as_json(programs(tmp_path))
    assert (seen["tier"], seen["name"]) == (1, "landlock+seccomp")
    assert [r["key"] for r in seen["reasons"]] == ["bubblewrap"]
    assert seen["parts"]["bubblewrap"] == ""
    assert seen["trials"]["2"] == {}


@linux
@pytest.mark.parametrize(
    ("script", "detail"),
    [
        ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "setting up uid map"),
        ("exit 0", "0"),
        ("echo '{}'", ""),
        ("echo no JSON", ""),
    ],
)
def test_a_bubblewrap_that_does_not_work_is_none(tmp_path: Path, script: str, detail: str) -> None:
    seen = as_json(programs(tmp_path, script))
    assert seen["tier"] == 1
    assert detail in seen["reasons"][0]["detail"]
    assert "bubblewrap" in seen["reasons"][0]["text"] or "JSON" in seen["reasons"][0]["detail"]


@linux
def test_a_bubblewrap_that_separates_nothing_is_none(tmp_path: Path) -> None:
    """It starts the worker where it stands, and says that all is well."""
    skip = 'while [ "$1" != --chdir ]; do shift; done; shift 2; exec "$@"'
    seen = as_json(programs(tmp_path, skip))
    assert seen["tier"] == 1
    if not os.getuid():  # others cannot even start the child
        reason = seen["reasons"][0]
        assert (reason["key"], reason["detail"]) == ("leak", "share_namespaces")


def test_json_holds_what_is_documented() -> None:
    seen = as_json(os.environ["PATH"])
    assert seen.keys() == {"schema", "tier", "name", "reasons", "parts", "trials", "versions"}
    assert seen["versions"].keys() == {"kit", "python", "torch", "system"}
    text = (Path(__file__).parents[2] / "docs" / "grading.md").read_text(encoding="utf-8")
    assert not [name for name in seen if f"`{name}`" not in text]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_report_names_every_attempt(lang: str) -> None:
    text = doctor(os.environ["PATH"], "--lang", lang)
    assert front.say(f"doctor.name.{tiers.best().number}", lang) in text
    for trial in (tiers.trial(1), tiers.trial(2)):
        for name in trial.outcomes:
            assert front.say(f"doctor.attempt.{name}", lang) in text


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (tiers.Reason("system", "darwin aarch64"), "darwin"),
        (tiers.Reason("landlock", "4.19"), "5.13"),
        (tiers.Reason("seccomp", "4.19"), "seccomp"),
        (tiers.Reason("leak", "network, processes"), ", "),
        (tiers.Reason("lost", "threads"), ""),
        (tiers.Reason("trial", "TimeoutExpired"), "Timeout"),
    ],
)
def test_tier_0_says_that_it_isolates_nobody(lang: str, reason: tiers.Reason, words: str) -> None:
    tier = tiers.numbered(0, (reason,))
    trials = [tiers.Trial(number, reason=reason) for number in (1, 2)]
    text = "\n".join(front.report(tier, trials, parts.Parts(0, False, False, ""), lang))
    assert front.say("doctor.name.0", lang) in text
    assert front.say("doctor.open.0", lang) in text
    assert words in text


def test_tier_0_runs_as_it_is() -> None:
    tier = tiers.numbered(0)
    assert tier.command(["python", "-V"])[-2:] == ["python", "-V"]
    assert len(tier.walls(Path("/"))) == 1
