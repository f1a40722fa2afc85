"""Looking on while training code runs that may be anybody's: counting, checking, stopping.

Batches and loss pass through here on their way into the code, so nothing has to be asked of it.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, Protocol

from autograder.core.trouble import Trouble

Phase = Literal["train", "valid"]


@dataclass
class Running:
    """A phase so far."""

    phase: Phase
    epoch: int
    batches: int = 0  # in all
    done: int = 0
    loss: float = 0.0  # summed over its tokens
    tokens: int = 0
    began: float = 0.0
    stopped: float = 0.0  # 0: it runs

    @property
    def per_token(self) -> float:
        """The loss per token so far."""
        return self.loss / max(self.tokens, 1)

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return (self.stopped or time.perf_counter()) - self.began

    @property
    def speed(self) -> float:
        """Tokens a second so far, padding not counted."""
        return self.tokens / max(self.seconds, 1e-9)


class Listener(Protocol):
    """Who is told how it goes."""

    def batch(self, running: Running) -> None:
        """One more batch is done (none yet, when a phase begins)."""

    def ended(self, running: Running) -> None:
        """A phase is done; validation's comes after training's."""

    def stopping(self) -> None:
        """The user wants to stop, and the epoch is being finished."""


class StopAfterEpoch(BaseException):
    """The user has asked to stop, and an epoch was finished and saved. No error: nothing in between
    should catch it."""


class Watch:
    """Wraps a loss and the batches of both phases; an epoch begins with its training batches."""

    def __init__(
        self, loss_compute: Callable[..., Any], listener: Listener, epoch: int = 0
    ) -> None:
        self.loss_compute = loss_compute
        self.listener = listener
        self.epoch = epoch  # that is running, or was done before
        self._running = Running("train", epoch)
        self._stop = False

    def __call__(self, x: Any, y: Any, norm: Any) -> Any:
        """Work out a batch's loss, as `SimpleLossCompute` does.

        Raises:
            Trouble: it is no number, or infinite.
        """
        result = self.loss_compute(x, y, norm)
        running = self._running
        running.loss += (loss := float(result[0]))
        running.tokens += int(norm)
        if not math.isfinite(loss):
            raise Trouble(
                "loss_not_finite", epoch=running.epoch, batch=running.done + 1, loss=str(loss)
            )
        return result

    def batches(self, phase: Phase, make: Callable[[], tuple[int, Iterator[Any]]]) -> Batches:
        """Something to go through once an epoch.

        Args:
            phase: what it is for.
            make: gives the number of batches, and the batches.
        """
        return Batches(self, phase, make)

    def begin(self, phase: Phase) -> Running:
        """A phase begins.

        Raises:
            StopAfterEpoch: it is training, and the user has asked to stop.
        """
        if phase == "train":
            if self._stop:
                raise StopAfterEpoch
            self.epoch += 1
        self._running = Running(phase, self.epoch, began=time.perf_counter())
        return self._running

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Inside, a first Ctrl-C lets the epoch end, and a second one stops at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            if self._stop:
                raise KeyboardInterrupt
            self._stop = True
            self.listener.stopping()

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


class Batches:
    """Batches that are made anew each time they are gone through, and looked on at."""

    def __init__(
        self, watch: Watch, phase: Phase, make: Callable[[], tuple[int, Iterator[Any]]]
    ) -> None:
        self._watch, self._phase, self._make = watch, phase, make

    def __iter__(self) -> Iterator[Any]:
        # Whether to stop is asked first: what draws random numbers comes after it.
        running = self._watch.begin(self._phase)
        running.batches, batches = self._make()
        self._watch.listener.batch(running)
        for batch in batches:
            yield batch
            running.done += 1
            self._watch.listener.batch(running)
        running.stopped = time.perf_counter()
        self._watch.listener.ended(running)
