"""What the tests around the finished model share: the command line, and where Multi30k is."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.front.command import main


@dataclass
class Result:
    status: int
    out: str
    err: str


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Result]:
    """The command line in English, with a cache of its own and no data named."""
    monkeypatch.setenv("AUTOGRADER_LANG", "en")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MULTI30K_DIR", raising=False)
    monkeypatch.delenv("MULTI30K_URL", raising=False)

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["autograder", *map(str, arguments)])
        capsys.readouterr()
        return Result(main(), *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """The folder that MULTI30K_DIR names."""
    if not os.environ.get("MULTI30K_DIR"):
        pytest.skip("MULTI30K_DIR names no folder with Multi30k")
    return Path(os.environ["MULTI30K_DIR"])
