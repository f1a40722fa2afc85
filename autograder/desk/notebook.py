"""What is written in a notebook, as the text of one Python file."""

from __future__ import annotations

import ast

from autograder.core.cells import code_cells, from_kit, plain
from autograder.desk.editing import cut

_TRIED_OUT = (ast.For, ast.While, ast.Assert, ast.Pass)


def code_in(notebook: str) -> str:
    """A notebook's cells of code as the text of one file.

    What calls the kit is left out, and what is tried out between definitions: loops, assertions.

    Raises:
        NoNotebook: it is none.
    """
    cells = [_kept(plain(cell.text)) for cell in code_cells(notebook)]
    return "\n\n\n".join(text for text in cells if text) + "\n"


def _kept(text: str) -> str:
    """What of a cell belongs into a file."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text.strip("\n")
    left_out = {node: _rest(node) for node in tree.body if _is_left_out(node)}
    others = [node for node in tree.body if node not in left_out]
    if all(isinstance(node, ast.Expr) for node in others) and not any(left_out.values()):
        return ""
    return cut(text, left_out).strip("\n")


def _is_left_out(node: ast.stmt) -> bool:
    return isinstance(node, _TRIED_OUT) or bool(from_kit(node))


def _rest(node: ast.stmt) -> str:
    """What else an import of the kit imports, as a statement; '' for nothing."""
    if not isinstance(node, ast.Import):
        return ""
    rest = [alias for alias in node.names if alias not in from_kit(node)]
    return ast.unparse(ast.Import(rest)) if rest else ""
