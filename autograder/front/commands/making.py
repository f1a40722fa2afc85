"""`autograder init`, `assemble` and `regenerate`: make files."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from autograder.core.trouble import Trouble
from autograder.desk.init import init as make_folder
from autograder.desk.sources import Origin
from autograder.front.commands.shared import PASSED, Lang, step_names
from autograder.front.troubles import find_step, language
from autograder.front.wording import say


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder, or an empty one")],
    lang: Lang = None,
) -> int:
    """Make a folder to work in: the exercises of all steps, ready for pytest."""
    speech = language(lang)
    steps = make_folder(folder, speech)
    print(say("init.made", speech, path=str(folder), steps=len(steps)))
    print(say("init.next", speech, folder=shlex.quote(str(folder)), step=steps[0].name))
    return PASSED


def assemble(
    upto: Annotated[
        str, typer.Option(metavar="STEP", help="the last step in it", autocompletion=step_names)
    ],
    origin: Annotated[
        Origin, typer.Option("--from", help="whose code: your own, or another's")
    ] = "mine",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write it there instead of showing it")
    ] = None,
    lang: Lang = None,
) -> int:
    """Put the code of all steps up to one into one file that can be imported alone."""
    speech = language(lang)
    last = find_step(upto)
    from autograder.desk.alone import prove
    from autograder.desk.assemble import HEAD
    from autograder.desk.assemble import assemble as put_together
    from autograder.desk.sources import parts as parts_from

    parts = parts_from(last, origin)
    text = put_together(parts, speech)
    prove(text, [export for part in parts for export in part.step.exports])
    if out:
        _write(out, text, HEAD)
    else:
        print(text, end="")
    total = text.count("\n")
    earlier = [part for part in parts if part.step is not last]
    before = put_together(earlier, speech).count("\n") if earlier else 0
    said = say("assembled", speech, step=last.name, lines=total - before, total=total)
    print(said, file=None if out else sys.stderr)
    return PASSED


def _write(path: Path, text: str, head: str) -> None:
    """Write what was put together; nothing but an earlier such file is written over."""
    try:
        if path.exists() and not path.read_bytes().startswith(head.encode()):
            raise Trouble("exists", path=path)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as e:
        raise Trouble("unwritable", path=path, reason=e.strerror or str(e)) from None


def regenerate(lang: Lang = None) -> int:
    """Make anew what is generated: stubs, the record of checks and more (in a checkout)."""
    speech = language(lang)
    from autograder.authoring.generated import regenerate as write_stale
    from autograder.core.step import all_steps

    root = checkout()
    written = write_stale(root, all_steps())
    for path in written:
        print(say("made.wrote", speech, path=path.relative_to(root)))
    if not written:
        print(say("made.fresh", speech))
    return PASSED


def checkout() -> Path:
    """The checkout of the project that this kit runs from (Trouble if it is an installed one)."""
    root = Path(__file__).parents[3]
    if not (root / "solutions").is_dir() or not (root / "exercises").is_dir():
        raise Trouble("checkout")
    return root
