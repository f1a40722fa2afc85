"""Multi-head attention is read and written by behaviour, however its weights are kept."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.subject import Source, Subject, trusted
from autograder.weights import settle
from tests.distance import distance
from transformer_ref import MultiHeadedAttention

TEXT = (Path(__file__).parents[1] / "steps" / "multi_head_builds.py").read_text(encoding="utf-8")
REFERENCE = Subject({"MultiHeadedAttention": MultiHeadedAttention}, "reference")
SIZES = ((3, 15), (3, 21), (5, 15))

BUILDS: dict[str, dict[str, str]] = {
    "four linear layers": {},
    "output declared first": {"order": "ovkq"},
    "declared backwards": {"order": "okvq", "biases": "o"},
    "fused, query first": {"store": "fused", "order": "qkvo"},
    "fused, key first": {"store": "fused", "order": "kqvo"},
    "fused, value first, output before": {"store": "fused", "order": "ovqk"},
    "fused head by head": {"store": "fused_by_head"},
    "fused unit by unit": {"store": "fused_by_unit"},
    "query, and key with value": {"store": "query_and_rest"},
    "query, and value with key": {"store": "query_and_rest", "order": "qvko"},
    "a layer per head": {"store": "per_head"},
    "a layer per head, backwards": {"store": "per_head", "order": "vkqo", "score": "one_by_one"},
    "raw, on the right of x": {"store": "raw", "order": "voqk"},
    "cells": {"store": "cells", "score": "by_hand"},
    "cells, heads reversed": {"store": "cells", "merge": "reversed"},
    "convolutions": {"store": "convolution"},
    "lazy": {"store": "lazy"},
    "no biases": {"biases": ""},
    "bias on the output only": {"biases": "o"},
    "all biases but the output's": {"biases": "qkv"},
    "bias on the keys only": {"biases": "k"},
    "heads reversed": {"merge": "reversed"},
    "merged unit by unit": {"merge": "unit_major"},
    "heads interleaved": {"split": "interleaved", "split_v": "interleaved", "merge": "unit_major"},
    "queries and keys interleaved": {"split": "interleaved"},
    "values interleaved": {"split_v": "interleaved"},
    "queries and keys shuffled": {"split": "shuffled"},
    "values shuffled": {"split_v": "shuffled", "store": "fused"},
    "softmax by hand": {"score": "by_hand"},
    "scale on the query": {"score": "scaled_query"},
    "heads in the batch": {"score": "folded", "merge": "cat"},
    "joined by einsum": {"merge": "einsum", "split": "stacked", "score": "given"},
}

CHOICES = st.fixed_dictionaries(
    {
        "store": st.sampled_from(
            [
                "named",
                "lazy",
                "convolution",
                "raw",
                "per_head",
                "cells",
                "fused",
                "fused_by_head",
                "fused_by_unit",
                "query_and_rest",
            ]
        ),
        "order": st.permutations("qkvo").map("".join),
        "biases": st.sets(st.sampled_from("qkvo")).map(lambda s: "".join(sorted(s))),
        "split": st.sampled_from(["contiguous", "interleaved", "shuffled", "stacked"]),
        "split_v": st.sampled_from(["contiguous", "interleaved", "shuffled", "stacked"]),
        "score": st.sampled_from(
            ["plain", "given", "by_hand", "scaled_query", "folded", "one_by_one"]
        ),
        "merge": st.sampled_from(["transposed", "reversed", "unit_major", "cat", "einsum"]),
    }
)


def built(choices: dict[str, str]) -> Subject:
    text = f"{TEXT}\n\nclass MultiHeadedAttention(Composed):\n    choices = {choices!r}\n"
    return trusted(Source(text, "built"), "built")


def outputs(subject: Subject, draw: Draw, h: int, d_model: int) -> list[Tensor]:
    """With canonical weights: plain, masked, and the inputs' gradients."""
    module, matrices = settle.attention(
        lambda p: subject.MultiHeadedAttention(h, d_model, p), h, d_model, subject, draw
    )
    assert matrices == ["W_k", "W_o", "W_q", "W_v"]
    inputs = [draw.normal(f"x{i}", 2, n, d_model).requires_grad_() for i, n in enumerate((6, 8, 8))]
    mask = draw.uniform("mask", 2, 6, 8) > 0.8
    mask[..., 0] = True
    y = module(*inputs)
    return [y, module(*inputs, mask), *torch.autograd.grad(y, inputs, draw.normal("g", *y.shape))]


def error(choices: dict[str, str], seed: int, h: int, d_model: int) -> float:
    """How far from the reference with the same weights."""
    subject = built(choices)
    seen = outputs(subject, Draw(seed), h, d_model)
    asked = outputs(REFERENCE, Draw(seed, subject.terms), h, d_model)
    return max(distance(a, b) for a, b in zip(asked, seen, strict=True))


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
