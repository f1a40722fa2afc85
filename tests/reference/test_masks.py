"""The mask that hides the future: its shape, its dtype, and which side it hides."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from transformer_ref import attention, subsequent_mask


def test_three_positions():
    expected = torch.tensor([[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]).bool()
    assert torch.equal(subsequent_mask(3), expected)


@given(size=st.integers(0, 40))
def test_it_shows_what_torch_does_not_hide(size):
    mask = subsequent_mask(size)
    assert mask.shape == (1, size, size) and mask.dtype == torch.bool
    assert torch.equal(mask[0], nn.Transformer.generate_square_subsequent_mask(size) == 0)


@given(size=st.integers(1, 20), shorter=st.integers(0, 20))
def test_a_prefix_has_the_mask_of_its_length(size, shorter):
    mask = subsequent_mask(size)[:, :shorter, :shorter]
    assert torch.equal(mask, subsequent_mask(min(size, shorter)))


def test_attention_under_it_does_not_look_ahead():
    x = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(0))
    _, p_attn = attention(x, x, x, subsequent_mask(6))
    assert (p_attn.triu(1) == 0).all()
    assert (p_attn.tril() + torch.ones(6, 6).triu(1) > 0).all()


def test_each_call_makes_a_mask_of_its_own():
    subsequent_mask(4).zero_()
    assert subsequent_mask(4).any()


def test_it_lands_on_the_default_device():
    with torch.device("meta"):
        assert subsequent_mask(4).device.type == "meta"


def test_a_negative_size_is_refused():
    with pytest.raises(RuntimeError):
        subsequent_mask(-1)
