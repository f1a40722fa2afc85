"""`autograder init` and `regenerate`: make files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from autograder.desk.init import init as make_folder
from autograder.desk.trouble import Trouble
from autograder.front.commands.shared import PASSED, Lang, language
from autograder.front.wording import say


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder, or an empty one")],
    lang: Lang = None,
) -> int:
    """Make a folder to work in: the exercises of all steps, ready for pytest."""
    speech = language(lang)
    steps = make_folder(folder)
    print(say("init.made", speech, path=str(folder), steps=len(steps)))
    print(say("init.next", speech, folder=shlex.quote(str(folder)), step=steps[0].name))
    return PASSED


def regenerate(lang: Lang = None) -> int:
    """Make anew what is generated, in a checkout of the project: stubs, and the record of checks."""
    speech = language(lang)
    from autograder.authoring import names, stubs
    from autograder.core.step import all_steps

    root = checkout()
    written = [str(path.relative_to(root)) for path in stubs.regenerate(root)]
    if names.record(root, all_steps()):
        written.append(names.RECORD)
    for path in written:
        print(say("made.wrote", speech, path=path))
    if not written:
        print(say("made.fresh", speech))
    return PASSED


def checkout() -> Path:
    """The checkout of the project that this kit runs from (Trouble if it is an installed one)."""
    root = Path(__file__).parents[3]
    if not (root / "solutions").is_dir() or not (root / "exercises").is_dir():
        raise Trouble("checkout")
    return root
