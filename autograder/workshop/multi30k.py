"""Multi30k, German and English captions: fetched into the user's cache, or a folder of one's own.

Elliott, Frank, Sima'an and Specia, "Multi30K: Multilingual English-German Image Descriptions",
2016.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from autograder.core.trouble import Trouble
from autograder.workshop.cache import cache_folder
from autograder.workshop.fetch import Progress, fetch, sum_of

VARIABLE = "MULTI30K_DIR"  # names a folder that holds the files
MIRROR = "MULTI30K_URL"  # another address to fetch them from

_DATA: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
SUMS: dict[str, str] = _DATA["sha256"]


def own_folder(chosen: Path | None = None) -> Path | None:
    """The folder that the user names, by an option or by the variable; None if neither does."""
    if chosen is None and os.environ.get(VARIABLE):
        chosen = Path(os.environ[VARIABLE])
    return chosen


def kept_folder() -> Path:
    """Where fetched files are kept."""
    return cache_folder() / "multi30k"


def address() -> str:
    """Where files are fetched from, with a slash at its end."""
    return f"{(os.environ.get(MIRROR) or _DATA['address']).rstrip('/')}/"


def get(announce: Callable[[str], Progress], sums: Mapping[str, str] = SUMS) -> Path:
    """Fetch the files that are not there yet, or not whole.

    Args:
        announce: called with a file's name before it is fetched; gives what is told its progress.
        sums: the names of the files, and the sha256 of each.

    Returns:
        The folder that holds all of them.

    Raises:
        Trouble: one could not be fetched. Those that came before it are kept.
    """
    folder = kept_folder()
    for name, sha256 in sums.items():
        if not _whole(folder / name, sha256):
            fetch(address() + name, folder / name, sha256, announce(name))
    return folder


def verify(folder: Path) -> None:
    """Make sure that a folder holds Multi30k, byte for byte.

    Raises:
        Trouble: it is none, or a file is missing or another one; the first such is named.
    """
    if not folder.is_dir():
        raise Trouble("no_data_folder", path=folder)
    for name, sha256 in SUMS.items():
        path = folder / name
        if not path.is_file():
            raise Trouble("data_missing", path=path)
        if not _whole(path, sha256):
            raise Trouble("data_differs", path=path)


def _whole(path: Path, sha256: str) -> bool:
    try:
        return path.is_file() and sum_of(path) == sha256
    except OSError as e:
        raise Trouble("unreadable", path=path, reason=e.strerror or str(e)) from None
