"""Python text changed by its syntax tree: statements cut out, names changed, comments kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

_CUT = "\0"  # stands where lines were cut out; no Python text holds one
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class CannotRename(Exception):
    """The name is not only a variable at module level: changing it might break the code."""


def bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement at module level gives a meaning to."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.split(".")[0] for alias in statement.names}
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    names: set[str] = set()
    for node in _outside_functions(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.stmt) and node is not statement:
            names |= bound_names(node)
    return names


def mentioned(node: ast.AST) -> set[str]:
    """Every plain name in it."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what it holds, without what stands inside functions and classes."""
    yield node
    if not isinstance(node, _INNER):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def rename(text: str, names: Mapping[str, str]) -> str:
    """The text with names changed (old -> new), wherever they stand for a variable.

    Raises:
        CannotRename: one of them is also a parameter, an attribute of a class, or the like; it is
            the exception's argument.
    """
    if not names:
        return text
    tree = ast.parse(text)
    for name in names:
        if _otherwise_used(tree, name):
            raise CannotRename(name)
    spots = [spot for node in ast.walk(tree) for spot in _spots(node, names, text)]
    data = text.encode()
    for start, end, new in sorted(spots, reverse=True):
        data = data[:start] + new.encode() + data[end:]
    changed = data.decode()
    # Positions inside f-strings are not to be relied on: what came out is compared with the aim.
    if not _means(changed, _Renamed(names).visit(tree)):
        raise CannotRename(", ".join(names))
    return changed


def _means(text: str, tree: ast.AST) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(tree)
    except SyntaxError:
        return False


class _Renamed(ast.NodeTransformer):
    """The tree as it has to be afterwards."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Name):
            node.id = self.names.get(node.id, node.id)
        elif isinstance(node, ast.Module):
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    statement.name = self.names.get(statement.name, statement.name)
        return super().generic_visit(node)


def _otherwise_used(tree: ast.Module, name: str) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names = {n for statement in node.body for n in bound_names(statement)}
            names |= {node.name} if node not in tree.body else set()
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {node.name} if node not in tree.body else set()
        elif isinstance(node, ast.arg):
            names = {node.arg}
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names = set(node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = bound_names(node)
        elif isinstance(node, ast.alias):
            continue  # its statement has been asked
        else:  # `except E as name`, `case name`
            names = {getattr(node, field, "") for field in ("name", "rest")}
        if name in names:
            return True
    return False


def _spots(node: ast.AST, names: Mapping[str, str], text: str) -> Iterator[tuple[int, int, str]]:
    """Where the node spells one of the names: first byte, last byte, the new name."""
    if isinstance(node, ast.Name) and node.id in names:
        start = _offset(text, node.lineno, node.col_offset)
        yield start, start + len(node.id.encode()), names[node.id]
    elif isinstance(node, ast.Module):
        for child in node.body:
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if child.name not in names:
                    continue
                start = _offset(text, child.lineno, child.col_offset)
                after = re.compile(rb"(?:async\s+)?(?:def|class)\s+").match(text.encode(), start)
                assert after
                yield after.end(), after.end() + len(child.name.encode()), names[child.name]


def cut(text: str, statements: Mapping[ast.stmt, str]) -> str:
    """The text without these statements and the comments right above them.

    Args:
        text: what the statements were parsed from.
        statements: each with what takes its place; '' for nothing.
    """
    data = text.encode()
    for statement in sorted(statements, key=lambda s: s.lineno, reverse=True):
        start, end = _span(text, statement)
        new = statements[statement]
        line_start = data.rfind(b"\n", 0, start) + 1
        line_end = data.find(b"\n", end) + 1 or len(data)
        alone = not data[line_start:start].strip()
        alone = alone and data[end:line_end].strip()[:1] in (b"", b"#")
        if not alone or (statement.col_offset and not new):
            data = data[:start] + (new or "pass").encode() + data[end:]
        elif new:
            data = data[:start] + new.encode() + data[end:]
        else:
            line_start = _with_comments(data, line_start)
            data = data[:line_start] + f"{_CUT}\n".encode() + data[line_end:]
    return _closed(data.decode())


def _with_comments(data: bytes, start: int) -> int:
    """Where the comment lines begin that stand right above."""
    while start:
        above = data.rfind(b"\n", 0, start - 1) + 1
        if not data[above:start].startswith(b"#"):
            break
        start = above
    return start


def _closed(text: str) -> str:
    """Each gap that a cut has left is as wide as the widest of the gaps it was made of."""

    def gap(match: re.Match[str]) -> str:
        return max(match[0].split(_CUT), key=len)

    return re.sub(rf"\n*(?:{_CUT}\n+)+", gap, text)


def _span(text: str, statement: ast.stmt) -> tuple[int, int]:
    """The first byte of a statement, its decorators included, and the one behind its last."""
    first = min([statement, *getattr(statement, "decorator_list", [])], key=lambda n: n.lineno)
    column = 0 if first is not statement else statement.col_offset
    assert statement.end_lineno is not None and statement.end_col_offset is not None
    start = _offset(text, first.lineno, column)
    return start, _offset(text, statement.end_lineno, statement.end_col_offset)


def _offset(text: str, line: int, column: int) -> int:
    """A position as the parser tells it (line from 1, column in bytes), in bytes from the start."""
    before = text.split("\n")[: line - 1]
    return len("".join(f"{part}\n" for part in before).encode()) + column
