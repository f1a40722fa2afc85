"""The published figures at the paper's size: d_model 512, d_ff 2048, 8 heads."""

import pytest
import torch
from torch import nn

from transformer_ref import (
    MultiHeadedAttention,
    PositionwiseFeedForward,
    make_model,
    subsequent_mask,
)

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


def test_model():
    torch.manual_seed(0)
    model = make_model(8316, 6384).eval()
    parts = {name: count(part) for name, part in model.named_children()}
    assert parts == {
        "encoder": 18_915_328,
        "decoder": 25_225_216,
        "src_embed": 4_257_792,
        "tgt_embed": 3_268_608,
        "generator": 3_274_992,
    }
    assert count(model) == 54_941_936

    generator = torch.Generator().manual_seed(0)
    src = torch.randint(8316, (1, 9), generator=generator)
    tgt = torch.randint(6384, (1, 5), generator=generator)
    src_mask = torch.ones(1, 1, 9, dtype=torch.bool)
    with torch.no_grad():
        memory = model.encode(src, src_mask)
        features = model.decode(memory, src_mask, tgt, subsequent_mask(5))
        log_probs = model.generator(features)
    assert memory.shape == (1, 9, 512)
    assert features.shape == (1, 5, 512)
    assert log_probs.shape == (1, 5, 6384)
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(1, 5))
    assert all(layer.src_attn.attn.shape == (1, 8, 5, 9) for layer in model.decoder.layers)

    largest = max(layer.feed_forward.w_1.weight.abs().max() for layer in model.encoder.layers)
    assert round(largest.item(), 4) == round((6 / (512 + 2048)) ** 0.5, 4) == 0.0484
