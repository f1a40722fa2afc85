"""`autograder regenerate`: make files."""

from __future__ import annotations

from pathlib import Path

from autograder.desk.trouble import Trouble
from autograder.front.commands.shared import PASSED, Lang, language
from autograder.front.wording import say


def regenerate(lang: Lang = None) -> int:
    """Make the stubs anew from the model answers (in a checkout of the project)."""
    speech = language(lang)
    from autograder.authoring.stubs import regenerate as write_stale

    root = checkout()
    written = write_stale(root)
    for path in written:
        print(say("made.wrote", speech, path=str(path.relative_to(root))))
    if not written:
        print(say("made.fresh", speech))
    return PASSED


def checkout() -> Path:
    """The checkout of the project that this kit runs from (Trouble if it is an installed one)."""
    root = Path(__file__).parents[3]
    if not (root / "solutions").is_dir() or not (root / "exercises").is_dir():
        raise Trouble("checkout")
    return root
