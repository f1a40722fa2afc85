"""`autograder data`: the data sets that the course trains on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.core.speech import Language
from autograder.front.commands.shared import PASSED, Lang
from autograder.front.show import near
from autograder.front.troubles import language
from autograder.front.wording import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from autograder.workshop.fetch import Progress

app = typer.Typer(help="Get the data that the translator is trained on.", rich_markup_mode=None)

DataDir = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="a folder that holds the files (or set MULTI30K_DIR)"),
]


@app.callback()
def _data() -> None:
    """One of several data sets, once there is another."""


@app.command()
def multi30k(data_dir: DataDir = None, lang: Lang = None) -> int:
    """Download Multi30k into your cache, or see whether a folder holds it. About 1.3 MB."""
    speech = language(lang)
    from autograder.workshop import multi30k as data

    print(say("data.licence", speech))
    folder = data.own_folder(data_dir)
    if folder is None:
        with _bars(speech) as announce:
            folder = data.get(announce)
    else:
        data.verify(folder)
    print(say("data.whole", speech, path=near(folder), files=len(data.SUMS)))
    named = f" --data-dir {shlex.quote(str(data_dir))}" if data_dir else ""
    print(say("data.next", speech, named=named))
    return PASSED


@contextmanager
def _bars(lang: Language) -> Iterator[Callable[[str], Progress]]:
    """A bar for each file on a terminal, a line for each elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(highlight=False, soft_wrap=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Bars(*columns, console=console, disable=not console.is_terminal) as bars:

        def announce(name: str) -> Progress:
            if not console.is_terminal:
                print(say("data.fetching", lang, name=name), flush=True)
            task = bars.add_task(name, total=None)
            return lambda received, total: bars.update(task, completed=received, total=total)

        yield announce
