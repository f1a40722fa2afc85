"""Where a learner sits: whose names are looked at, how things are shown and complaints made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from autograder.core.speech import Language, choose
from autograder.core.trouble import Trouble
from autograder.front.troubles import complaint, language
from autograder.front.wording import tell_fault

if TYPE_CHECKING:  # it imports torch
    from autograder.core.live import Live


class InWords(Exception):
    """Its words are all there is to tell: IPython shows them in the place of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


class NotPassed(InWords):
    """A graded cell whose check earns nothing."""


class CannotCheck(InWords):
    """What was asked for cannot be done; no judgement on anybody's code."""


def live(frame: FrameType) -> Live:
    """The objects of whoever calls: IPython's namespace, or the globals of that frame."""
    from autograder.core.live import Live

    here = shell()
    if here is not None:
        # A private detail of IPython's; without it errors are told without their line.
        cells = getattr(getattr(here, "compile", None), "_filename_map", None)
        return Live("", "", namespace=here.user_ns, cells=cells if isinstance(cells, dict) else {})
    file = frame.f_code.co_filename
    return Live("", file if os.path.isfile(file) else "", namespace=frame.f_globals)


def shell() -> Any:
    """IPython's shell, in a notebook or a terminal; None where there is none."""
    loaded = sys.modules.get("IPython")
    return loaded.get_ipython() if loaded is not None else None


def is_validating() -> bool:
    """Whether it is nbgrader's Validate that runs the cells."""
    return os.environ.get("NBGRADER_EXECUTION") == "validate"


def present(html: str, text: str) -> None:
    """Show something: as HTML where that can be shown, else as text."""
    if shell() is None:
        print(text)
        return
    from IPython.display import display

    display({"text/html": html, "text/plain": text}, raw=True)


@contextmanager
def in_words(lang: str | None) -> Iterator[Language]:
    """The language to speak; whatever stops the kit inside is told in it, without a traceback.

    Raises:
        CannotCheck: something cannot be done, or the kit has a fault.
    """
    speech = choose(lang)
    try:
        yield language(lang)
    except InWords:
        raise
    except Trouble as e:
        raise CannotCheck(complaint(e, speech)) from None
    except Exception as e:
        if os.environ.get("AUTOGRADER_DEBUG"):
            raise
        raise CannotCheck(tell_fault(e, speech)) from None
