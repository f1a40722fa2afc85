"""Token embeddings and positions: the formulas, digit by digit, and what moves with the module."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_ref import Embeddings, PositionalEncoding


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def table_of(d_model: int, max_len: int) -> torch.Tensor:
    """What is added to a sequence of max_len positions, (max_len, d_model)."""
    module = PositionalEncoding(d_model, 0.0, max_len)
    return module(torch.zeros(1, max_len, d_model))[0]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("shape", [(), (5,), (2, 5)])
def test_a_token_is_its_row_times_the_root_of_the_width(shape, dtype):
    module = Embeddings(15, 11)
    ids = torch.randint(11, shape, generator=torch.Generator().manual_seed(0))
    y = module(ids.to(dtype))
    assert y.shape == (*shape, 15)
    torch.testing.assert_close(y, module.lut.weight[ids] * 15**0.5)


def test_the_gradient_falls_on_the_rows_that_were_looked_up():
    module = Embeddings(4, 6)
    module(torch.tensor([[1, 3, 3]])).sum().backward()
    times = torch.tensor([0.0, 1.0, 0.0, 2.0, 0.0, 0.0])  # Scaled by sqrt(4).
    torch.testing.assert_close(module.lut.weight.grad, 2 * times.unsqueeze(1).expand(6, 4))


@pytest.mark.parametrize("token", [-1, 11])
def test_an_id_outside_of_the_vocabulary_is_refused(token):
    with pytest.raises(IndexError):
        Embeddings(15, 11)(torch.tensor([token]))


@pytest.mark.parametrize("d_model", [1, 2, 15, 22, 512])
def test_the_table_is_the_formula_rounded_once(d_model):
    table = table_of(d_model, 5000)
    for position in (0, 1, 2, 17, 511, 4999):
        angles = [position / 10000 ** (2 * (i // 2) / d_model) for i in range(d_model)]
        exact = [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]
        # Half the distance between neighbouring float32 numbers just below 1 is 2^-25.
        expected = torch.tensor(exact, dtype=torch.float64)
        error = (table[position].double() - expected).abs().max()
        assert error <= 2**-25 * 1.001


@settings(max_examples=40, deadline=None)
@given(pairs=st.integers(1, 12), position=st.integers(0, 199), step=st.integers(0, 100))
def test_a_step_ahead_is_a_rotation_of_each_pair(pairs, position, step):
    table = table_of(2 * pairs, 300).double().unflatten(1, (pairs, 2))
    (sin, cos), (turn_sin, turn_cos) = table[position].T, table[step].T
    moved = torch.stack((sin * turn_cos + cos * turn_sin, cos * turn_cos - sin * turn_sin), dim=1)
    torch.testing.assert_close(table[position + step], moved, atol=1e-6, rtol=0)


def test_a_longer_table_starts_with_the_shorter_one():
    assert torch.equal(table_of(15, 60)[:9], table_of(15, 9))


def test_the_table_is_made_in_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        table = table_of(6, 5000)
    finally:
        torch.set_default_dtype(torch.float32)
    # Positions are whole numbers, so the first pair is exact however late it stands.
    assert table.dtype == torch.float64
    assert abs(table[4999, 0].item() - math.sin(4999)) < 1e-15


@pytest.mark.parametrize("length", [0, 1, 4, 9])
def test_a_sequence_gets_the_rows_of_its_length(length):
    module, x = PositionalEncoding(15, 0.0, 9), draw(2, length, 15)
    torch.testing.assert_close(module(x), x + table_of(15, 9)[:length])


def test_a_sequence_longer_than_the_table_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"10 positions.* max_len is 9"):
        PositionalEncoding(15, 0.0, 9)(draw(2, 10, 15))


def test_five_thousand_positions_unless_told():
    module = PositionalEncoding(2, 0.0)
    assert module(torch.zeros(1, 5000, 2)).shape == (1, 5000, 2)
    with pytest.raises(ValueError, match=r"5001 positions.* max_len is 5000"):
        module(torch.zeros(1, 5001, 2))


def test_dropout_falls_on_the_sum():
    module, x = PositionalEncoding(15, 0.5, 9), draw(2, 7, 15)
    torch.manual_seed(0)
    y, kept = module(x), module.eval()(x)
    dropped = y == 0
    assert 0.3 < dropped.float().mean() < 0.7
    torch.testing.assert_close(y[~dropped], 2 * kept[~dropped])


def test_the_input_is_left_alone_and_gets_its_gradient():
    module, x = PositionalEncoding(15, 0.0, 9), draw(2, 7, 15).requires_grad_()
    cotangent = draw(2, 7, 15, seed=1)
    module(x).backward(cotangent)
    assert torch.equal(x.grad, cotangent) and torch.equal(x, draw(2, 7, 15))


def test_nothing_is_trained_but_the_table_is_saved_and_moved():
    module = PositionalEncoding(15, 0.1, 9)
    assert not list(module.parameters())
    assert {key: x.shape for key, x in module.state_dict().items()} == {"pe": (1, 9, 15)}
    for target in (torch.float64, torch.bfloat16, "meta"):
        moved = module.to(target)(draw(2, 7, 15).to(target))
        assert target in (moved.dtype, moved.device.type)


def test_embeddings_have_the_published_key():
    assert {k: x.shape for k, x in Embeddings(15, 11).state_dict().items()} == {
        "lut.weight": (11, 15)
    }
