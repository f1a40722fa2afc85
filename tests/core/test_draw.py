"""Draws depend on the seed and the name, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from autograder.core.draw import Draw

seeds = st.integers(0, 2**31 - 1)
names = st.text("abc/_0", min_size=1, max_size=8)
CALLS: list[Callable[[Draw, str], Tensor]] = [
    lambda d, n: d.normal(n, 2, 3),
    lambda d, n: d.uniform(n, 4),
    lambda d, n: d.permutation(n, 7),
    lambda d, n: torch.tensor(d.pick(n, range(100))),
]


@settings(deadline=None)
@given(seeds, st.lists(st.tuples(names, st.integers(0, 3)), min_size=2, max_size=5), st.randoms())
def test_order_of_calls_plays_no_part(
    seed: int, calls: list[tuple[str, int]], order: object
) -> None:
    one, two = Draw(seed), Draw(seed)
    first = {call: CALLS[call[1]](one, call[0]) for call in calls}
    mixed = list(calls)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    torch.manual_seed(1)
    second = {call: CALLS[call[1]](two, call[0]) for call in mixed}
    assert all(torch.equal(first[call], second[call]) for call in calls)


@settings(deadline=None)
@given(seeds, names, names)
def test_other_names_and_other_seeds_give_other_numbers(seed: int, one: str, two: str) -> None:
    x = Draw(seed).normal(one, 5)
    assert torch.equal(x, Draw(seed).normal(two, 5)) == (one == two)
    assert not torch.equal(x, Draw(seed + 1).normal(one, 5))


@settings(deadline=None)
@given(seeds)
def test_kinds_and_ranges(seed: int) -> None:
    draw = Draw(seed)
    assert draw.normal("a", 2, 3).shape == (2, 3)
    assert draw.normal("a", 2, 3).dtype == torch.float32
    x = draw.uniform("a", 50, low=2.0, high=3.0)
    assert bool(((x >= 2) & (x <= 3)).all())
    assert sorted(draw.permutation("a", 9).tolist()) == list(range(9))
    assert draw.pick("a", ("x", "y")) in ("x", "y")


def test_torchs_own_generator_is_seeded_inside_and_untouched_outside() -> None:
    draw = Draw(5)
    torch.manual_seed(3)
    asked = [torch.rand(3), torch.rand(3)]
    torch.manual_seed(3)
    first = torch.rand(3)
    with draw.torch_seeded("weights"):
        inside = torch.rand(3)
    assert torch.equal(first, asked[0])
    assert torch.equal(torch.rand(3), asked[1])
    with draw.torch_seeded("weights"):
        assert torch.equal(torch.rand(3), inside)
    with draw.torch_seeded("others"):
        assert not torch.equal(torch.rand(3), inside)


def test_defaults_of_the_process_play_no_part() -> None:
    asked = [call(Draw(1), "x") for call in CALLS[:3]]
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        seen = [call(Draw(1), "x") for call in CALLS[:3]]
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    assert [x.device.type for x in seen] == ["cpu"] * 3
    assert all(torch.equal(a, b) for a, b in zip(seen, asked, strict=True))
