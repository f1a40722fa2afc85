"""Proof that a file put together can be imported where nothing else of the course is."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autograder.core.trouble import Trouble

_SECONDS = 120

# There may be other modules called transformer: the one in the current folder comes first.
_PROGRAM = """\
import sys
sys.path.insert(0, "")
import transformer
kit = {"transformer_ref", "autograder"} & {name.split(".")[0] for name in sys.modules}
if kit:
    raise ImportError("it imports " + " and ".join(sorted(kit)))
for name in sys.argv[1:]:
    getattr(transformer, name)
"""


def prove(text: str, exports: Sequence[str]) -> None:
    """Import the text as `transformer` in a process of its own and look for the exports.

    Raises:
        Trouble: it fails, or takes too long; the error's last line is told.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "transformer.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", _PROGRAM, *exports]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise Trouble("not_alone", reason=f"{_SECONDS} s", line="?") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace")
        reason = (said.strip().splitlines() or ["?"])[-1]
        raise Trouble("not_alone", reason=reason, line=_line(said, text))


def _line(said: str, text: str) -> str:
    """The last line of the text that a traceback names."""
    numbers = [int(n) for n in re.findall(r'transformer\.py", line (\d+)', said)]
    lines = text.splitlines()
    return lines[numbers[-1] - 1].strip() if numbers and numbers[-1] <= len(lines) else "?"
