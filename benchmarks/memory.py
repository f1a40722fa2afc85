"""Peak memory, of this process or of one that is started to be measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def peak_memory() -> float:
    """The largest resident size of this process so far, in MiB (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def memory_of(benchmark: str, way: str) -> float:
    """What a process of its own needs for one way of a benchmark, in MiB.

    The benchmark is run with the same arguments and `--memory-of WAY`, and prints the number.
    """
    command = [sys.executable, "-m", benchmark, *sys.argv[1:], "--memory-of", way]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)
