"""Imports run one way, as CONTRIBUTING says under "The house", and never in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KIT = ROOT / "autograder"

# What the modules of each part may import, besides their own part and what is no part of the kit.
ALLOWED = {
    "core": set(),
    "wall": set(),
    "weights": {"core"},
    "wiring": {"core"},
    "toys": {"core", "transformer_ref"},
    "steps": {"core", "weights", "wiring", "toys"},
    "authoring": {"core", "weights"},
    "desk": {"core", "authoring"},
    "workshop": {"core", "desk"},
    "bulk": {"core", "wall", "authoring", "transformer_ref"},
    "demo": {"core", "authoring", "workshop"},
    "front": {"core", "wall", "authoring", "desk", "workshop", "bulk", "demo"},
}


def modules() -> dict[str, Path]:
    """Every module of the kit, by name."""
    found = {}
    for path in KIT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imported(path: Path, *, late: bool) -> Iterator[str]:
    """The modules that it imports; `late`: also those of functions and of type checkers only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if late else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module or "" for name in names)


def part(module: str) -> str:
    """The part of the house that a module belongs to; '' for none."""
    kit, _, rest = module.partition(".")
    if kit == "transformer_ref":
        return kit
    return rest.partition(".")[0] if kit == "autograder" else ""


@pytest.mark.parametrize("name", ALLOWED)
def test_a_part_imports_only_what_lies_below_it(name: str) -> None:
    ours = {m: path for m, path in MODULES.items() if part(m) == name}
    assert ours
    for module, path in ours.items():
        others = {part(other) for other in imported(path, late=True)} - {name, ""}
        assert others <= ALLOWED[name], module


def test_every_part_has_its_rule() -> None:
    assert {part(module) for module in MODULES} - {""} == ALLOWED.keys()


def test_the_reference_imports_nothing_of_the_kit() -> None:
    for path in (ROOT / "transformer_ref").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [
            n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names
        ]
        names += [
            n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level
        ]
        assert not [name for name in names if name.split(".")[0] == "autograder"], path


def test_there_is_no_circle() -> None:
    graph = {m: set(imported(path, late=False)) & MODULES.keys() for m, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as e:
        pytest.fail(" -> ".join(e.args[1]))
