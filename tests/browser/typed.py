"""What people type: commands in a terminal, and answers in a cell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from autograder.core.step import find_step, kit_file
from tests.settings import settings_in


def command(line: str, folder: Path, home: Path) -> str:
    """Run a program of this environment in the folder, which must succeed; what it printed."""
    name, *arguments = line.split()
    program = Path(sys.executable).with_name(name)
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env=settings_in(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def answer(step: str, edit: tuple[str, str] = ("", "")) -> str:
    """The one definition that the step's model answer holds, with a piece of it replaced."""
    file = kit_file("solutions", step, f"{find_step(step).slug}.py")
    lines = [x for x in file.read_text(encoding="utf-8").splitlines() if " ### " not in x]
    start = next(i for i, x in enumerate(lines) if x.startswith(("class ", "def ")))
    text = "\n".join(lines[start:]) + "\n"
    old, new = edit
    assert not old or text.count(old) == 1
    return text.replace(old, new) if old else text
