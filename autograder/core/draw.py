"""Everything a probe takes at random: sizes, inputs, weights. Drawn by name, in any order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")

# Whatever a learner's code has made the default.
_PLAIN: Any = {"dtype": torch.float32, "device": "cpu"}


class Draw:
    """Draws that depend on the seed and on a name only: every subject gets the same.

    Args:
        seed: any integer; the grader's secret where code of others is graded.
        terms: what a subject was found to lack (see `Observation.terms`).
    """

    def __init__(self, seed: int, terms: dict[str, list[str]] | None = None) -> None:
        self.seed = seed
        self.terms = terms or {}

    @contextmanager
    def torch_seeded(self, name: str) -> Iterator[None]:
        """Inside, what torch's own generator gives (initial weights, dropout) is repeatable."""
        # torch.manual_seed would cost 0.5 ms of bookkeeping for other devices.
        generator = torch.default_generator
        before = generator.get_state()
        generator.set_state(self._generator(name).get_state())
        try:
            yield
        finally:
            generator.set_state(before)

    def _generator(self, name: str) -> torch.Generator:
        digest = hashlib.blake2b(f"{self.seed}/{name}".encode(), digest_size=7).digest()
        return torch.Generator("cpu").manual_seed(int.from_bytes(digest, "big"))

    def pick(self, name: str, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[
            int(torch.randint(len(choices), (1,), generator=self._generator(name), device="cpu"))
        ]

    def normal(self, name: str, *shape: int, scale: float = 1.0) -> Tensor:
        """float32 tensor of `shape`, normal with standard deviation `scale`."""
        return torch.randn(shape, generator=self._generator(name), **_PLAIN) * scale

    def uniform(self, name: str, *shape: int, low: float = 0.5, high: float = 1.5) -> Tensor:
        """float32 tensor of `shape`, uniform between `low` and `high`."""
        numbers = torch.rand(shape, generator=self._generator(name), **_PLAIN)
        return numbers * (high - low) + low

    def permutation(self, name: str, n: int) -> Tensor:
        """int64 (n,): the numbers below n in another order."""
        return torch.randperm(n, generator=self._generator(name), device="cpu")
