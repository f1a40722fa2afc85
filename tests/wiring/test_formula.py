"""Formulas: what a tensor is told to be is what it was made of, whatever the numbers are."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.wiring.formula import Sums

SHAPE = (2, 7, 13)
NAMES = ("x", "a", "b")
seeds = st.integers(0, 10_000)
chosen = st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=3)


def known(seed: int) -> tuple[Sums, dict[str, Tensor]]:
    draw = Draw(seed)
    values = {name: draw.normal(name, *SHAPE) for name in NAMES}
    sums = Sums(draw)
    for name, value in values.items():
        sums.add(name, value)
    return sums, values


def written(names: list[str]) -> str:
    inside = [n for n in NAMES if n in names]
    return "x + ..." if len(inside) == len(NAMES) else " + ".join(inside)


def moved(norm: nn.Module, seed: int) -> nn.Module:
    for i, p in enumerate(norm.parameters()):
        turn = torch.arange(p.numel()) % 2 * 2 - 1
        p.data.add_(Draw(seed).uniform(f"p{i}", p.numel(), low=0.1, high=0.3) * turn)
    return norm


@settings(max_examples=30, deadline=None)
@given(seeds, chosen)
def test_a_sum_is_told(seed: int, names: list[str]) -> None:
    sums, values = known(seed)
    assert sums.tell(sum(values[n] for n in names)).text == written(names)


@settings(max_examples=30, deadline=None)
@given(seeds, chosen, st.sampled_from([1e-5, 1e-6, 1e-8]))
def test_the_norm_of_a_sum_is_told_with_its_gain_and_bias(
    seed: int, names: list[str], eps: float
) -> None:
    sums, values = known(seed)
    norm = moved(nn.LayerNorm(SHAPE[-1], eps=eps), seed)
    told = sums.tell(norm(sum(values[n] for n in names)))
    assert told.text == f"norm({written(names)})"
    assert told.norm is not None
    factor = (SHAPE[-1] / (SHAPE[-1] - 1)) ** 0.5  # torch divides by n, formulas by n - 1
    torch.testing.assert_close(told.norm[0].float(), norm.weight * factor, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(told.norm[1].float(), norm.bias, rtol=1e-3, atol=1e-3)


@settings(max_examples=30, deadline=None)
@given(seeds, chosen, chosen)
def test_a_sum_beside_a_norm_is_told(seed: int, outer: list[str], inner: list[str]) -> None:
    sums, values = known(seed)
    norm = moved(nn.LayerNorm(SHAPE[-1]), seed)
    value = sum(values[n] for n in outer) + norm(sum(values[n] for n in inner))
    assert sums.tell(value).text == f"{written(outer)} + norm({written(inner)})"


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from([0.5, 2.0, -1.0, 3.0]))
def test_factors_are_told(seed: int, factor: float) -> None:
    sums, values = known(seed)
    norm = moved(nn.LayerNorm(SHAPE[-1]), seed)
    assert sums.tell(factor * values["x"] + values["a"]).text == f"{factor:g} x + a"
    assert sums.tell(factor * norm(values["x"])).text.startswith(f"{factor:g} norm(x)")


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(0, 5))
def test_what_is_none_of_these_gets_no_formula_but_a_number_of_its_own(
    seed: int, which: int
) -> None:
    sums, values = known(seed)
    x, a = values["x"], values["a"]
    others = [x * a, x.relu(), x.flip(1), x.roll(1, 1) + a, x.softmax(-1), (x + a).tanh()]
    told = sums.tell(others[which]).text
    assert told.startswith("? (2, 7, 13) ")
    assert told == sums.tell(others[which].clone()).text
    assert told != sums.tell(others[which - 1]).text


def test_nothing_and_other_shapes() -> None:
    sums, values = known(1)
    assert sums.tell(torch.zeros(SHAPE)).text == "0"
    assert sums.tell(values["x"][:, :3]).text.startswith("? (2, 3, 13)")
    assert sums.tell(values["x"] / 0).text.startswith("? (2, 7, 13)")
    assert sums.tell(torch.ones(SHAPE)).text.startswith("? (2, 7, 13)")


def test_norms_of_known_sums_can_be_parts_of_formulas() -> None:
    sums, values = known(1)
    normed = moved(nn.LayerNorm(SHAPE[-1]), 2)(values["x"])
    sums.add("norm(x)", normed, plain=False)
    assert sums.tell(normed + values["a"]).text == "a + norm(x)"
    again = moved(nn.LayerNorm(SHAPE[-1]), 3)(normed + values["b"])
    assert sums.tell(again).text == "norm(b + norm(x))"
