"""Import statements of several files as one block at the top of one."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable

from autograder.authoring.docstrings import LINE_LENGTH


def merged(imports: Iterable[ast.Import | ast.ImportFrom]) -> list[str]:
    """Blocks of import lines: from the future, of Python's own modules, of other packages."""
    plain: set[str] = set()
    sources: defaultdict[str, set[str]] = defaultdict(set)
    for statement in imports:
        words = {ast.unparse(alias) for alias in statement.names}
        if isinstance(statement, ast.Import):
            plain |= words
        else:
            sources["." * statement.level + (statement.module or "")] |= words
    lines = [(name, f"import {name}") for name in sorted(plain)]
    lines += [(name, _from(name, sorted(sources[name]))) for name in sorted(sources)]
    blocks: defaultdict[int, list[str]] = defaultdict(list)
    for name, line in lines:
        package = name.split()[0].split(".")[0]
        own = package in sys.stdlib_module_names
        blocks[0 if package == "__future__" else 1 if own else 2].append(line)
    return ["\n".join(blocks[group]) for group in sorted(blocks)]


def _from(source: str, names: list[str]) -> str:
    line = f"from {source} import {', '.join(names)}"
    if len(line) <= LINE_LENGTH:
        return line
    return f"from {source} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
