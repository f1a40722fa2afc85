"""A step or a language by its name, or the trouble that there is none; any trouble in words."""

from __future__ import annotations

from pathlib import Path

from autograder.core.speech import LANGUAGES, Language, choose
from autograder.core.step import NoSuchStep, Step, all_steps
from autograder.core.step import find_step as _find
from autograder.core.trouble import Trouble
from autograder.front.show import near
from autograder.front.wording import say


def find_step(name: str | int) -> Step:
    """The step of that name or number.

    Raises:
        Trouble: there is none.
    """
    try:
        return _find(name)
    except NoSuchStep:
        known = ", ".join(step.name for step in all_steps())
        raise Trouble("no_step", name=str(name), steps=known) from None


def has_check(step: Step, name: str) -> None:
    """Go on only where the step has a check of that name.

    Raises:
        Trouble: it has none.
    """
    names = [check.name for check in step.checks]
    if name not in names:
        raise Trouble("no_check", name=name, step=step.name, checks=", ".join(names))


def language(lang: str | None) -> Language:
    """The language to speak: as asked, or else as `choose` finds.

    Raises:
        Trouble: there is no such language.
    """
    if lang and lang not in LANGUAGES:
        raise Trouble("language", name=lang)
    return choose(lang)


def complaint(trouble: Trouble, lang: str) -> str:
    """What cannot be done, in words."""
    facts = {k: near(v) if isinstance(v, Path) else v for k, v in trouble.facts.items()}
    return say(f"cannot.{trouble.key}", lang, **facts)
