"""The code under examination, loaded: a learner's file, the reference, or a mistaken variant."""

from __future__ import annotations

import difflib
import importlib
import linecache
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.core.observation import Raised
from autograder.core.step import Step
from autograder.core.verdict import Finding


@dataclass(frozen=True)
class Source:
    """Python text and the name its lines are reported under; `problem` says why it is no text."""

    text: str
    filename: str
    problem: Finding | None = None

    @classmethod
    def read(cls, path: Path) -> Source:
        """The file's text, in UTF-8 or the encoding that its first lines declare.

        Raises:
            OSError: no such file, a folder, not readable.
        """
        data, name = path.read_bytes(), str(path)
        if b"\0" in data:
            return cls("", name, Finding("load.null", {"line": _line_at(data, data.index(b"\0"))}))
        try:
            return cls(decode_source(data), name)
        except UnicodeDecodeError as e:
            return cls("", name, Finding("load.encoding", {"line": _line_at(data, e.start)}))
        except SyntaxError:  # the declared encoding is unknown, or the first lines are not in it
            return cls("", name, Finding("load.encoding", {"line": 1}))


def _line_at(data: bytes, position: int) -> int:
    return data[:position].count(b"\n") + 1


class Unusable(Exception):
    """An export that cannot be probed: `problem` names the reason in the message catalogue."""

    def __init__(self, problem: str, **facts: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.facts = facts


class Subject:
    """Exports by name (`subject.attention`), and what the probes noted about them.

    `memo` keeps maps of weights that were read; `terms` what the subject was found to lack.
    """

    def __init__(self, namespace: Mapping[str, Any], label: str) -> None:
        self._namespace = namespace
        self.label = label
        self.memo: dict[Any, Any] = {}
        self.terms: dict[str, list[str]] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._namespace:
            close = difflib.get_close_matches(name, self._own_names(), n=1, cutoff=0.6)
            raise Unusable("missing_close" if close else "missing", export=name, close="".join(close))
        found = self._namespace[name]
        home = str(getattr(found, "__module__", ""))
        if home == "torch" or home.startswith("torch."):
            raise Unusable("ready_made", export=name, found=getattr(found, "__qualname__", home))
        if not callable(found):
            raise Unusable("not_callable", export=name, kind=type(found).__name__)
        return found

    def _own_names(self) -> list[str]:
        return [k for k, v in self._namespace.items() if callable(v) and not k.startswith("_")]


def reference(step: Step) -> Subject:
    """The reference package's piece."""
    module = importlib.import_module(f"transformer_ref.{step.slug}")
    return Subject(vars(module), "reference")


def trusted(source: Source, label: str) -> Subject:
    """The kit's own text (the solution, or a misconception of it), executed here and now."""
    module = ModuleType(label)
    exec(compile(source.text, source.filename, "exec"), module.__dict__)
    return Subject(module.__dict__, label)


def load(source: Source, name: str) -> Subject:
    """Execute a learner's text as a module called `name`. Only ever called where learners' code runs.

    Whatever the text raises is let through; `raised` turns it into an observation.
    """
    module = ModuleType(name)
    module.__file__ = source.filename
    sys.modules[name] = module
    folder = str(Path(source.filename).parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: a helper file is found, a standard module is never shadowed
    lines = source.text.splitlines(keepends=True)
    linecache.cache[source.filename] = (len(source.text), None, lines, source.filename)
    exec(compile(source.text, source.filename, "exec"), module.__dict__)
    return Subject(module.__dict__, source.filename)


def raised(error: BaseException, filename: str) -> Raised:
    """The error as it is observed: with the innermost line of `filename` it passed through, if any."""
    kind, message = type(error).__name__, _text_of(error)
    if isinstance(error, SyntaxError):
        return Raised(kind, error.msg or "", error.lineno, (error.text or "").strip()[:200])
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
    if not own:
        return Raised(kind, message)
    frame = own[-1]
    return Raised(kind, message, frame.lineno, (frame.line or "")[:200], frame.name)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:1000]
    except BaseException:  # a learner's exception may fail to print itself
        return ""
