"""Which tier there is, is found out by trying, and told in words and as JSON."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.core.speech import LANGUAGES
from autograder.front.commands import doctor as front
from autograder.wall import parts, seccomp, tiers
from autograder.wall.system import machine, supported

linux = pytest.mark.skipif(not supported(), reason="there are no walls for this system")


START = """
import ctypes, struct, sys
from autograder.front.command import main
from autograder.wall.system import function, syscall

def install(lines):
    held = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    function("prctl", 38, 1, 0, 0, 0)
    syscall("seccomp", 1, 0, struct.pack("@HP", len(lines), ctypes.addressof(held)))

"""


def doctor(path: str, *arguments: str, before: str = "") -> str:
    """What `autograder doctor` prints where programs are looked for in `path`."""
    code = f"{START}{before}\nsys.exit(main())"
    ended = subprocess.run(
        [sys.executable, "-c", code, "doctor", *arguments],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def as_json(path: str, before: str = "") -> Any:
    return json.loads(doctor(path, "--json", before=before))


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


# What an older kernel, or a stricter system, answers: calls by number and flag, and an error.
KERNELS = {
    "without Landlock": ("landlock_create_ruleset", 0, errno.ENOSYS, 0, "landlock"),
    "Landlock switched off": ("landlock_create_ruleset", 0, errno.EOPNOTSUPP, 0, "landlock"),
    "without filters": ("seccomp", 0, errno.ENOSYS, 0, "seccomp"),
    "no namespaces of users": ("clone", 0x10000000, errno.EPERM, 1, "bubblewrap_fails"),
    "no namespaces left": ("clone", 0x10000000, errno.ENOSPC, 1, "bubblewrap_fails"),
}
NUMBERS = {
    "x86_64": {"landlock_create_ruleset": 444, "seccomp": 317, "clone": 56},
    "aarch64": {"landlock_create_ruleset": 444, "seccomp": 277, "clone": 220},
}


@linux
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_older_or_stricter_system_gives_less(kernel: str) -> None:
    """The system is imitated by a filter that answers one call as it would."""
    call, flag, error, number, key = KERNELS[kernel]
    if number and tiers.trial(2).reason:
        pytest.skip("no tier 2 here")
    lines = [
        (seccomp.LOAD, 0, 0, seccomp.NUMBER),
        (seccomp.EQUAL, 0, 4 if flag else 1, NUMBERS[machine()][call]),
        *([(seccomp.LOAD, 0, 0, seccomp.ARGUMENTS), (seccomp.AND, 0, 0, flag)] if flag else []),
        *([(seccomp.EQUAL, 0, 1, flag)] if flag else []),
        (seccomp.RETURN, 0, 0, seccomp.ERROR | error),
        (seccomp.RETURN, 0, 0, seccomp.ALLOW),
    ]
    seen = as_json(os.environ["PATH"], before=f"install({lines!r})")
    assert seen["tier"] == number
    assert seen["reasons"][-1]["key"] == key
    assert seen["reasons"][-1]["text"]


@linux
def test_elsewhere_there_are_no_walls() -> None:
    before = "import sysconfig; sysconfig.get_config_vars(); sys.platform = 'darwin'"
    seen = as_json(os.environ["PATH"], before=before)
    assert (seen["tier"], seen["name"]) == (0, "none")
    assert [r["key"] for r in seen["reasons"]] == ["system"]
    assert "darwin" in seen["reasons"][0]["text"]
    assert seen["trials"] == {"1": {}, "2": {}}


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
