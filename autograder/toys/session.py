"""A toy training: what a training loop is called with, and what it handed to model and loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value
from autograder.core.subject import Subject
from autograder.toys.descent import Descent, Schedule
from autograder.toys.training import Learner, Loss, Sentences, sentences

_SIZES = ((3, 6), (5, 4), (2, 9), (7, 5), (4, 8))  # rows and target length of each batch


class Training:
    """A toy model with batches, a loss, an optimizer and a schedule, drawn the same every time.

    With a loss that is so many times as steep and a rate that is as many times smaller, the weights
    go the same way, to the last bit where that number is a power of 2.
    """

    def __init__(
        self,
        draw: Draw,
        count: int,
        lr: float = 0.5,
        factor: Callable[[int], float] = lambda n: 1.0,
        steep: float = 1.0,
    ) -> None:
        sizes = enumerate(_SIZES[:count])
        self.batches = [sentences(draw, f"batch {i}", *size, i % 2 == 0) for i, size in sizes]
        self.model = Learner(draw).train()
        self.loss = _Steep(self.model.generator, steep)
        self.optimizer = Descent(self.model.parameters(), lr / steep)
        self.scheduler = Schedule(self.optimizer, factor)

    def run(
        self,
        subject: Subject,
        tools: Sequence[Any] = (),
        mode: str = "train",
        batches: Iterable[Sentences] = (),
        **options: Any,
    ) -> tuple[Any, Any]:
        """Call run_epoch with these batches, or all."""
        tools = tools or (self.optimizer, self.scheduler)
        batches = batches or self.batches
        return subject.run_epoch(batches, self.model, self.loss, *tools, mode=mode, **options)

    def add_up(self, subject: Subject, numbers: Iterable[int]) -> None:
        """Move the weights by the sum of what the updates from these batches alone would do."""
        before = [p.detach().clone() for p in self.model.parameters()]
        moves = [torch.zeros_like(p) for p in before]
        for number in numbers:
            self.run(subject, batches=[self.batches[number]])
            for p, start, move in zip(self.model.parameters(), before, moves, strict=True):
                move += p.detach() - start
                p.data.copy_(start)
                p.grad = None
        for p, move in zip(self.model.parameters(), moves, strict=True):
            p.data += move

    def given(self) -> dict[str, Value]:
        """Which of a batch's parts the model and the loss were given."""
        passes = list(zip(self.batches, self.model.passes, strict=False))
        asked = list(zip(self.batches, self.loss.asked, strict=False))
        return {
            "passes": len(self.model.passes),
            "src": _which((b, p.src) for b, p in passes),
            "tgt": _which((b, p.tgt) for b, p in passes),
            "src_mask": _which((b, p.src_mask) for b, p in passes),
            "tgt_mask": _which((b, p.tgt_mask) for b, p in passes),
            "labels": _which((b, labels) for b, (labels, _) in asked),
        }

    def sees_answer(self) -> bool:
        """Whether some position may look at the very word that it is asked for."""
        every = zip(self.batches, self.model.passes, self.loss.asked, strict=False)
        for batch, seen, (labels, _) in every:
            read, said = _offset(seen.tgt, batch), _offset(labels, batch)
            if read is not None and said is not None and said <= read + _reach(seen.tgt_mask):
                return True
        return False


class _Steep(Loss):
    """Gradients are so many times as large as they should be."""

    def __init__(self, generator: nn.Module, times: float) -> None:
        super().__init__(generator)
        self.times = times

    def __call__(self, x: Tensor, y: Tensor, norm: Any) -> tuple[Tensor, Tensor]:
        total, loss = super().__call__(x, y, norm)
        return total, loss * self.times


def _offset(ids: Tensor, batch: Sentences) -> int | None:
    """By how many positions these target ids are shifted; None where they are no target ids."""
    shifts = ((0, batch.tgt), (1, batch.tgt_y))
    return next((n for n, part in shifts if _same(ids, part)), None)


def _reach(mask: Any) -> int:
    """How many positions ahead of itself a position may look at most."""
    if not isinstance(mask, Tensor):
        return 99
    square = (mask != 0).nonzero()
    return int((square[:, -1] - square[:, -2]).max()) if mask.dim() > 1 and len(square) else 0


def _which(pairs: Any) -> str:
    """Names of the parts of a batch that equal what was given in its place."""
    names = ("src", "tgt", "tgt_y", "src_mask", "tgt_mask")
    found = set()
    for batch, given in pairs:
        parts = (name for name in names if _same(given, getattr(batch, name)))
        found.add("None" if given is None else next(parts, "?"))
    return ", ".join(sorted(found))


def _same(one: Any, two: Tensor) -> bool:
    if not isinstance(one, Tensor) or one.shape != two.shape:
        return False
    return bool(((one != 0) == two).all() if two.dtype == torch.bool else (one == two).all())
