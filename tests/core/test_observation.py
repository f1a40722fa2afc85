"""Observations cross the boundary unchanged; other bytes are refused, and nothing in them runs."""

from __future__ import annotations

import contextlib
import json
import pickle
import struct
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save
from torch import Tensor

from autograder.core.observation import (
    Malformed,
    Observation,
    Odd,
    Raised,
    apart,
    decode,
    encode,
    frame_length,
    see,
)

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
names = st.text("abcdefgh_0123456789가", min_size=1, max_size=20)
words = st.text(st.characters(codec="utf-8"), max_size=50)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False),
    words,
    st.lists(st.integers() | words, max_size=4),
    st.dictionaries(names, st.integers() | words, max_size=3),
    st.builds(Raised, words, words, st.none() | st.integers(1, 999), words, words),
    st.builds(Odd, words),
)
shapes = st.lists(st.integers(0, 3), max_size=3)
tensors = st.builds(
    lambda shape, dtype: (torch.rand(shape) * 9 - 4).to(dtype), shapes, st.sampled_from(DTYPES)
)
observations = st.builds(
    Observation,
    st.dictionaries(names, plain | tensors, max_size=5),
    st.dictionaries(names, st.lists(names, max_size=3), max_size=2),
    st.floats(0, 100),
)


def same(one: Any, two: Any) -> bool:
    if isinstance(one, Tensor):
        alike = isinstance(two, Tensor) and one.dtype == two.dtype and one.shape == two.shape
        return alike and torch.equal(one, two)
    return type(one) is type(two) and bool(one == two)


@settings(max_examples=150, deadline=None)
@given(observations)
def test_round_trip(seen: Observation) -> None:
    frame = encode(seen)
    assert frame_length(frame) == len(frame)
    back = decode(frame)
    assert list(back.values) == list(seen.values)
    assert all(same(v, back.values[k]) for k, v in seen.values.items())
    assert back.terms == seen.terms
    assert back.seconds == seen.seconds


@settings(max_examples=150, deadline=None)
@given(observations, st.data())
def test_damaged_frames_are_refused_or_read_but_nothing_else(
    seen: Observation, data: st.DataObject
) -> None:
    frame = bytearray(encode(seen))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Malformed):
        assert isinstance(decode(bytes(frame)), Observation)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(data)


def test_frame_cut_short_or_too_long_is_refused() -> None:
    frame = encode(Observation({"y": torch.ones(3), "n": 1}))
    for part in (frame[:-1], frame[:20], frame[:8], frame + b"\0"):
        with pytest.raises(Malformed):
            decode(part)
    assert frame_length(frame[:7]) is None


def framed(head: object, body: bytes | None = None) -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    body = save({}) if body is None else body
    return struct.pack(">II", len(text), len(body)) + text + body


def headed(value: object = 1, **changes: object) -> dict[str, object]:
    return {"plain": {"n": value}, "order": ["n"], "terms": {}, "seconds": 0.0, **changes}


def stopped(key: str, value: object) -> dict[str, object]:
    return headed(plain={key: value}, order=[key])


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


RAISED = {"$": "Raised", "kind": "E", "message": "m", "line": 1, "code": "", "function": ""}


def test_the_frames_below_differ_from_good_ones_in_one_thing() -> None:
    assert decode(framed(headed())).values == {"n": 1}
    assert decode(framed(headed(RAISED))).values == {"n": Raised("E", "m", 1)}
    assert decode(framed(stopped("raised", RAISED))).values == {"raised": Raised("E", "m", 1)}


HEADS: dict[str, object] = {
    "no object": [1, 2],
    "nothing": None,
    "no JSON": b"{'a': 1}",
    "a pickle": pickle.dumps({"a": 1}),
    "not UTF-8": b'{"\xff": 1}',
    "nested without end": b"[" * 100_000,
    "value nested too deeply": headed(deep(9)),
    "order without values": headed(order=["m"]),
    "order of numbers": headed(order=[1]),
    "order of lists": headed(order=[["n"]]),
    "no order": {"plain": {}, "terms": {}, "seconds": 0.0},
    "no terms": {"plain": {}, "order": [], "seconds": 0.0},
    "terms that are none": headed(terms=[]),
    "terms of text": headed(terms={"absent": "b_in"}),
    "terms of numbers": headed(terms={"absent": [1]}),
    "long terms": headed(terms={"absent": ["b" * 1000]}),
    "time of text": headed(seconds="1"),
    "time without end": headed(seconds=float("inf")),
    "time that is none": headed(seconds=float("nan")),
    "time too large for a float": headed(seconds=10**400),
    "negative time": headed(seconds=-1.0),
    "unknown record": headed({"$": "Popen", "args": "true"}),
    "record of no kind": headed({"$": ["Raised"]}),
    "record of too little": headed({"$": "Raised", "kind": "E"}),
    "record of too much": headed({**RAISED, "more": 1}),
    "record of numbers": headed({**RAISED, "message": 5}),
    "record with text as its line": headed({**RAISED, "line": "5"}),
    "record with truth as its line": headed({**RAISED, "line": True}),
    "record of endless text": headed({**RAISED, "message": "a" * 10_000}),
    "half a surrogate pair": headed("\ud800"),
    "half a pair in a record": headed({**RAISED, "message": "\ud800"}),
    "half a pair in a list": headed(["\ud800"]),
    "stopped by text": stopped("raised", "E"),
    "stopped by another record": stopped("raised", {"$": "Odd", "kind": "x"}),
    "unreadable for no reason": stopped("unreadable", {}),
    "unusable for no text": stopped("unusable", {"problem": 5}),
    "unusable as text": stopped("unusable", "missing"),
    "endless text": headed("a" * 2**21),
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
def test_malformed_heads(head: object) -> None:
    with pytest.raises(Malformed):
        decode(framed(head))


BODIES = {
    "nothing": b"",
    "rubbish": b"\xff" * 64,
    "a pickle": pickle.dumps(np.zeros(3)),
    "a length without end": struct.pack("<Q", 2**63) + b"{}",
    "unknown dtype": save({"y": torch.ones(4)}).replace(b'"F32"', b'"X32"'),
    "more numbers than bytes": save({"y": torch.ones(4)})[:-4],
    "sizes that overflow": save({"y": torch.ones(4)}).replace(b"[4]", b"[9]"),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_malformed_bodies(body: bytes) -> None:
    with pytest.raises(Malformed):
        decode(framed(headed(), body))


def test_nothing_is_executed() -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("unpickled",))

    for frame in (
        pickle.dumps(Trap()),
        framed(pickle.dumps(Trap())),
        framed({}, pickle.dumps(Trap())),
    ):
        with pytest.raises(Malformed):
            decode(frame)


def test_views_and_shared_memory_are_copied() -> None:
    x = torch.arange(12.0).view(3, 4)
    back = decode(encode(Observation({"a": x.t(), "b": x[1:], "c": x[1:].requires_grad_()})))
    assert same(back.values["a"], x.t())
    assert same(back.values["b"], x[1:])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "None"),
        ((1, 2), "tuple of 2"),
        ([], "list of 0"),
        (1.5, "builtins.float"),
        (np.zeros(2), "numpy.ndarray"),
        (torch.zeros(2, device="meta"), "meta tensor"),
        (torch.zeros(2, 2).to_sparse(), "sparse, quantized or complex tensor"),
        (torch.zeros(2, dtype=torch.complex64), "sparse, quantized or complex tensor"),
    ],
)
def test_what_is_no_ordinary_tensor_is_named(value: object, kind: str) -> None:
    assert see(value) == Odd(kind)
    assert apart(value, torch.zeros(2)) == apart(torch.zeros(2), value) == Odd(kind)


def test_apart() -> None:
    assert same(apart(torch.ones(3), torch.ones(3) * 3), torch.full((3,), -2.0))
    assert apart(torch.ones(3), torch.ones(1)) == Odd("(3,) and (1,)")


def test_only_keeps_what_is_looked_at_and_what_stopped_it() -> None:
    seen = Observation({"a": 1, "b": 2, "raised": Raised("E", "m")}, {"absent": ["b"]})
    assert seen.only(("b",)).values == {"b": 2, "raised": Raised("E", "m")}
    assert seen.only(("b",)).terms == seen.terms
    assert seen.only(()).values == seen.values
