"""The code that is trained: the learner's own steps put together, the model answers, or another's.

Whatever it is, it is used through the names that the steps ask for, and through nothing else.
"""

from __future__ import annotations

import importlib
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from autograder.core.given import REFERENCE
from autograder.core.step import find_step
from autograder.core.trouble import Trouble
from autograder.desk.assemble import assemble
from autograder.desk.sources import Origin, parts

_FILE = "<the steps, put together>"
_HEADING = re.compile(r"# ---- step (\d+): ")


class Code:
    """The pieces of the steps up to one, as attributes: `code.make_model`, `code.run_epoch`, ..."""

    def __init__(self, module: ModuleType, text: str) -> None:
        self._module = module
        self._lines = text.splitlines()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Inside, an error of the pieces' own becomes one line that says where it is.

        Raises:
            Trouble: for an error that comes from one of the pieces. Other errors pass, and those of
                the system, such as a full disk, which are nobody's fault.
        """
        try:
            yield
        except (Trouble, OSError):
            raise
        except Exception as e:
            frames = [f for f in traceback.extract_tb(e.__traceback__) if f.filename == _FILE]
            if not frames:
                raise
            raise self._trouble(e, frames[-1]) from e

    def _trouble(self, error: Exception, frame: traceback.FrameSummary) -> Trouble:
        above = "\n".join(self._lines[: frame.lineno])
        steps = _HEADING.findall(above) or ["0"]
        message = (str(error).strip() or "-").splitlines()[0]
        kind = type(error).__name__
        facts = {"step": int(steps[-1]), "place": frame.name, "line": frame.line or "-"}
        return Trouble("code_stopped", kind=kind, message=message, **facts)


def load(origin: Origin, upto: str) -> Code:
    """The pieces of all steps up to the one of that slug.

    Args:
        origin: "mine": from the working folder; "solutions", "reference".
        upto: the last step's slug.

    Raises:
        Trouble: a file is missing, unfinished, or fails when it is loaded.
    """
    if origin == "reference":
        return Code(importlib.import_module(REFERENCE), "")
    steps = parts(find_step(upto), origin)
    text = assemble(steps)
    module = ModuleType("transformer")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    linecache.cache[_FILE] = (len(text), None, text.splitlines(keepends=True), _FILE)
    code = Code(module, text)
    with code.watched():
        exec(compile(text, _FILE, "exec"), vars(module))
    missing = [name for part in steps for name in part.step.exports if not hasattr(module, name)]
    for part in steps:
        if lost := [name for name in part.step.exports if name in missing]:
            raise Trouble("no_export", name=lost[0], step=part.step.number)
    return code
