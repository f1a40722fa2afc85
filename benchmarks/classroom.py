"""How fast a course is graded, three ways and stock nbgrader: `python -m benchmarks.classroom`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.class_grading import STEP, mix

CLASS, FEW = 40, 4  # a kernel for each submission takes its time


def main() -> None:
    """Print seconds a submission, each from the time of a whole command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=CLASS, help=f"submissions; else {CLASS}")
    count = parser.parse_args().count
    with TemporaryDirectory() as home:
        stock = _course(Path(home, "stock"), FEW)
        _without_the_kit(stock / "nbgrader_config.py")
        kernel = _timed(["nbgrader", "autograde", STEP.name, "--log-level=ERROR"], stock) / FEW
        print(f"stock nbgrader autograde       {kernel:7.3f} s each   ({FEW} submissions)")
        ways = {
            "nbgrader autograde, the kit's": [
                "nbgrader",
                "autograde",
                STEP.name,
                "--log-level=ERROR",
            ],
            "autograder grade --course": ["autograder", "grade", STEP.name, "--course", "."],
            "autograder grade --folder": [
                *("autograder", "grade", STEP.name),
                *("--folder", "submitted", "--out", "results.jsonl"),
            ],
        }
        for number, (way, command) in enumerate(ways.items()):
            course = _course(Path(home, f"course{number}"), count)
            each = _timed(command, course) / count
            print(f"{way:30} {each:7.3f} s each   ({count} submissions)   x {kernel / each:.0f}")


def _course(place: Path, count: int) -> Path:
    """A course with so many students who have handed in."""
    _run(["autograder", "course", "create", str(place), "--steps", str(STEP.number)], place.parent)
    _run(["nbgrader", "generate_assignment", STEP.name, "--log-level=ERROR"], place)
    released = place / "release" / STEP.name / f"{STEP.name}.ipynb"
    for number, text in enumerate(islice(mix(), count)):
        book = json.loads(released.read_text(encoding="utf-8"))
        cells = [c for c in book["cells"] if c["metadata"].get("nbgrader", {}).get("solution")]
        cells[0]["source"] = text
        folder = place / "submitted" / f"s{number:05d}" / STEP.name
        folder.mkdir(parents=True)
        (folder / released.name).write_text(json.dumps(book), encoding="utf-8")
    return place


def _without_the_kit(config: Path) -> None:
    """The course as nbgrader makes one: kernels execute the notebooks."""
    lines = config.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("c.Autograde", "    ", "]"))]
    config.write_text("".join(kept), encoding="utf-8")


def _timed(command: list[str], folder: Path) -> float:
    started = time.perf_counter()
    _run(command, folder)
    return time.perf_counter() - started


def _run(command: list[str], folder: Path) -> None:
    # Programs of this environment are called by their names.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "PYTHONWARNINGS": "ignore"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


if __name__ == "__main__":
    main()
