"""The code under examination, loaded: a learner's file, the reference, or a mistaken variant."""

from __future__ import annotations

import difflib
import linecache
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from autograder.core.cells import NOTEBOOK, Failure, cell_of, run_cells
from autograder.core.compare import kind_of
from autograder.core.observation import Raised, see
from autograder.core.source import Source


class Unreadable(Exception):
    """It could not be seen which weight does what; `reason` and `facts` are what was seen."""

    def __init__(self, reason: str, **facts: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.facts = facts


class Unusable(Exception):
    """An export that cannot be probed: `problem` names the reason in the message catalogue."""

    def __init__(self, problem: str, **facts: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.facts = facts


class Subject:
    """Exports by name (`subject.attention`), and what the probes noted about them.

    `memo` keeps maps of weights that were read; `terms` what the subject was found to lack. The
    exports in `allowed` may be torch's own. `failures` are the cells of a notebook that stopped.
    """

    missing = "missing"  # the problem that a name is not there

    def __init__(
        self,
        namespace: Mapping[str, Any],
        label: str,
        allowed: Sequence[str] = (),
        failures: Sequence[Failure] = (),
    ) -> None:
        self._namespace = namespace
        self._allowed = allowed
        self._failures = failures
        self.label = label
        self.memo: dict[Any, Any] = {}
        self.terms: dict[str, list[str]] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._namespace:
            for failure in self._failures:
                if failure.defines(name):
                    raise failure.error
            close = difflib.get_close_matches(name, self._own_names(), n=1, cutoff=0.6)
            problem = f"{self.missing}_close" if close else self.missing
            raise Unusable(problem, export=name, close="".join(close))
        found = self._namespace[name]
        home = str(getattr(found, "__module__", ""))
        if name not in self._allowed and home.split(".")[0] == "torch":
            raise Unusable("ready_made", export=name, found=getattr(found, "__qualname__", home))
        if not callable(found):
            raise Unusable("not_callable", export=name, kind=type(found).__name__)
        return found

    def raised(self, error: BaseException) -> Raised:
        """The error as it is observed (see `raised`)."""
        return raised(error, self.label)

    def _own_names(self) -> list[str]:
        return [k for k, v in self._namespace.items() if callable(v) and not k.startswith("_")]


def ordinary(value: object) -> None:
    """Let an ordinary tensor pass.

    Raises:
        Unusable: it is something else, and says what.
    """
    seen = see(value)
    if not isinstance(seen, Tensor):
        raise Unusable("not_tensor", kind=kind_of(seen))


def trusted(source: Source, label: str) -> Subject:
    """The kit's own text (the solution, or a misconception of it), executed here and now."""
    module = ModuleType(label)
    exec(compile(source.text, source.filename, "exec", dont_inherit=True), module.__dict__)
    return Subject(module.__dict__, label)


def load(source: Source, name: str, allowed: Sequence[str] = ()) -> Subject:
    """Execute a learner's text as a module called `name`; only where learners' code may run.

    Whatever the text raises is let through; `raised` turns it into an observation.
    """
    module = ModuleType(name)
    module.__file__ = source.filename
    sys.modules[name] = module
    folder = str(Path(source.filename).parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: a helper file is found, a standard module is never shadowed
    if source.filename.endswith(NOTEBOOK):
        failures = run_cells(source.text, source.filename, module)
        return Subject(module.__dict__, source.filename, allowed, failures)
    lines = source.text.splitlines(keepends=True)
    linecache.cache[source.filename] = (len(source.text), None, lines, source.filename)
    exec(compile(source.text, source.filename, "exec", dont_inherit=True), module.__dict__)
    return Subject(module.__dict__, source.filename, allowed)


def raised(error: BaseException, filename: str, cells: Mapping[str, int] | None = None) -> Raised:
    """The error as it is observed: with the innermost line of `filename` it passed through, if any.

    Of a notebook it is a line of one of its cells: those of that file, or `cells`, the numbers of
    cells by the name that their code is compiled under.
    Nothing that the learner's class says about itself is trusted to be what it should be.
    """

    def cell(code: object) -> int | None:
        number = cells.get(str(code)) if cells else None
        return cell_of(str(code), filename) if number is None else number

    def is_own(code: object) -> bool:
        return isinstance(code, str) and (code == filename or cell(code) is not None)

    kind = _clean(type.__dict__["__name__"].__get__(type(error)), 200)
    if isinstance(error, SyntaxError) and is_own(error.filename):
        line = error.lineno if isinstance(error.lineno, int) else None
        code = _clean(error.text, 200).strip()
        return Raised(kind, _clean(error.msg, 1000), line, code, cell=cell(error.filename))
    message = _text_of(error)
    frame, step = None, error.__traceback__
    while step is not None:
        if is_own(step.tb_frame.f_code.co_filename):
            frame = step
        step = step.tb_next
    if frame is None:
        return Raised(kind, message)
    home = frame.tb_frame.f_code.co_filename
    code = _clean(linecache.getline(home, frame.tb_lineno).strip(), 200)
    function = _clean(frame.tb_frame.f_code.co_name, 200)
    return Raised(kind, message, frame.tb_lineno, code, function, cell(home))


def _text_of(error: BaseException) -> str:
    try:
        return _clean(str(error), 1000)
    except BaseException:  # a learner's exception may fail to print itself
        return ""


def _clean(text: object, longest: int) -> str:
    """At most `longest` characters, as a plain str that UTF-8 can hold; '' for what is no str."""
    if not isinstance(text, str):
        return ""
    return str.__getitem__(text, slice(longest)).encode("utf-8", "backslashreplace").decode()
