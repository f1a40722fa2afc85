"""What the tests around the finished model share: the command line, and where Multi30k is."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def run(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Any]:
    """The command line in English, with a cache of its own and no data named."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MULTI30K_DIR", raising=False)
    monkeypatch.delenv("MULTI30K_URL", raising=False)
    return run


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """The folder that MULTI30K_DIR names."""
    if not os.environ.get("MULTI30K_DIR"):
        pytest.skip("MULTI30K_DIR names no folder with Multi30k")
    return Path(os.environ["MULTI30K_DIR"])
