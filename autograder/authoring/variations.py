"""Honest variations: whole answers, written otherwise than the solution, that must get full marks.

The tests hold them. A module `tests/steps/test_<slug>*.py` offers its own as `HONEST`: for each
variation its name and its text.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

TABLE = "HONEST"


def variations(root: Path, slug: str) -> dict[str, str]:
    """The variations of a step by name; none where the tests are not at hand.

    Raises:
        ValueError: two of them have one name.
    """
    found: dict[str, str] = {}
    for path in sorted((root / "tests" / "steps").glob(f"test_{slug}*.py")):
        # Only what offers any is run: a module of tests may take its time.
        if f"\n{TABLE}" not in path.read_text(encoding="utf-8"):
            continue
        table = _table(path)
        if twice := found.keys() & table.keys():
            raise ValueError(f"{path.name}: named twice: {', '.join(sorted(twice))}")
        found |= table
    return found


def _table(path: Path) -> dict[str, str]:
    spec = importlib.util.spec_from_file_location(f"variations_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(getattr(module, TABLE))
