"""One file that holds the pieces of several steps: which steps it has something of."""

from __future__ import annotations

import ast
from pathlib import Path

from autograder.core.step import Step, all_steps
from autograder.core.trouble import Trouble
from autograder.desk.editing import bound_names
from autograder.desk.workspace import read


def steps_in(path: Path) -> list[Step]:
    """The steps that a file defines at least one export of; an import is no definition.

    Raises:
        Trouble: it cannot be read, is not Python, or has something of no step.
    """
    try:
        tree = ast.parse(read(path))
    except (SyntaxError, ValueError):
        raise Trouble("whole_syntax", path=path) from None
    defined: set[str] = set()
    for statement in tree.body:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            defined |= bound_names(statement)
    steps = [step for step in all_steps() if defined & set(step.exports)]
    if not steps:
        raise Trouble("whole_empty", path=path)
    return steps
