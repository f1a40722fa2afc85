"""The languages that the kit speaks, and which of them a reader has."""

from __future__ import annotations

import os
from typing import Literal

Language = Literal["en", "ko"]

LANGUAGES: tuple[Language, ...] = ("en", "ko")

# The first of these that is set says which language the reader has.
_SETTINGS = ("AUTOGRADER_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def choose(option: str | None = None) -> Language:
    """The language to speak: as asked, as AUTOGRADER_LANG says, as the locale does, or English."""
    wanted = next((s for s in (option, *map(os.environ.get, _SETTINGS)) if s), "en")
    return next((name for name in LANGUAGES if wanted.lower().startswith(name)), "en")
