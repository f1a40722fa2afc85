"""Rules about files and names: each step has its own in all four places, and they are fresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autograder.authoring import docstrings, names, notebooks, stubs
from autograder.authoring.kit import Kit, Problem
from autograder.core.step import ALIKE, Step

PLACES = ("transformer_ref", "solutions", "exercises", "autograder/steps")
# How the files of a new step mark what is to be written.
TO_FILL_IN = ("TO FILL IN", "채워 넣을 것")
_OF_NO_STEP = {
    "transformer_ref/__init__.py",
    "transformer_ref/caching.py",
    "transformer_ref/py.typed",
    "autograder/steps/__init__.py",
}


def files_are_in_place(kit: Kit) -> Iterator[Problem]:
    """Nothing of a step is missing, and nothing else lies in the folders of steps."""
    found = {name for place in PLACES for name in _files(kit.root, place)}
    for step in kit.steps:
        for name in sorted(_files_of(step) - found):
            yield Problem(name, "missing_file")
    known = _OF_NO_STEP.union(*map(_files_of, kit.all_steps), *map(_extras_of, kit.all_steps))
    for name in sorted(found - known):
        if kit.whole or any(step.name in name or step.slug in name for step in kit.steps):
            yield Problem(name, "stray_file")


def stubs_are_fresh(kit: Kit) -> Iterator[Problem]:
    """Stubs are what would be made of the solutions now; those that were filled in are let be."""
    for path in stubs.stale(kit.root):
        if kit.whole or any(step.name == path.parent.name for step in kit.steps):
            yield Problem(path.relative_to(kit.root).as_posix(), "stale")


def notebooks_are_fresh(kit: Kit) -> Iterator[Problem]:
    """Notebooks are what would be made of lesson, solution and checks now, or somebody's work."""
    for path in notebooks.stale(kit.root, kit.steps):
        yield Problem(path.relative_to(kit.root).as_posix(), "stale")


def slugs_are_no_exports(kit: Kit) -> Iterator[Problem]:
    """A package cannot offer a module and a function of one name."""
    exports = {export: step.name for step in kit.all_steps for export in step.exports}
    for step in kit.steps:
        if step.slug in exports:
            facts = {"slug": step.slug, "other": exports[step.slug]}
            yield Problem(step.name, "slug_is_export", facts)


def nothing_is_left_to_fill_in(kit: Kit) -> Iterator[Problem]:
    """No file of a step still says what is to be written; a step asked about is still in work."""
    if not kit.whole:
        return
    for step in kit.steps:
        for name in sorted({*_files_of(step), f"tests/steps/test_{step.slug}.py"}):
            if (kit.root / name).is_file() and any(mark in kit.read(name) for mark in TO_FILL_IN):
                yield Problem(name, "unfilled")


def check_names_are_kept(kit: Kit) -> Iterator[Problem]:
    """Gradebooks use the checks' names and points: what changed is told in the changelog."""
    told = names.told(kit.read("CHANGELOG.md"))
    for change in names.changes(kit.root, kit.all_steps):
        if not kit.whole and change.step not in {s.name for s in kit.steps}:
            continue
        facts = {"check": change.check, "old": change.old, "new": change.new}
        if change.old is None:
            yield Problem(change.step, "check_unrecorded", facts)
        elif not told(change):
            text = "check_gone" if change.new is None else "points_changed"
            yield Problem(change.step, text, facts)


def _files_of(step: Step) -> set[str]:
    exercise = f"exercises/{step.name}"
    return {
        f"transformer_ref/{step.slug}.py",
        f"solutions/{step.name}/{step.slug}.py",
        f"solutions/{step.name}/{docstrings.name_of(step)}",
        *(f"{exercise}/{name}" for name in ("README.md", "README.ko.md", "demo.py")),
        f"{exercise}/{step.slug}.py",
        f"{exercise}/test_{step.slug}.py",
        *(f"{exercise}/{notebooks.name_of(step, lang)}" for lang in notebooks.BY_LANGUAGE),
        f"autograder/steps/{step.slug}.py",
        f"autograder/steps/{step.slug}.toml",
    }


def _extras_of(step: Step) -> set[str]:
    """What a step may have, too."""
    return {f"autograder/steps/{step.slug}{ALIKE}"}


def _files(root: Path, place: str) -> Iterator[str]:
    """The files of a folder as paths below the root, but for what git is told to ignore."""
    for path in (root / place).rglob("*"):
        name = path.relative_to(root)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in name.parts)
        if path.is_file() and not hidden and path.suffix != ".bak":
            yield name.as_posix()
