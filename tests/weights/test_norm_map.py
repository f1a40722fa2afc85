"""A norm's gain and bias are read and written by behaviour, however they are kept."""

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
from autograder.weights.scalars import Scalars
from tests.distance import distance
from transformer_ref import LayerNorm

TEXT = (Path(__file__).parents[1] / "steps" / "residual_builds.py").read_text(encoding="utf-8")
REFERENCE = Subject({"LayerNorm": LayerNorm}, "reference")
SIZES = (5, 11, 15)

BUILDS: dict[str, dict[str, str]] = {
    "two vectors": {},
    "bias declared first": {"order": "bg"},
    "one plus": {"store": "one_plus"},
    "one plus, bias first": {"store": "one_plus", "order": "bg", "std": "by_hand"},
    "rows of a batch": {"shape": "row", "std": "by_root"},
    "a dictionary": {"store": "dictionary", "order": "bg"},
    "one table": {"store": "table"},
    "one table, bias first": {"store": "table", "order": "bg", "std": "together"},
    "no bias": {"order": "g"},
    "no bias, in a dictionary": {"store": "dictionary", "order": "g"},
    "one plus, no bias": {"store": "one_plus", "order": "g"},
}
CHOICES = st.fixed_dictionaries(
    {
        "store": st.sampled_from(["vectors", "one_plus", "dictionary", "table"]),
        "order": st.sampled_from(["gb", "bg"]),
        "shape": st.sampled_from(["vector", "row"]),
        "std": st.sampled_from(["", "by_root", "by_hand", "together"]),
    }
)


def built(choices: dict[str, str]) -> Subject:
    text = f"{TEXT}\n\nclass LayerNorm(ComposedNorm):\n    choices = {choices!r}\n"
    return trusted(Source(text, "built"), "built")


def settled(subject: Subject, draw: Draw, features: int) -> tuple[nn.Module, list[str]]:
    return settle.layer_norm(lambda _: subject.LayerNorm(features), features, subject, draw)


def error(choices: dict[str, str], seed: int, features: int) -> float:
    """How far from the reference with the same gain and bias."""
    subject, draw = built(choices), Draw(seed)
    norm, found = settled(subject, draw, features)
    assert found == ["gain"]
    asked, _ = settled(REFERENCE, Draw(seed, subject.terms), features)
    x = draw.normal("x", 2, 7, features, scale=2.0) + 3
    return distance(asked(x).detach(), norm(x).detach())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BUILDS)
def test_right_builds_hold_the_reference_s_weights(name: str, size: int) -> None:
    for seed in range(25):
        assert error(BUILDS[name], seed, size) < 1e-5


@given(CHOICES, st.integers(0, 2**20), st.sampled_from(SIZES))
@settings(max_examples=50, deadline=None)
def test_composed_builds_hold_them(choices: Any, seed: int, size: int) -> None:
    assert error(choices, seed, size) < 1e-5


@pytest.mark.parametrize(
    "choices",
    [
        {"std": "biased"},
        {"std": "variance"},
        {"std": "sequence"},
        {"std": "batch"},
        {"std": "sentence"},
        {"mistake": "torch"},
        {"mistake": "rms"},
        {"mistake": "no_mean"},
        {"mistake": "bias_inside", "order": "bg"},
        {"mistake": "bias_first", "store": "table"},
        {"mistake": "bias_one"},
        {"mistake": "gain_zero"},
    ],
)
def test_wrong_formulas_are_read_as_well(choices: dict[str, str]) -> None:
    """What is read is which scalar belongs to which feature, not whether the formula is right."""
    draw = Draw(7)
    _, found = settled(built(choices), draw, 11)
    assert found == ["gain"]


def test_torch_s_own_layer_is_read() -> None:
    subject = Subject({"LayerNorm": nn.LayerNorm}, "torch", allowed=("LayerNorm",))
    norm, _ = settled(subject, Draw(1), 11)
    gain, bias = norm.weight, norm.bias
    asked = settled(REFERENCE, Draw(1), 11)[0]
    assert torch.equal(gain, asked.a_2) and torch.equal(bias, asked.b_2)


@pytest.mark.parametrize(
    ("choices", "gains", "biases"),
    [
        ({"shape": "scalar"}, 1, 1),
        ({"shape": "scalar", "order": "bg"}, 1, 1),
        ({"shape": "scalar", "store": "one_plus"}, 1, 1),
        ({"shape": "scalar", "order": "g"}, 1, 0),
        ({"mistake": "gain_first"}, 11, 0),
    ],
)
def test_a_scalar_of_many_features_is_told(
    choices: dict[str, str], gains: int, biases: int
) -> None:
    with pytest.raises(Unreadable) as caught:
        settled(built(choices), Draw(2), 11)
    assert caught.value.reason == "shared"
    assert caught.value.facts == {"plays": ["feature"], "gains": gains, "biases": biases}


def test_a_missing_gain_and_missing_parameters_are_told() -> None:
    with pytest.raises(Unreadable) as caught:
        settled(built({"order": "b"}), Draw(2), 11)
    assert caught.value.facts["role"] == "gain"
    with pytest.raises(Unreadable) as caught:
        settled(built({"order": ""}), Draw(2), 11)
    assert caught.value.reason == "no_parameters"


def test_looking_at_scalars_leaves_their_values() -> None:
    norm = LayerNorm(7)
    Scalars(norm)
    assert torch.equal(norm.a_2, torch.ones(7)) and torch.equal(norm.b_2, torch.zeros(7))
