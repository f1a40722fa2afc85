"""The files of a new step: a placeholder that runs, and in each file what there is to fill in."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path

from autograder.authoring import names, notebooks, stubs
from autograder.core.step import read_steps
from autograder.core.trouble import Trouble

_SKELETON = Path(__file__).with_name("skeleton")

# Each file of a step and what it is made from; the stub is made from the solution.
_FILES = {
    "transformer_ref/@slug@.py": "reference.txt",
    "solutions/@step@/@slug@.py": "solution.txt",
    "solutions/@step@/@slug@.ko.toml": "docstrings.txt",
    "autograder/steps/@slug@.py": "probes.txt",
    "autograder/steps/@slug@.toml": "checks.txt",
    "exercises/@step@/test_@slug@.py": "exercise_test.txt",
    "exercises/@step@/README.md": "README.txt",
    "exercises/@step@/README.ko.md": "README.ko.txt",
    "exercises/@step@/demo.py": "demo.txt",
    "tests/steps/test_@slug@.py": "step_test.txt",
}


def new_step(root: Path, number: int, slug: str) -> list[Path]:
    """Make the files of a step in a checkout of the project.

    Args:
        root: the checkout.
        number: the step's number, from 1 to 99.
        slug: its name in every place.

    Returns:
        The files that were written, those that are generated among them.

    Raises:
        Trouble: the number or the slug is taken, or the slug is no name that can be used.
    """
    _refuse(root, number, slug)
    words = {
        "slug": slug,
        "export": f"{slug}_piece",
        "number": str(number),
        "nn": f"{number:02d}",
        "step": f"step{number:02d}",
    }
    written = []
    for place, template in _FILES.items():
        path = root / _filled(place, words)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (_SKELETON / template).read_text(encoding="utf-8")
        path.write_text(_filled(text, words), encoding="utf-8", newline="\n")
        written.append(path)
    steps = read_steps(root / "autograder" / "steps")
    written += stubs.regenerate(root)
    written += notebooks.regenerate(root, steps)
    if names.record(root, steps):
        written.append(root / names.RECORD)
    return written


def _refuse(root: Path, number: int, slug: str) -> None:
    steps = read_steps(root / "autograder" / "steps")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", slug) or keyword.iskeyword(slug):
        raise Trouble("slug_shape", slug=slug)
    if slug in sys.stdlib_module_names:  # a submission is loaded as a module of that name
        raise Trouble("slug_module", slug=slug)
    if not 1 <= number <= 99:
        raise Trouble("number_range", number=number)
    for step in steps:
        if slug in step.exports:
            raise Trouble("slug_export", slug=slug, step=step.name)
    words = {"slug": slug, "step": f"step{number:02d}"}
    for place in (*_FILES, "solutions/@step@", "exercises/@step@"):
        path = root / _filled(place, words)
        if path.exists():
            raise Trouble("step_taken", path=path, steps=", ".join(s.name for s in steps))


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda match: words[match[1]], text)
