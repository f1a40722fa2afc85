"""Where the learner's files are: the nearest folder with exercises, here or further up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path

from autograder.authoring.docstrings import answer_in
from autograder.authoring.stubs import stub_of
from autograder.core.cells import NOTEBOOK
from autograder.core.step import Step, kit_file
from autograder.core.trouble import Trouble
from autograder.desk.notebook import code_in

_KIT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Workspace:
    """A folder with `exercises/stepNN/<slug>.py` in it."""

    root: Path

    def file(self, step: Step) -> Path:
        """The learner's Python file of a step; it may be missing, and the work in a notebook."""
        return self.root / "exercises" / step.name / f"{step.slug}.py"


def workspace(here: Path | None = None) -> Workspace:
    """The learner's working folder: the current folder or the nearest one above it that holds
    exercises, or else the checkout of the project that this kit runs from.

    Raises:
        Trouble: there is none.
    """
    here = (here or Path.cwd()).resolve()
    for folder in (here, *here.parents, *_checkout()):
        if any(folder.glob("exercises/step[0-9][0-9]")):
            return Workspace(folder)
    raise Trouble("no_workspace")


def _checkout() -> Iterator[Path]:
    """The folder that an editable kit lies in; an installed one carries its own exercises."""
    if not (_KIT / "_kit").exists():
        yield _KIT.parent


def stub(step: Step, lang: str = "en") -> str:
    """A step's file as a learner first gets it, with its docstrings in that language."""
    return stub_of(answer_in(step.solution, lang), step.number)


def companions(step: Step) -> Iterator[Path]:
    """The kit's own files that lie beside a stub: lessons, demo, test."""
    for name in ("README.md", "README.ko.md", "demo.py", f"test_{step.slug}.py"):
        yield kit_file("exercises", step.name, name)


def read(path: Path) -> str:
    """A Python file's text, in the encoding that it declares; of a notebook its code.

    Raises:
        Trouble: there is no such file, or it is no text.
    """
    try:
        if path.suffix == NOTEBOOK:
            return code_in(path.read_text(encoding="utf-8-sig"))
        return decode_source(path.read_bytes())
    except FileNotFoundError:
        raise Trouble("no_file", path=path) from None
    except (OSError, SyntaxError, ValueError) as e:  # no text, or no notebook
        reason = getattr(e, "strerror", None) or str(e)
        raise Trouble("unreadable", path=path, reason=reason) from None
