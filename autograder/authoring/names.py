"""The record of checks' names and points, and what has changed since: gradebooks rely on both."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.core.step import Step

RECORD = "autograder/authoring/names.toml"

_HEADER = """\
# The checks of each step and their points, as gradebooks know them. Written by
# `autograder regenerate`, which takes over a change only when the changelog's newest section
# names its step and check.
"""


@dataclass(frozen=True)
class Change:
    """A check whose points are not those of the record; None: it is not there."""

    step: str
    check: str
    old: int | None
    new: int | None


def changes(root: Path, steps: Sequence[Step]) -> Iterator[Change]:
    """What differs between the record and these steps, which are all there are."""
    old, new = _recorded(root), _present(steps)
    for step, check in sorted(old.keys() | new.keys()):
        change = Change(step, check, old.get((step, check)), new.get((step, check)))
        if change.old != change.new:
            yield change


def told(changelog: str) -> Callable[[Change], bool]:
    """Whether an entry of the changelog's newest section names a change's step and check."""
    newest = re.split(r"^## .*$", changelog, flags=re.MULTILINE)[1:2]
    entries = [entry for section in newest for entry in re.split(r"^- ", section, flags=re.M)]

    def names(change: Change) -> bool:
        number = int(change.step.removeprefix("step"))
        step = re.compile(rf"\bstep ?0*{number}\b", re.IGNORECASE)
        return any(step.search(entry) and f"`{change.check}`" in entry for entry in entries)

    return names


def record(root: Path, steps: Sequence[Step]) -> bool:
    """Take over new checks, and changes that the changelog tells of; whether there were any."""
    known = told((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    taken = [c for c in changes(root, steps) if c.old is None or known(c)]
    kept = _recorded(root)
    for change in taken:
        kept.pop((change.step, change.check), None)
        if change.new is not None:
            kept[change.step, change.check] = change.new
    if taken:
        (root / RECORD).write_text(_written(kept), encoding="utf-8")
    return bool(taken)


def _present(steps: Sequence[Step]) -> dict[tuple[str, str], int]:
    return {(step.name, check.name): check.points for step in steps for check in step.checks}


def _recorded(root: Path) -> dict[tuple[str, str], int]:
    path = root / RECORD
    data = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {(step, check): points for step, of in data.items() for check, points in of.items()}


def _written(points: dict[tuple[str, str], int]) -> str:
    parts = [_HEADER]
    for name in sorted({step for step, _ in points}):
        lines = [f"{c} = {p}\n" for (step, c), p in sorted(points.items()) if step == name]
        parts.append(f"\n[{name}]\n{''.join(lines)}")
    return "".join(parts)
