"""How a training is shown while it runs: a bar on a terminal, a line each epoch elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autograder.core.speech import Language
from autograder.front.wording import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from autograder.workshop.watch import Running


class Bars:
    """A listener of `autograder.workshop.watch` that has one bar, for what runs now."""

    def __init__(self, bars: Progress, lang: Language) -> None:
        self.bars, self.lang = bars, lang
        self._task: TaskID | None = None
        self._what = ""
        self._trained: Running

    def batch(self, running: Running) -> None:
        """One more batch is done (none yet, when a phase begins)."""
        what = say(f"training.{running.phase}", self.lang, epoch=running.epoch)
        facts = {"loss": f"{running.per_token:.3f}", "speed": f"{running.speed:,.0f}"}
        told = say("training.figures", self.lang, **facts) if running.done else ""
        self.show(what, running.done, running.batches, told)

    def ended(self, running: Running) -> None:
        """A phase is done: after validation, the epoch's figures stay."""
        if running.phase == "train":
            self._trained = running
            return
        facts = {
            "train": f"{self._trained.per_token:.3f}",
            "valid": f"{running.per_token:.3f}",
            "speed": f"{self._trained.speed:,.0f}",
            "seconds": f"{self._trained.seconds:.0f}",
        }
        self.line(say("training.epoch", self.lang, epoch=running.epoch, **facts))

    def stopping(self) -> None:
        """The user wants to stop, and the epoch is being finished."""
        self.line(say("training.stopping", self.lang))

    def show(self, what: str, done: int, total: int, told: str = "") -> None:
        """Something else, with a bar of its own."""
        if what != self._what or self._task is None:
            if self._task is not None:
                self.bars.remove_task(self._task)
            self._task, self._what = self.bars.add_task(what, total=total, told=told), what
        self.bars.update(self._task, completed=done, total=total, told=told)

    def line(self, text: str) -> None:
        """A line that stays."""
        self.bars.console.print(text, markup=False)


@contextmanager
def training_bars(lang: Language) -> Iterator[Bars]:
    """Inside, the terminal shows a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(highlight=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}", markup=False),
    )
    shown = console.is_terminal
    with Progress(*columns, console=console, disable=not shown, transient=True) as bars:
        yield Bars(bars, lang)
