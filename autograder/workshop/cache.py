"""Where this machine keeps what was fetched or worked out once and can be made again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autograder.core.trouble import Trouble

_NAME = "transformer-by-building"


def cache_folder() -> Path:
    """The user's folder for it, as the platform wants it; it may not exist yet."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / _NAME
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / _NAME
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches" / _NAME
    return Path.home() / ".cache" / _NAME


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write into that takes the name `path` only if nothing goes wrong inside.

    Raises:
        Trouble: the folder or the file cannot be written.
    """
    # In the same folder, for only there is a rename one act; and nobody else's.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as e:
        raise Trouble("unwritable", path=path, reason=e.strerror or str(e)) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
