"""Two layers are read and written by behaviour, however their weights are kept."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder.core.draw import Draw
from autograder.core.subject import Source, Subject, Unreadable, trusted
from autograder.weights import settle
from autograder.weights.layers import Shape
from tests.distance import distance
from transformer_ref import PositionwiseFeedForward

BUILDS_FILE = Path(__file__).parents[1] / "steps" / "feed_forward_builds.py"
TEXT = BUILDS_FILE.read_text(encoding="utf-8")
REFERENCE = Subject({"PositionwiseFeedForward": PositionwiseFeedForward}, "reference")
SIZES = ((11, 20), (15, 26), (12, 9))

BUILDS: dict[str, dict[str, str]] = {
    "two linear layers": {},
    "second layer declared first": {"order": "21", "bend": "function"},
    "no biases": {"biases": "", "bend": "clamp"},
    "bias on the first only": {"biases": "1"},
    "bias on the second only": {"biases": "2", "order": "21"},
    "lazy": {"store": "lazy", "order": "21", "bend": "maximum"},
    "convolutions": {"store": "convolution", "bend": "module"},
    "convolutions, declared backwards, no bias": {
        "store": "convolution",
        "order": "21",
        "biases": "",
    },
    "raw, on the right of x": {"store": "raw", "bend": "where"},
    "raw, declared backwards": {"store": "raw", "order": "21", "biases": "1"},
    "one parameter": {"store": "fused", "bend": "product"},
    "one parameter, no inner bias": {"store": "fused", "biases": "2"},
    "a pair of layers for each unit": {"store": "units"},
    "units, no biases": {"store": "units", "biases": ""},
    "dropout before the bend": {"drop": "before"},
    "dropout by function": {"drop": "function", "store": "raw"},
}
RIGHT_BENDS = ["method", "function", "module", "clamp", "maximum", "where", "product"]
CHOICES = st.fixed_dictionaries(
    {
        "store": st.sampled_from(["linear", "lazy", "convolution", "raw", "fused", "units"]),
        "order": st.sampled_from(["12", "21"]),
        "biases": st.sampled_from(["", "1", "2", "12"]),
        "bend": st.sampled_from(RIGHT_BENDS),
        "drop": st.sampled_from(["module", "function", "by_hand", "before"]),
    }
)


def built(choices: dict[str, str]) -> Subject:
    text = f"{TEXT}\n\nclass PositionwiseFeedForward(Composed):\n    choices = {choices!r}\n"
    return trusted(Source(text, "built"), "built")


def settled(subject: Subject, draw: Draw, d_model: int, d_ff: int) -> tuple[nn.Module, list[str]]:
    return settle.feed_forward(
        lambda p: subject.PositionwiseFeedForward(d_model, d_ff, p),
        Shape(d_model, d_ff, d_model),
        subject,
        draw,
    )


def error(choices: dict[str, str], seed: int, d_model: int, d_ff: int) -> float:
    """How far from the reference with the same weights, in values and gradients."""
    subject, draw = built(choices), Draw(seed)
    network, matrices = settled(subject, draw, d_model, d_ff)
    assert matrices == ["W_in", "W_out"]
    asked, _ = settled(REFERENCE, Draw(seed, subject.terms), d_model, d_ff)
    x = draw.normal("x", 2, 7, d_model, scale=2.0).requires_grad_()
    one, two = network(x * 1.0), asked(x)
    weigh = draw.normal("weigh", 2, 7, d_model)
    gradients = [torch.autograd.grad((y * weigh).sum(), x)[0] for y in (one, two)]
    return max(distance(two.detach(), one.detach()), distance(gradients[1], gradients[0]))


@pytest.mark.parametrize("name", BUILDS)
def test_right_builds_hold_the_reference_s_weights(name: str) -> None:
    for seed, size in enumerate(SIZES):
        assert error(BUILDS[name], seed, *size) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BUILDS)
def test_right_builds_hold_them_whatever_is_drawn(name: str, size: tuple[int, int]) -> None:
    for seed in range(25):
        assert error(BUILDS[name], 100 + seed, *size) < 1e-5


@given(CHOICES, st.integers(0, 2**20), st.sampled_from(SIZES))
@settings(max_examples=25, deadline=None)
def test_composed_builds_hold_them(choices: Any, seed: int, size: tuple[int, int]) -> None:
    assert error(choices, seed, *size) < 1e-5


@pytest.mark.parametrize("bend", ["gelu", "leaky", "sigmoid", "tanh", "none", "square"])
@pytest.mark.parametrize("store", ["linear", "raw", "fused"])
def test_wrong_activations_are_read_as_well(bend: str, store: str) -> None:
    """What is read is which weight does what, not whether it is right."""
    subject, draw = built({"bend": bend, "store": store}), Draw(5)
    network, matrices = settled(subject, draw, 11, 20)
    assert matrices == ["W_in", "W_out"]
    bare = draw.normal("x", 1, 1, 11)
    assert not torch.allclose(network(bare), settled(REFERENCE, Draw(5), 11, 20)[0](bare))


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"mistake": "square"}, "size"),
        ({"mistake": "ratio"}, "size"),
        ({"mistake": "norm_first"}, "size"),
        ({"mistake": "norm_last"}, "size"),
        ({"bend": "softmax"}, "size"),
    ],
)
def test_what_cannot_be_read_says_why(choices: dict[str, str], reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        settled(built(choices), Draw(2), 11, 20)
    assert caught.value.reason == reason
    assert caught.value.facts["role"]


def test_one_layer_is_another_size() -> None:
    class One(nn.Module):
        def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
            super().__init__()
            self.only = nn.Linear(d_model, d_model)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.only(x).relu()
            return y

    with pytest.raises(Unreadable) as caught:
        settled(Subject({"PositionwiseFeedForward": One}, "one"), Draw(2), 11, 20)
    assert caught.value.facts == {"role": "W_in", "asked": [20, 11], "found": 121}
