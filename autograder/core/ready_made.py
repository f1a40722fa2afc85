"""Notice when learners' code calls the ready-made part of torch that the step asks for."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

from autograder.core.given import REFERENCE


@contextmanager
def watched(names: Sequence[str]) -> Iterator[list[str]]:
    """Inside, the list grows by each of `names` (dotted paths) that anyone but a given piece calls.

    The call need not stand in the learner's file: a subclass or a partial is called from the probe
    itself. It goes through: what it costs is decided elsewhere.
    """
    used: list[str] = []
    with ExitStack() as stack:
        for name in names:
            home, _, attribute = name.rpartition(".")
            module = importlib.import_module(home)
            original = getattr(module, attribute)
            note = functools.partial(_note, used, name)
            if isinstance(original, type):
                constructor = original.__dict__["__init__"]
                stack.enter_context(patch.object(original, "__init__", _noting(constructor, note)))
            else:
                stack.enter_context(patch.object(module, attribute, _noting(original, note)))
        yield used


def _noting(function: Callable[..., Any], note: Callable[[FrameType | None], None]) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        note(sys._getframe(1))
        return function(*args, **kwargs)

    del call.__wrapped__  # the way past the watch
    return call


def _note(used: list[str], name: str, frame: FrameType | None) -> None:
    while frame is not None and _package(frame) == "torch":
        frame = frame.f_back
    if name not in used and (frame is None or _package(frame) != REFERENCE):
        used.append(name)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]
