"""Comparison: shapes and dtypes before values, NaN is no number, the first difference is told."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.compare import difference, equal
from autograder.core.observation import Observation, Odd, Raised, Value

numbers = st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=6)


def told(
    asked: Value, seen: Value, tolerance: float = 1e-4
) -> tuple[str, dict[str, object]] | None:
    found = difference(Observation({"x": asked}), Observation({"x": seen}), tolerance)
    return (found.kind, found.facts) if found else None


@given(numbers)
def test_everything_agrees_with_itself(values: list[float]) -> None:
    x = torch.tensor(values)
    assert told(x, x.clone()) is None
    assert equal(Observation({"x": x}), Observation({"x": x.clone()}), 0.0)


@given(numbers, st.integers(0, 5), st.floats(0.01, 1e3))
def test_the_first_number_that_differs_is_told(values: list[float], at: int, by: float) -> None:
    asked, at = torch.tensor(values), at % len(values)
    by *= 1 + asked.abs().max().item()
    seen = asked.clone()
    seen[at:] += by
    kind, facts = told(asked, seen) or ("", {})
    assert kind == "value"
    assert facts["where"] == [at]
    assert facts["asked"] == pytest.approx(values[at])
    assert facts["seen"] == pytest.approx(seen[at].item())
    assert facts["share"] == pytest.approx((len(values) - at) / len(values))


@given(numbers, st.floats(-0.9, 0.9))
def test_within_tolerance_agrees(values: list[float], share: float) -> None:
    asked = torch.tensor(values, dtype=torch.float64)
    gap = share * 1e-4 * (1 + asked.abs().max().item())
    assert told(asked, asked + gap) is None


def test_shape_comes_before_value_and_nothing_is_broadcast() -> None:
    zeros = torch.zeros(3, 4)
    assert told(zeros, torch.zeros(1)) == ("shape", {"seen": (1,), "asked": (3, 4)})
    assert told(zeros, torch.zeros(4, 3)) == ("shape", {"seen": (4, 3), "asked": (3, 4)})
    assert told(zeros, torch.zeros(3, 4, 1).double())[0] == "shape"  # type: ignore[index]


def test_dtype_comes_before_value() -> None:
    assert told(torch.zeros(2), torch.ones(2).double()) == (
        "dtype",
        {"seen": "float64", "asked": "float32"},
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_told_with_its_place(bad: float) -> None:
    seen = torch.tensor([0.0, bad])
    kind, facts = told(torch.zeros(2), seen) or ("", {})
    assert kind == "not_finite"
    assert facts["where"] == [1]
    assert facts["share"] == 0.5


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_never_agree_with_what_is_not_finite(bad: float) -> None:
    asked = torch.tensor([1.0, bad])
    assert told(asked, asked.clone()) is None
    assert told(asked, torch.ones(2))[0] == "value"  # type: ignore[index]


@pytest.mark.parametrize(
    ("asked", "seen", "kind"),
    [
        (torch.zeros(2), None, "kind"),
        (torch.zeros(2), Odd("tuple of 2"), "kind"),
        (torch.zeros(2), [0.0, 0.0], "kind"),
        (None, torch.zeros(2), "kind"),
        (1, True, "kind"),
        (1, 1.0, "kind"),
        (1, "1", "kind"),
        (1, 2, "plain"),
        ([1, 2], [1, 3], "plain"),
        ({"a": 1}, {"a": 2}, "plain"),
        (1.0, 1.1, "plain"),
        (1.0, math.nan, "plain"),
        (Odd("a"), Odd("b"), "plain"),
    ],
)
def test_other_kinds(asked: Value, seen: Value, kind: str) -> None:
    assert told(asked, seen)[0] == kind  # type: ignore[index]
    assert not equal(Observation({"x": asked}), Observation({"x": seen}), 1e-4)


def test_floats_have_a_tolerance_and_other_plain_values_none() -> None:
    assert told(1.0, 1.0001) is None
    assert told(10**6, 10**6 + 1) is not None


def test_differences_come_in_the_order_of_what_is_asked() -> None:
    asked = Observation({"a": 1, "b": 2, "c": 3})
    seen = Observation({"c": 0, "b": 0, "a": 1})
    found = difference(asked, seen, 1e-4)
    assert found is not None
    assert (found.key, found.kind) == ("b", "plain")


def test_absent_and_superfluous_values() -> None:
    found = difference(Observation({"a": 1}), Observation({}), 1e-4)
    assert found is not None
    assert (found.key, found.kind) == ("a", "absent")
    assert difference(Observation({}), Observation({"a": 1}), 1e-4) is None
    assert not equal(Observation({}), Observation({"a": 1}), 1e-4)


@pytest.mark.parametrize(
    ("key", "value", "facts"),
    [
        ("raised", Raised("E", "m", 3), {"kind": "E", "message": "m", "line": 3}),
        ("unusable", {"problem": "missing"}, {"problem": "missing"}),
        ("unreadable", {"reason": "shared"}, {"reason": "shared"}),
    ],
)
def test_what_stopped_a_probe_comes_first(key: str, value: Value, facts: dict[str, object]) -> None:
    found = difference(Observation({"a": 1}), Observation({"a": 2, key: value}), 1e-4)
    assert found is not None
    assert found.kind == key
    assert facts.items() <= found.facts.items()


def test_same_exception_agrees_by_kind_and_message_not_by_line() -> None:
    one, two = (Observation({"raised": Raised("E", "m", n)}) for n in (1, 2))
    assert difference(one, two, 1e-4) is None
    assert equal(one, two, 1e-4)
    assert not equal(one, Observation({"raised": Raised("E", "other", 1)}), 1e-4)
    assert not equal(one, Observation({"raised": Raised("F", "m", 1)}), 1e-4)
