"""A toy training of several epochs that watches what is read, and what lies in its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.subject import Subject
from autograder.toys.checkpoints import Held
from autograder.toys.descent import Descent, Schedule
from autograder.toys.training import Learner, Level, Loss, Sentences, sentences, weights

KEYS = ("model", "optimizer", "scheduler", "epoch", "history", "rng")  # what last.pt holds

_SIZES = ((3, 6), (4, 5), (2, 8))  # rows and target length of each batch


class Stop(RuntimeError):
    """The training was made to break off."""


class Training:
    """What train_model is called with: drawn the same every time, but for what is asked for.

    Args:
        draw: where weights and batches come from.
        dropout: of the model.
        shuffled: whether each epoch takes the batches in an order from torch's default generator.
        factors: what the rate is multiplied by in each epoch; falling if none are given.
        weights: a name that other weights are drawn by.
        stop_at: the epoch in which it breaks off.
        folder: where to look for `last.pt` at the start of each epoch.
        counted: whether the batches say how many they are.
        level: whether the losses that are told are the same in all epochs.
    """

    def __init__(
        self,
        draw: Draw,
        *,
        dropout: float = 0.0,
        shuffled: bool = False,
        factors: Sequence[float] = (),
        weights: str = "",
        stop_at: int = 0,
        folder: Path | None = None,
        counted: bool = True,
        level: bool = False,
    ) -> None:
        self.model = Learner(draw, dropout)
        if weights:
            for i, p in enumerate(self.model.parameters()):
                p.data = draw.normal(f"{weights}/{i}", *p.shape)
        self.loss = (Level if level else Loss)(self.model.generator)
        self.optimizer = Descent(self.model.parameters(), lr=0.3, momentum=0.5)
        self.scheduler = Schedule(self.optimizer, _rate(factors))
        batches = [sentences(draw, f"batch {i}", *size) for i, size in enumerate(_SIZES)]
        self.train = _Batches(self, batches, shuffled)
        # Part of the same: what is learned shows, and it is another loss.
        self.valid = _Valid(self, batches[:2], shuffled)
        self.starts: list[tuple[str, int]] = []  # whose batches are gone through from which call on
        self.stop_at, self.folder, self.counted = stop_at, folder, counted
        self.found: list[Any] = []  # the epoch in last.pt, at the start of each epoch
        self.begun: list[Tensor] = []  # the weights at the start of each epoch
        self.reached: list[Tensor] = []  # the weights at the end of each epoch
        self.held: dict[str, Held] = {}  # the files that are there after the first epoch

    def run(self, subject: Subject, folder: Path | str, epochs: int, **options: Any) -> Any:
        """Call train_model."""
        tools = (self.loss, self.optimizer, self.scheduler)
        sides: Any = (self.train, self.valid)
        if not self.counted:
            sides = map(_Uncounted, sides)
        return subject.train_model(self.model, *sides, *tools, epochs, folder, **options)

    @property
    def weights(self) -> Tensor:
        """The model's weights, in one row."""
        return weights(self.model)

    def modes(self, side: str) -> list[str]:
        """In which modes the model met the batches of one side."""
        ends = [start for _, start in self.starts[1:]] + [len(self.model.passes)]
        met = [
            p.training
            for (of, start), end in zip(self.starts, ends, strict=True)
            if of == side
            for p in self.model.passes[start:end]
        ]
        return sorted({"train" if training else "eval" for training in met})

    def passes(self, side: str) -> int:
        """How often the batches of one side were gone through."""
        return (self.train if side == "train" else self.valid).passes

    def epoch_of(self, found: Tensor | None) -> int:
        """The epoch, from 1 on, at whose end the weights were these; 0: none, -1: no file."""
        if found is None:
            return -1
        numbers = range(len(self.reached), 0, -1)
        return next((n for n in numbers if torch.equal(self.reached[n - 1], found)), 0)

    def look(self) -> None:
        """At the start of an epoch: see what last.pt holds, keep hold of files, or break off."""
        self.begun.append(self.weights)
        if self.stop_at and self.train.passes == self.stop_at:
            self._note()
            raise Stop
        if self.folder is not None:
            self._note()
            if self.train.passes == 2:
                paths = [self.folder / name for name in ("last.pt", "best.pt")]
                self.held = {path.name: Held(path) for path in paths if path.is_file()}

    def _note(self) -> None:
        if self.folder is not None:
            self.found.append((read(self.folder / "last.pt") or {}).get("epoch"))


class _Batches:
    """Batches that can be gone through again and again."""

    side = "train"

    def __init__(self, training: Training, batches: list[Sentences], shuffled: bool) -> None:
        self.training, self.batches, self.shuffled = training, batches, shuffled
        self.passes = 0

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[Sentences]:
        self.training.starts.append((self.side, len(self.training.model.passes)))
        self.start()
        order = torch.randperm(len(self)).tolist() if self.shuffled else range(len(self))
        yield from (self.batches[i] for i in order)

    def start(self) -> None:
        """What happens before the first batch; a model in eval mode is only measured."""
        if self.training.model.training:
            self.passes += 1
            self.training.look()
        else:
            self.training.reached.append(self.training.weights)


class _Valid(_Batches):
    side = "valid"

    def start(self) -> None:
        self.passes += 1
        self.training.reached.append(self.training.weights)


class _Uncounted:
    """Batches that can be gone through again and again, and nothing else."""

    def __init__(self, batches: _Batches) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Sentences]:
        return iter(self.batches)


def read(path: Path) -> dict[str, Any] | None:
    """The values in a file that torch has saved; None where it is no such file."""
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # whatever the parsers make of other files
        return None
    return found if isinstance(found, dict) else None


def weights_in(state: dict[str, Any] | None) -> Tensor | None:
    """The weights that a checkpoint of a `Learner` holds, in one row; None where there are none."""
    try:
        return torch.cat([p.flatten() for p in (state or {})["model"].values()])
    except (KeyError, AttributeError, TypeError, RuntimeError):
        return None


def same_weights(one: Tensor | None, two: Tensor | None) -> bool:
    """Whether two files hold the same weights, or none has any."""
    if one is None or two is None:
        return one is two
    return one.shape == two.shape and torch.equal(one, two)


def _rate(factors: Sequence[float]) -> Any:
    """From the number of an update to what the rate is multiplied by."""
    if not factors:
        return lambda n: 1 / (1 + 0.2 * n)
    return lambda n: factors[min(n // len(_SIZES), len(factors) - 1)]
