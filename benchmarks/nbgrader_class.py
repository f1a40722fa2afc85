"""Stock `nbgrader autograde` on the same code as notebooks: seconds for each submission."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autograder.core.step import Step

_NAME = "ps1"
_CONFIG = """c = get_config()
c.CourseDirectory.course_id = "course"
c.CourseDirectory.root = {root!r}
"""
_CHECKS = {
    "shape": "net = PositionwiseFeedForward(16, 64, 0.0)\n"
    "assert net(torch.zeros(2, 3, 16)).shape == (2, 3, 16)",
    "parameters": "net = PositionwiseFeedForward(16, 64, 0.0)\n"
    "assert sum(p.numel() for p in net.parameters()) == 2128",
    "positions": "net = PositionwiseFeedForward(16, 64, 0.0).eval()\n"
    "x = torch.randn(2, 3, 16)\n"
    "assert torch.allclose(net(x)[:, :1], net(x[:, :1]), atol=1e-5)",
}


def seconds_each(python: str, step: Step, texts: Sequence[str]) -> float:
    """Grade the texts as notebooks, one after the other; the mean.

    Args:
        python: an interpreter with nbgrader and torch.
        step: whose stub is the assignment.
        texts: the submissions.
    """
    with TemporaryDirectory() as home:
        root = Path(home)
        (root / "nbgrader_config.py").write_text(_CONFIG.format(root=home))
        _write(root / "source" / _NAME / f"{step.slug}.ipynb", step.stub.read_text("utf-8"))
        _run(python, root, "generate_assignment", _NAME)
        release = root / "release" / _NAME / f"{step.slug}.ipynb"
        took = []
        for number, text in enumerate(texts):
            student = f"s{number}"
            place = root / "submitted" / student / _NAME / release.name
            _hand_in(release, place, text)
            started = time.perf_counter()
            _run(python, root, "autograde", _NAME, "--student", student)
            took.append(time.perf_counter() - started)
        return sum(took) / len(took)


def _run(python: str, root: Path, *arguments: str) -> None:
    # It calls other programs of its own by their names.
    programs = str(Path(python).absolute().parent)
    path = os.pathsep.join((programs, os.environ["PATH"]))
    command = [python, "-m", "nbgrader", *arguments, "--log-level", "ERROR"]
    subprocess.run(command, cwd=root, env={**os.environ, "PATH": path}, check=True)


def _write(path: Path, answer: str) -> None:
    path.parent.mkdir(parents=True)
    cells = [_cell("answer", answer, solution=True)]
    cells += [_cell(name, text, grade=True, points=2) for name, text in _CHECKS.items()]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(book))


def _cell(name: str, text: str, **nbgrader: Any) -> dict[str, Any]:
    told = {"grade": False, "solution": False, "locked": not nbgrader.get("solution"), **nbgrader}
    told |= {"grade_id": name, "schema_version": 3, "task": False}
    return {
        "cell_type": "code",
        "id": name,
        "source": text,
        "metadata": {"nbgrader": told},
        "outputs": [],
        "execution_count": None,
    }


def _hand_in(release: Path, place: Path, answer: str) -> None:
    book = json.loads(release.read_text())
    cell = next(c for c in book["cells"] if c["metadata"]["nbgrader"]["grade_id"] == "answer")
    cell["source"] = answer
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(book))
