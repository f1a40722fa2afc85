"""What all tests share: one thread, as the kit computes with; every core; the command line."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from tests.attack import table

torch.set_num_threads(1)  # on small tensors a second one only waits


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """`pytest` alone, or with `-m`: as `-n` with the number of cores. What is named runs in one."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if hasattr(config, "workerinput"):  # one of those processes: it must start no others
        return
    if whole and getattr(config.option, "numprocesses", 0) is None and not config.option.usepdb:
        config.option.numprocesses = _cores()
        config.option.dist = "loadgroup"  # what shares something costly says so by its mark


def _cores() -> int:
    """Those that this process may use, where the system tells: a machine may have many more."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class Result:
    """What a command did."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """The command line, in English."""
    from autograder.front.command import main

    monkeypatch.setenv("AUTOGRADER_LANG", "en")

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["autograder", *map(str, arguments)])
        capsys.readouterr()
        return Result(main(), *capsys.readouterr())

    return call


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After `pytest -m attack`: the table of attacks, whichever processes have run them."""
    ended = [
        report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)
    ]
    for line in table.lines(p for report in ended for p in report.user_properties):
        terminalreporter.write_line(line)
