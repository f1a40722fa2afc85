"""Scaled dot-product attention against torch's own, and the laws it obeys."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from transformer_ref import attention

LEADING = [(), (3,), (2, 3), (2, 1, 3)]


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def draw_qkv(leading: tuple[int, ...] = (2, 3), seed: int = 0) -> list[torch.Tensor]:
    """Query (…, 6, 5), key (…, 7, 5) and value (…, 7, 4), with gradients on."""
    shapes = [(6, 5), (7, 5), (7, 4)]
    drawn = [draw(*leading, *shape, seed=seed + i) for i, shape in enumerate(shapes)]
    return [x.requires_grad_() for x in drawn]


def random_mask(*shape: int) -> torch.Tensor:
    """A mask that hides about half of the keys, never all of a row."""
    mask = draw(*shape, seed=9) > 0
    mask[..., 2] = True
    return mask


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("masked", [False, True])
def test_values_and_gradients_are_those_of_torch(leading, masked):
    inputs = draw_qkv(leading)
    mask = random_mask(*leading, 6, 7) if masked else None
    ours, _ = attention(*inputs, mask)
    theirs = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
    torch.testing.assert_close(ours, theirs)
    cotangent = draw(*ours.shape, seed=7)
    torch.testing.assert_close(
        torch.autograd.grad(ours, inputs, cotangent),
        torch.autograd.grad(theirs, inputs, cotangent),
    )


def test_the_formula_by_hand():
    query = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    key = torch.tensor([[2 * math.log(3), 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    value = torch.tensor([[4.0], [8.0]])
    output, p_attn = attention(query, key, value)
    # d_k = 4: the scores are log 3 and 0, so the weights stand 3 to 1.
    torch.testing.assert_close(p_attn, torch.tensor([[0.75, 0.25]]))
    torch.testing.assert_close(output, torch.tensor([[5.0]]))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float32])
def test_the_dtype_of_the_mask_does_not_matter(dtype):
    inputs, mask = draw_qkv(), random_mask(2, 1, 6, 7)
    torch.testing.assert_close(attention(*inputs, mask.to(dtype)), attention(*inputs, mask))


@pytest.mark.parametrize("shape", [(7,), (1, 7), (6, 7), (2, 1, 1, 7), (1, 3, 6, 7)])
def test_the_mask_broadcasts(shape):
    inputs, mask = draw_qkv(), random_mask(*shape)
    _, p_attn = attention(*inputs, mask)
    assert (p_attn[~mask.expand_as(p_attn)] == 0).all()
    torch.testing.assert_close(attention(*inputs, mask.expand(2, 3, 6, 7))[1], p_attn)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_row_that_sees_nothing_gives_no_nan(dtype):
    inputs = [x.detach().to(dtype).requires_grad_() for x in draw_qkv()]
    mask = random_mask(6, 7)
    mask[3] = False
    output, p_attn = attention(*inputs, mask)
    assert output.isfinite().all() and p_attn.isfinite().all()
    assert all(g.isfinite().all() for g in torch.autograd.grad(output.sum(), inputs))
    seen = [0, 1, 2, 4, 5]
    torch.testing.assert_close(output[..., seen, :], attention(*inputs, mask)[0][..., seen, :])


def test_a_hidden_key_has_no_influence():
    query, key, value = draw_qkv()
    mask = torch.ones(7, dtype=torch.bool)
    mask[4] = False
    without = [0, 1, 2, 3, 5, 6]
    expected, _ = attention(query, key[..., without, :], value[..., without, :])
    torch.testing.assert_close(attention(query, key, value, mask)[0], expected)


def test_half_precision_survives_scores_that_only_fit_when_scaled():
    # The raw dot product is 256 * 256 = 65,536, just above float16's largest number.
    query = torch.full((1, 256), 16.0, dtype=torch.float16)
    output, _ = attention(query, query, query)
    torch.testing.assert_close(output, query)


def test_dropout_falls_on_the_weights_and_is_returned():
    query, key, value = draw_qkv()
    dropout = nn.Dropout(0.5)
    torch.manual_seed(0)
    output, p_attn = attention(query, key, value, dropout=dropout)
    _, whole = attention(query, key, value)
    kept = p_attn != 0
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(p_attn[kept], 2 * whole[kept])
    torch.testing.assert_close(output, p_attn @ value)


def test_dropout_of_everything_leaves_zero_and_eval_mode_leaves_all():
    inputs, dropout = draw_qkv(), nn.Dropout(1.0)
    assert (attention(*inputs, dropout=dropout)[0] == 0).all()
    torch.testing.assert_close(attention(*inputs, dropout=dropout.eval()), attention(*inputs))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError):
        attention(draw(6, 5), draw(7, 4), draw(7, 4))


@settings(max_examples=40, deadline=None)
@given(
    Lq=st.integers(1, 8),
    Lk=st.integers(1, 8),
    d_k=st.integers(1, 8),
    spread=st.sampled_from([0.01, 1.0, 30.0]),
    seed=st.integers(0, 2**16),
)
def test_rows_are_distributions_and_key_order_is_free(Lq, Lk, d_k, spread, seed):
    query, key = spread * draw(Lq, d_k, seed=seed), draw(Lk, d_k, seed=seed + 1)
    value = draw(Lk, 3, seed=seed + 2)
    mask = draw(Lq, Lk, seed=seed + 3) > 0
    mask[:, -1] = True
    output, p_attn = attention(query, key, value, mask)
    assert p_attn.shape == (Lq, Lk) and output.shape == (Lq, 3)
    assert (p_attn >= 0).all() and (p_attn[~mask] == 0).all()
    torch.testing.assert_close(p_attn.sum(-1), torch.ones(Lq, dtype=torch.float64))
    order = torch.randperm(Lk, generator=torch.Generator().manual_seed(seed))
    again, p_again = attention(query, key[order], value[order], mask[:, order])
    torch.testing.assert_close(again, output)
    torch.testing.assert_close(p_again, p_attn[:, order])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_a_shift_of_all_keys_changes_nothing(seed):
    query, key, value = draw_qkv(seed=seed)
    shift = draw(5, seed=seed + 5)
    torch.testing.assert_close(
        attention(query, key + shift, value)[1], attention(query, key, value)[1]
    )
