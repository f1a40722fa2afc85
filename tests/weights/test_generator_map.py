"""A generator's weights are read behind any log-softmax, and written where they belong."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.subject import Subject, Unreadable
from autograder.weights import settle
from autograder.weights.generator import read_generator
from autograder.weights.scalars import Scalars

WAYS = {
    "log_softmax": lambda z: z.log_softmax(-1),
    "twice": lambda z: z.log_softmax(-1).log_softmax(-1),
    "by hand": lambda z: z - z.logsumexp(-1, keepdim=True),
    "in two pieces": lambda z: z.softmax(-1).log(),
}


class Linear(nn.Module):
    def __init__(self, d: int, vocab: int, bias: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(d, vocab, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Lazy(Linear):
    def __init__(self, d: int, vocab: int, bias: bool) -> None:
        super().__init__(d, vocab, bias)
        self.layer = nn.LazyLinear(vocab, bias=bias)


class Raw(nn.Module):
    """A matrix on the right of x; the bias is declared first."""

    def __init__(self, d: int, vocab: int, bias: bool) -> None:
        super().__init__()
        self.b = nn.Parameter(torch.zeros(vocab)) if bias else 0.0
        self.w = nn.Parameter(torch.randn(d, vocab))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.w + self.b


class Convolution(nn.Module):
    def __init__(self, d: int, vocab: int, bias: bool) -> None:
        super().__init__()
        self.layer = nn.Conv1d(d, vocab, 1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.transpose(1, 2)).transpose(1, 2)


class Halves(nn.Module):
    """The dictionary in two parts, the second declared first."""

    def __init__(self, d: int, vocab: int, bias: bool) -> None:
        super().__init__()
        self.last = nn.Linear(d, vocab - vocab // 2, bias=bias)
        self.first = nn.Linear(d, vocab // 2, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.first(x), self.last(x)], dim=-1)


STORES = {k.__name__: k for k in (Linear, Lazy, Raw, Convolution, Halves)}


class Built(nn.Module):
    def __init__(self, store: str, way: str, d: int, vocab: int, bias: bool) -> None:
        super().__init__()
        self.scores, self.way = STORES[store](d, vocab, bias), WAYS[way]

    def forward(self, x: Tensor) -> Tensor:
        return self.way(self.scores(x))


@settings(deadline=None, max_examples=60)
@given(
    store=st.sampled_from(sorted(STORES)),
    way=st.sampled_from(sorted(WAYS)),
    d=st.integers(3, 20),
    vocab=st.integers(16, 40),
    bias=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_what_is_written_is_what_is_computed(
    store: str, way: str, d: int, vocab: int, bias: bool, seed: int
) -> None:
    draw, subject = Draw(seed), Subject({}, "")
    generator, found = settle.generator(
        lambda _: Built(store, way, d, vocab, bias), d, vocab, subject, draw
    )
    assert found == ["W"]
    weights = settle.canonical({"W": (vocab, d), "b": (vocab,)}, draw)
    assert subject.terms["absent"] == ([] if bias else ["b"])
    x = torch.randn(2, 3, d)
    asked = x @ weights["W"].T + (weights["b"] if bias else 0)
    assert torch.allclose(generator(x), asked.log_softmax(-1), atol=1e-4)


@pytest.mark.parametrize("way", ["softmax", "log of a softmax of a softmax", "entmax of sorts"])
@pytest.mark.parametrize("store", STORES)
def test_where_every_row_is_felt_it_says_so(store: str, way: str) -> None:
    ways = {
        "softmax": lambda z: z.softmax(-1),
        "log of a softmax of a softmax": lambda z: z.softmax(-1).log_softmax(-1),
        "entmax of sorts": lambda z: z.sigmoid() / z.sigmoid().sum(-1, keepdim=True),
    }
    built = Built(store, "twice", 11, 23, True)
    built.way = ways[way]
    built(torch.ones(1, 1, 11))
    with pytest.raises(Unreadable) as caught:
        read_generator(Scalars(built), built, 11, 23, Draw(3))
    assert (caught.value.reason, caught.value.facts) == ("rows", {})


@pytest.mark.parametrize("axis", [0, 1])
def test_a_softmax_over_another_axis_is_read_too(axis: int) -> None:
    """Its values are then compared, and tell which axis it was."""
    built = Built("Linear", "twice", 11, 23, True)
    built.way = lambda z: z.log_softmax(axis)
    found = read_generator(Scalars(built), built, 11, 23, Draw(3))
    assert {role: list(cells.shape) for role, cells in found.cells.items()} == {
        "W": [23, 11],
        "b": [23],
    }
    assert torch.equal(found.cells["W"].flatten(), torch.arange(23 * 11))
