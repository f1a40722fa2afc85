"""Cells that ended in an error where they would have defined a name: what is there is older."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from autograder.front.notebook.here import shell
from autograder.front.wording import say

if TYPE_CHECKING:  # it imports torch
    from autograder.core.live import Live

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def failed_since(names: Collection[str], subject: Live, lang: str) -> Iterator[str]:
    """A line for each of the names whose newest definition ended in an error.

    It is told from what IPython has kept of the cells, `In`; where that is not known, nothing is.
    """
    cells = _run_before()
    for name in names:
        last = _last_definition(name, cells)
        if last is None:
            continue
        if name not in subject.namespace:
            yield say("notebook.failed", lang, name=name, cell=last)
            continue
        origin = _origin(subject.namespace[name], subject.cells)
        if origin is not None and origin < last:
            yield say("notebook.older", lang, name=name, cell=last, origin=origin)


def _run_before() -> Sequence[str]:
    """The texts of all cells that were run before this one, each at its number."""
    here = shell()
    texts = here.user_ns.get("In") if here is not None else None
    if not isinstance(texts, list):
        return ()
    now = here.execution_count
    # After %reset the list begins anew, and the numbers do not.
    return [str(text) for text in texts[:now]] if len(texts) in (now, now + 1) else ()


def _last_definition(name: str, cells: Sequence[str]) -> int | None:
    """The number of the last cell that would define it; None where something else may have."""
    for number in reversed(range(len(cells))):
        text = cells[number]
        if name not in text:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            if re.search(rf"^((async\s+)?def|class)\s+{name}\b", text, re.MULTILINE):
                return number
            continue
        sure = [n for n in tree.body if isinstance(n, _DEFINITIONS) and n.name == name]
        bound = list(_bound(tree)).count(name)
        if bound:
            return number if bound == len(sure) else None
    return None


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names that are bound anywhere in it, each as often as it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, _DEFINITIONS):
            yield node.name


def _origin(found: Any, cells: Mapping[str, int]) -> int | None:
    """The cell that the object's code came from, its newest; None if it came from elsewhere."""
    numbers = []
    for part in vars(found).values() if isinstance(found, type) else [found]:
        with suppress(Exception):  # anything may stand there
            numbers.append(cells[inspect.unwrap(part).__code__.co_filename])
    return max(numbers, default=None)
