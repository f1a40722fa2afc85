"""The model answers of all steps as one module: what the reference is compared with."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

SOLUTIONS = Path(__file__).parents[1] / "solutions"


@cache
def plain() -> ModuleType:
    """Run the files of `solutions/` in order, each with the earlier ones' names for the given.

    Nothing of `transformer_ref` is left in it, which the single files take earlier pieces from.
    """
    module = ModuleType("plain")
    sys.modules[module.__name__] = module  # Dataclasses look their module up.
    for path in sorted(SOLUTIONS.glob("step*/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tree.body = [node for node in tree.body if not _takes_given(node)]
        exec(compile(tree, path, "exec"), vars(module))
    return module


def _takes_given(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "transformer_ref"
