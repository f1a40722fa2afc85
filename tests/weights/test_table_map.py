"""An embedding table is read and written by behaviour, however its rows are kept."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.subject import Source, Subject, Unreadable, trusted
from autograder.weights import settle
from autograder.weights.table import PAD, probed
from tests.distance import distance
from transformer_ref import Embeddings

BUILDS_FILE = Path(__file__).parents[1] / "steps" / "embeddings_builds.py"
TEXT = BUILDS_FILE.read_text(encoding="utf-8")
REFERENCE = Subject({"Embeddings": Embeddings}, "reference")
STORES = ["embedding", "raw", "turned", "one_hot", "linear", "rows", "halves"]
ROOTS = ["math", "power", "buffer", "tensor"]
SIZES = [(10, 17), (13, 23), (7, 5)]


def built(choices: dict[str, str]) -> Subject:
    text = f"{TEXT}\n\nclass Embeddings(ComposedTable):\n    choices = {choices!r}\n"
    return trusted(Source(text, "built"), "built")


def output(subject: Subject, draw: Draw, d_model: int, vocab: int) -> tuple[Tensor, list[int]]:
    """With canonical rows, every id but that of padding; and the ids that train nothing."""
    module, silent = settle.embedding(
        lambda _: subject.Embeddings(d_model, vocab), d_model, vocab, subject, draw
    )
    return module(probed(vocab)[None]).detach(), silent


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("store", STORES)
def test_a_build_with_canonical_rows_is_the_reference(store: str, size: tuple[int, int]) -> None:
    subject = built({"store": store})
    for seed in range(5):
        seen, silent = output(subject, Draw(seed), *size)
        asked, _ = output(REFERENCE, Draw(seed), *size)
        assert silent == []
        assert distance(asked, seen) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_a_build_is_the_reference_whatever_is_drawn(store: str) -> None:
    for seed in range(25):
        subject = built({"store": store})
        seen, _ = output(subject, Draw(seed), 11, 19)
        assert distance(output(REFERENCE, Draw(seed), 11, 19)[0], seen) < 1e-5, seed


@settings(max_examples=20, deadline=None)
@given(
    store=st.sampled_from(STORES),
    root=st.sampled_from(ROOTS),
    d_model=st.integers(4, 12),
    vocab=st.integers(4, 25),
    seed=st.integers(0, 99),
)
def test_any_size_is_read(store: str, root: str, d_model: int, vocab: int, seed: int) -> None:
    seen, _ = output(built({"store": store, "root": root}), Draw(seed), d_model, vocab)
    asked, _ = output(REFERENCE, Draw(seed), d_model, vocab)
    assert distance(asked, seen) < 1e-5


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("store", ["embedding", "raw"])
def test_ids_without_gradient_are_told_and_the_others_written(store: str, padding: int) -> None:
    subject = built({"store": store, "mistake": f"padding_{padding}"})
    seen, silent = output(subject, Draw(1), 10, 17)
    asked, _ = output(REFERENCE, Draw(1), 10, 17)
    assert silent == [padding]
    others = probed(17) != padding
    assert distance(asked[:, others], seen[:, others]) < 1e-5


def test_the_row_of_the_padding_id_is_never_asked_for() -> None:
    asked: list[int] = []

    class Watching(Embeddings):
        def forward(self, x: Tensor) -> Tensor:
            asked.extend(x.flatten().tolist())
            return super().forward(x)

    subject = Subject({"Embeddings": Watching}, "watching")
    _, silent = output(subject, Draw(2), 10, 17)
    assert silent == []
    assert set(asked) == set(range(17)) - {PAD}


class Biased(Embeddings):
    """A bias on top: it gets no role, and is left out."""

    def __init__(self, d_model: int, vocab: int) -> None:
        super().__init__(d_model, vocab)
        self.bias = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.bias


def test_what_acts_on_every_id_is_no_row() -> None:
    seen, _ = output(Subject({"Embeddings": Biased}, "biased"), Draw(3), 10, 17)
    assert distance(output(REFERENCE, Draw(3), 10, 17)[0], seen) < 1e-5


class Shared(Embeddings):
    """Two ids use one row."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x // 2 * 2)


class Mixed(Embeddings):
    """A row is turned over into the columns of its neighbours."""

    def forward(self, x: Tensor) -> Tensor:
        row = super().forward(x)
        return row + row.roll(1, dims=-1)


class Narrow(Embeddings):
    """Vectors one too narrow."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[..., :-1]


class Detached(Embeddings):
    """No gradient comes back."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()


@pytest.mark.parametrize(
    ("build", "reason"),
    [(Shared, "shared"), (Mixed, "shared"), (Narrow, "output_shape"), (Detached, "no_gradient")],
)
def test_what_cannot_be_read_says_why(build: type[Embeddings], reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        output(Subject({"Embeddings": build}, "odd"), Draw(4), 10, 17)
    assert caught.value.reason == reason
