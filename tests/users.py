"""Commands run as root, or as an ordinary user."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOBODY = 65534


def as_user(user: str, command: Sequence[str]) -> list[str]:
    """The command, run by that user: 'root', or 'nobody', which is whoever runs the tests else."""
    if user == "root" or os.getuid():
        return list(command)
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    closed = {p: gate for p in (sys.base_prefix, sys.prefix, str(ROOT)) if (gate := _closed(p))}
    if not closed:
        return drop
    lines = ["set -e", "mount --make-rprivate /", "mount -t tmpfs none /mnt"]
    for number, path in enumerate(closed):
        lines += [f"mkdir /mnt/{number}", f"mount --bind '{path}' /mnt/{number}"]
    lines += [
        f"mount -t tmpfs -o mode=755 none '{gate}'" for gate in dict.fromkeys(closed.values())
    ]
    for number, path in enumerate(closed):
        lines += [f"mkdir -p '{path}'", f"mount --move /mnt/{number} '{path}'"]
    script = "; ".join([*lines, 'exec "$@"'])
    return ["unshare", "--mount", "sh", "-c", script, "sh", *drop]


def _closed(path: str) -> str:
    """The folder above the path that only its owner may pass; the path is then laid over it."""
    for folder in reversed(Path(path).resolve().parents):
        if not folder.stat().st_mode & 1:
            return str(folder)
    return ""
