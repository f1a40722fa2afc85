"""What is written in a notebook, as the text of one Python file."""

from __future__ import annotations

import ast

from autograder.core.cells import code_cells, plain
from autograder.desk.editing import cut

_KIT = "autograder"


def code_in(notebook: str) -> str:
    """A notebook's cells of code as the text of one file; what calls the kit is left out.

    Raises:
        NoNotebook: it is none.
    """
    cells = [_without_kit(plain(cell.text)) for cell in code_cells(notebook)]
    return "\n\n\n".join(text for text in cells if text) + "\n"


def _without_kit(text: str) -> str:
    """A cell without its imports from the kit, and without the calls, if there is nothing else."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text.strip("\n")
    kit = [node for node in tree.body if _imports_kit(node)]
    rest = [node for node in tree.body if node not in kit]
    if kit and all(isinstance(node, ast.Expr) for node in rest):
        return ""
    return cut(text, dict.fromkeys(kit, "")).strip("\n")


def _imports_kit(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").split(".")[0] == _KIT
    return isinstance(node, ast.Import) and all(a.name.split(".")[0] == _KIT for a in node.names)
