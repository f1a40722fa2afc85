"""Recorders: every call is noted, also those of copies, and the values say what went in."""

import copy
import pickle

import pytest
import torch
from torch import nn

from autograder.core.draw import Draw
from autograder.wiring.recorder import Record, own_parameters, parts_of

SHAPE = (2, 7, 13)
COPIES = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda module: pickle.loads(pickle.dumps(module)),
}


def record() -> Record:
    return Record(Draw(1), *SHAPE)


def test_calls_are_noted_with_their_inputs_by_name() -> None:
    notes = record()
    attention = notes.recorder("attention", "query", "key", "value", "mask")
    x, memory = torch.randn(SHAPE), torch.randn(2, 9, 13)
    y = attention(x, value=memory, key=memory)
    assert y.shape == SHAPE
    (call,) = notes.calls
    assert call.part == "attention"
    assert torch.equal(call.inputs["query"], x)
    assert torch.equal(call.inputs["value"], memory)
    assert call.inputs["mask"] is None
    assert torch.equal(call.output, y)


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_notes_its_calls_in_the_same_record(how: str) -> None:
    notes = record()
    layer = notes.recorder("layer", "x")
    other = COPIES[how](layer)
    x = torch.randn(SHAPE)
    layer(x)
    other(x)
    assert len(notes.calls) == 2
    shared = notes.calls[0].weight == notes.calls[1].weight
    assert shared == (how == "copy")


def test_every_input_shows_in_the_output_and_gets_a_gradient() -> None:
    notes = record()
    part = notes.recorder("part", "one", "two")
    one, two = (torch.randn(SHAPE, requires_grad=True) for _ in range(2))
    y = part(one, two)
    assert not torch.allclose(y, part(two, one))
    grads = torch.autograd.grad(y.sum(), [one, two, part.weight])
    assert all(g.abs().sum() > 0 for g in grads)


@pytest.mark.parametrize("value", [None, 3, "x", torch.ones(2, 1, 7).bool(), torch.randn(4), ()])
def test_whatever_comes_in_the_output_has_the_shape(value: object) -> None:
    assert record().recorder("part", "x")(value).shape == SHAPE


def test_the_caller_cannot_change_what_was_noted() -> None:
    notes = record()
    x = torch.randn(SHAPE)
    y = notes.recorder("part", "x")(x)
    kept = x.clone(), y.detach().clone()
    x.zero_()
    y.data.zero_()
    assert torch.equal(notes.calls[0].inputs["x"], kept[0])
    assert torch.equal(notes.calls[0].output, kept[1])


def test_silent_recorders_give_zeros() -> None:
    notes = record()
    notes.silent = True
    assert not notes.recorder("part", "x")(torch.randn(SHAPE)).any()
    assert len(notes.calls) == 1


def test_recorders_are_told_from_the_rest_of_a_module() -> None:
    notes = record()
    part = notes.recorder("part", "x")
    module = nn.ModuleDict({"part": part, "norm": nn.LayerNorm(13)})
    assert parts_of(module) == {part.weight.data_ptr(): "part"}
    assert sum(p.numel() for p in own_parameters(module)) == 26
