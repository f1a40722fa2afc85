"""Empty a folder that learners' code could write to, whatever it has put there."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path


def empty(folder: Path) -> None:
    """Remove all that is in the folder; links are removed, never followed.

    Folders are taken apart from the top, what is in them moved up: nothing is too deep.

    Raises:
        OSError: something cannot be removed.
    """
    free = (folder / f"{number}.removed" for number in count())
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                    os.rename(inner.path, next(p for p in free if not os.path.lexists(p)))
                else:
                    os.unlink(inner.path)
            os.rmdir(entry.path)
