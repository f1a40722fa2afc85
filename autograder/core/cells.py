"""A notebook's code run cell by cell, as Jupyter would, but without a kernel."""

from __future__ import annotations
import __future__

import ast
import json
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

NOTEBOOK = ".ipynb"

_PYTHON = ("%%time", "%%capture", "%%prun")  # what follows them in the cell is run as it stands
_MAGIC = re.compile(r"(\s*)(?:[%!?].*|[\w.]+\?{1,2}\s*)")
_TIMED = re.compile(r"(\s*)%time\s+(.+)")
_TAKEN = re.compile(r"(\s*[\w, ]+=\s*)[%!].*")  # files = !ls
_DEFINITION = re.compile(r"^(async\s+def|def|class)\s", re.MULTILINE)
_KIT = "autograder"
_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_ANNOTATIONS = __future__.annotations.compiler_flag


class NoNotebook(ValueError):
    """The file is not what a notebook has to be."""


@dataclass(frozen=True)
class Cell:
    """A cell of code; counted are those that Jupyter numbers when all are run: the non-empty."""

    number: int
    text: str


@dataclass(frozen=True)
class Failure:
    """What stopped a cell."""

    cell: Cell
    error: BaseException

    def defines(self, name: str) -> bool:
        """Whether the cell would have defined that name."""
        pattern = rf"^\s*((async\s+)?def|class)\s+{name}\b|^{name}\s*(:.*)?="
        return re.search(pattern, self.cell.text, re.MULTILINE) is not None


def filename(notebook: str, cell: int) -> str:
    """What the code of a cell is compiled under."""
    return f"{notebook}#{cell}"


def cell_of(code: str, notebook: str) -> int | None:
    """The number of the cell that is compiled under `code`; None where that is something else."""
    home, _, number = code.rpartition("#")
    return int(number) if home == notebook and re.fullmatch(r"\d{1,6}", number) else None


def run_cells(text: str, name: str, module: ModuleType) -> list[Failure]:
    """Run the notebook's cells in the module, where learners' code may run.

    What stops one does not stop the next.

    Magics and shell lines do nothing, nor does what is imported from the kit. Cells that check
    (those that nbgrader grades, and in which nothing is defined) are not run.

    Raises:
        NoNotebook: `text` is none.
    """
    space = module.__dict__
    nothing = _Nothing()
    space.update(__name__="__main__", display=print, get_ipython=nothing, __kit__=nothing)
    sys.modules["__main__"] = module
    failures = []
    future = 0  # what a cell imports from there holds for those below it, too
    for cell in list(code_cells(text)):
        try:
            code = _compiled(cell, filename(name, cell.number), future)
            future |= code.co_flags & _ANNOTATIONS
            _execute(code, space)
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            failures.append(Failure(cell, e))
            with suppress(BaseException):  # it may fail to print itself
                _show(cell, e)
    return failures


def code_cells(text: str) -> Iterator[Cell]:
    """The cells to run, in order.

    Raises:
        NoNotebook: there is something else in the text.
    """
    try:
        book = json.loads(text)
        sheets = book.get("worksheets", [book])  # format 3 has some
        number = 0
        for cell in (c for sheet in sheets for c in sheet["cells"] if c["cell_type"] == "code"):
            source = cell["source"] if "source" in cell else cell["input"]
            lines = source if isinstance(source, str) else "".join(source)
            number += bool(lines.strip())
            if lines.strip() and not _checks(cell.get("metadata", {}), lines):
                yield Cell(number, lines)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise NoNotebook(f"{type(e).__name__}: {e}"[:200]) from None


def _checks(metadata: dict[str, Any], text: str) -> bool:
    """Whether the cell holds tests, and nothing that the learner has written.

    (Who copies such a cell to write an answer into it copies what nbgrader knows of it, too.)
    """
    told = metadata.get("nbgrader")
    if not isinstance(told, dict) or told.get("solution"):
        return False
    return bool(told.get("grade")) and not _DEFINITION.search(text)


def _compiled(cell: Cell, name: str, future: int) -> CodeType:
    text = plain(cell.text)
    lines = text.splitlines(keepends=True)
    linecache.cache[name] = (len(text), None, lines, name)
    tree = _WithoutKit().visit(ast.parse(text, name))
    whole = ast.fix_missing_locations(tree)
    code: CodeType = compile(whole, name, "exec", flags=future | _AWAIT, dont_inherit=True)
    return code


def _execute(code: CodeType, space: dict[str, Any]) -> None:
    """Run a cell; an `await` in it goes on at once, since nothing else is running."""
    awaiting = eval(code, space)
    with suppress(StopIteration):
        while awaiting is not None:
            awaiting.send(None)


def from_kit(node: ast.stmt) -> list[ast.alias]:
    """What a statement imports from the kit."""
    if isinstance(node, ast.ImportFrom):
        own = not node.level and (node.module or "").split(".")[0] == _KIT
        return node.names if own else []
    names = node.names if isinstance(node, ast.Import) else []
    return [alias for alias in names if alias.name.split(".")[0] == _KIT]


def plain(text: str) -> str:
    """The cell as Python, line by line: magics, shell lines and questions do nothing.

    Where it is no Python even so, it is left as it is from there on.
    """
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines and lines[first].startswith("%%"):
        if lines[first].split()[0] not in _PYTHON:
            return ""
        lines[first] = ""
    while True:
        try:
            ast.parse("\n".join(lines))
        except SyntaxError as e:
            at = (e.lineno or 0) - 1
            if not (0 <= at < len(lines) and _done_without(lines, at)):
                return "\n".join(lines)
        else:
            return "\n".join(lines)


def _done_without(lines: list[str], at: int) -> bool:
    """Put Python in the place of a line that is none; False if it is nothing of Jupyter's."""
    line = lines[at]
    if timed := _TIMED.fullmatch(line):
        lines[at] = timed[1] + timed[2]
    elif taken := _TAKEN.fullmatch(line):
        lines[at] = f"{taken[1]}None"
    elif magic := _MAGIC.fullmatch(line):
        lines[at] = f"{magic[1]}pass"
    else:
        return False
    while line.endswith("\\") and at + 1 < len(lines):
        at += 1
        line, lines[at] = lines[at], ""
    return True


class _WithoutKit(ast.NodeTransformer):
    """What is imported from the kit does nothing: a check cell is no part of the work."""

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.AST]:
        own = from_kit(node)
        rest = [a for a in node.names if a not in own]
        names = [a.asname or _KIT for a in own]
        kept: list[ast.AST] = [ast.copy_location(ast.Import(rest), node)] if rest else []
        return [*kept, *(_bound(name, node) for name in names)] if own else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.AST]:
        if not from_kit(node):
            return node
        names = [a.asname or a.name for a in node.names if a.name != "*"]
        return [_bound(name, node) for name in names] or ast.copy_location(ast.Pass(), node)


def _bound(name: str, node: ast.AST) -> ast.AST:
    value = ast.Name("__kit__", ast.Load())
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), node)


class _Nothing:
    """Whatever is done with it, nothing happens."""

    def __getattr__(self, name: str) -> _Nothing:
        return self

    def __call__(self, *args: object, **kwargs: object) -> _Nothing:
        return self


def _show(cell: Cell, error: BaseException) -> None:
    """Tell it where a notebook would: in what is printed."""
    print(f"[{cell.number}] {type(error).__name__}", end="", file=sys.stderr)
    print(f": {error}", file=sys.stderr)
