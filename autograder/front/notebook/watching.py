"""`watch` in a notebook: a step's demo, run on the learner's live objects, and its picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from autograder.core.step import Step, kit_file
from autograder.front.notebook.here import in_words, is_validating, live
from autograder.front.notebook.newest import failed_since
from autograder.front.troubles import find_step
from autograder.front.wording import say, texts

if TYPE_CHECKING:  # it imports torch
    from autograder.core.live import Live


def watch(step: str | int, *, lang: str | None = None) -> None:
    """Show what the learner's code of a step does: the demo's lines, and a picture if it has one.

    It runs in this process, at the demo's own sizes, and leaves the settings of torch and all
    random numbers as they were. While nbgrader validates a notebook nobody looks, and nothing runs.

    Args:
        step: "step04", 4, "4" or "feed_forward".
        lang: "en" or "ko"; None as AUTOGRADER_LANG or the locale says.

    Raises:
        CannotCheck: there is no such step, or the kit has a fault.
    """
    if is_validating():
        return
    frame = sys._getframe(1)
    with in_words(lang) as speech:
        found = find_step(step)
        subject = live(frame)
        for line in failed_since(found.exports, subject, speech):
            print(line)
        missing = [name for name in found.exports if name not in subject.namespace]
        if missing:
            print(say("watch.missing", speech, name=missing[0]))
        else:
            _watch(found, subject, speech)


def _watch(step: Step, subject: Live, lang: str) -> None:
    from autograder import demo
    from autograder.core.settings import undisturbed

    mine = ModuleType(step.slug)
    mine.__dict__.update({k: v for k, v in subject.namespace.items() if not k.startswith("__")})
    with undisturbed():
        shown = demo.load_file(kit_file("exercises", step.name, "demo.py"), f"{step.name}_demo")
        lines = {**shown.TEXTS[lang], **_endings(step, lang)}
        options = argparse.Namespace(**getattr(shown, "SIZES", {}))

        def place(error: Exception) -> tuple[str, int | None]:
            return _place(error, subject, lang)

        done = demo.perform(lambda: mine, shown.show, options, demo.saying(lines), place)
        if done and hasattr(shown, "picture"):
            from autograder.front.notebook import pictures

            pictures.show(shown, step, mine, lang)


def _endings(step: Step, lang: str) -> dict[str, str]:
    """What is said where a demo stops, by the names that `demo.COMMON` has for it."""
    endings = {name: texts()[f"watch.{name}"][lang] for name in ("unfinished", "broken", "outside")}
    more = say("watch.check", lang, step=step.name)
    return endings | {name: f"{endings[name]}\n{more}" for name in ("broken", "outside")}


def _place(error: Exception, subject: Live, lang: str) -> tuple[str, int | None]:
    """The cell, or the script, and the line in it."""
    seen = subject.subject().raised(error)
    if seen.cell is not None:
        return say("word.execution", lang, cell=seen.cell), seen.line
    return Path(subject.filename).name, seen.line
