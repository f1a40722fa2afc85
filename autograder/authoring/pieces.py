"""A Python text cut at its top-level definitions, one piece for each."""

from __future__ import annotations

import ast
from dataclasses import dataclass

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Piece:
    """Lines of the text; `name` is what they define, '' for what stands before all definitions."""

    name: str
    text: str


def pieces_of(source: str) -> list[Piece]:
    """Cut the text; the module's docstring is in none of the pieces.

    A definition keeps its decorators, its comments (at its end and right above it, too), and what
    stands between it and the definition before. What stands behind the last one stays with that.

    Raises:
        SyntaxError: the text is not Python.
    """
    lines = source.splitlines()
    tree = ast.parse(source)
    at = (tree.body[0].end_lineno or 0) if ast.get_docstring(tree) is not None else 0
    definitions = [node for node in tree.body if isinstance(node, Definition)]
    if not definitions:
        return _kept([Piece("", _joined(lines[at:]))])
    first = _first_line(definitions[0], lines)
    pieces = [Piece("", _joined(lines[at:first]))]
    begins = [first, *(_behind(node, lines) for node in definitions[:-1])]
    ends = [*begins[1:], len(lines)]
    for node, begin, end in zip(definitions, begins, ends, strict=True):
        pieces.append(Piece(node.name, _joined(lines[begin:end])))
    return _kept(pieces)


def _first_line(node: Definition, lines: list[str]) -> int:
    """The index of the line at which a definition begins, with decorators and comments."""
    first = min(part.lineno for part in (node, *node.decorator_list)) - 1
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return first


def _behind(node: Definition, lines: list[str]) -> int:
    """The index of the line after a definition: comments that end its body belong to it."""
    end = node.end_lineno or 0
    while end < len(lines) and (not lines[end] or lines[end][0].isspace()):
        end += 1
    return end


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n")


def _kept(pieces: list[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.text]
