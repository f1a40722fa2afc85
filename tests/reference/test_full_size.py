"""The published figures at the paper's size: d_model 512, d_ff 2048, 8 heads."""

import pytest
import torch
from torch import nn

from transformer_ref import MultiHeadedAttention, PositionwiseFeedForward

pytestmark = pytest.mark.slow


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def draw() -> torch.Tensor:
    return torch.randn(2, 10, 512, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("d_ff", "parameters"), [(2048, 2_099_712), (64, 66_112)])
def test_feed_forward(d_ff, parameters):
    torch.manual_seed(0)
    module, x = PositionwiseFeedForward(512, d_ff).eval(), draw()
    assert count(module) == parameters
    assert module.w_1(x).shape == (2, 10, d_ff)
    assert module(x).shape == (2, 10, 512)
    torch.testing.assert_close(module(x[:, 3]), module(x)[:, 3])


def test_about_half_of_the_hidden_units_are_zero():
    torch.manual_seed(0)
    hidden = PositionwiseFeedForward(512, 2048).w_1(draw()).relu()
    assert 0.45 < (hidden == 0).float().mean() < 0.55


def test_multi_head_attention():
    module, x = MultiHeadedAttention(8, 512).eval(), draw()
    assert count(module) == 1_050_624
    assert module(x, x, x).shape == (2, 10, 512)
    assert module.attn.shape == (2, 8, 10, 10)
