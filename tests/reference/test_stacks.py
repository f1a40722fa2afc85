"""Encoder and decoder stacks: what they are made of, and the laws that need no weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from transformer_ref import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    LayerNorm,
    MultiHeadedAttention,
    PositionwiseFeedForward,
    subsequent_mask,
)

H, D_MODEL, D_FF = 3, 15, 20


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def encoder_layer(dropout: float = 0.0) -> EncoderLayer:
    attention = MultiHeadedAttention(H, D_MODEL, dropout)
    return EncoderLayer(
        D_MODEL, attention, PositionwiseFeedForward(D_MODEL, D_FF, dropout), dropout
    )


def decoder_layer(dropout: float = 0.0) -> DecoderLayer:
    attentions = [MultiHeadedAttention(H, D_MODEL, dropout) for _ in range(2)]
    return DecoderLayer(
        D_MODEL, *attentions, PositionwiseFeedForward(D_MODEL, D_FF, dropout), dropout
    )


STACKS = {"encoder": (encoder_layer, Encoder), "decoder": (decoder_layer, Decoder)}


def encoder(N: int = 2) -> Encoder:
    torch.manual_seed(0)
    return Encoder(encoder_layer(), N).double()


def decoder(N: int = 2) -> Decoder:
    torch.manual_seed(0)
    return Decoder(decoder_layer(), N).double()


def test_a_layer_keeps_its_size_and_the_sublayers_it_was_given():
    self_attn, src_attn = (MultiHeadedAttention(H, D_MODEL) for _ in range(2))
    feed_forward = PositionwiseFeedForward(D_MODEL, D_FF)
    layer = EncoderLayer(D_MODEL, self_attn, feed_forward, 0.0)
    assert layer.size == D_MODEL
    assert layer.self_attn is self_attn and layer.feed_forward is feed_forward
    layer = DecoderLayer(D_MODEL, self_attn, src_attn, feed_forward, 0.0)
    assert layer.size == D_MODEL
    assert layer.self_attn is self_attn and layer.feed_forward is feed_forward
    assert layer.src_attn is src_attn


@pytest.mark.parametrize("kind", STACKS)
@pytest.mark.parametrize("N", [0, 1, 3])
def test_a_stack_holds_N_copies_that_share_nothing(kind, N):
    make_layer, stack = STACKS[kind]
    layer = make_layer()
    built = stack(layer, N)
    assert len(built.layers) == N
    for copy in built.layers:
        torch.testing.assert_close(copy.state_dict(), layer.state_dict())
    everything = [p for module in (layer, built) for p in module.parameters()]
    each = len(list(layer.parameters()))
    assert len({p.data_ptr() for p in everything}) == each * (N + 1) + 2


def test_without_layers_only_the_norm_is_left():
    x, memory, norm = draw(2, 6, D_MODEL), draw(2, 7, D_MODEL), LayerNorm(D_MODEL).double()
    torch.testing.assert_close(encoder(0)(x, None), norm(x))
    torch.testing.assert_close(decoder(0)(x, memory, None, None), norm(x))


@pytest.mark.parametrize("i", range(3))
def test_every_layer_has_a_say(i):
    x, memory = draw(2, 6, D_MODEL), draw(2, 7, D_MODEL)
    for stack, rest in ((encoder(3), (None,)), (decoder(3), (memory, None, None))):
        before = stack(x, *rest)
        nn.init.zeros_(stack.layers[i].feed_forward.w_2.weight)
        assert (stack(x, *rest) - before).abs().max() > 1e-3


@pytest.mark.parametrize("kind", STACKS)
def test_dropout_falls_on_every_branch_and_on_no_sum(kind):
    make_layer, _ = STACKS[kind]
    layer, x, memory = make_layer(1.0).double(), draw(2, 6, D_MODEL), draw(2, 7, D_MODEL)
    rest = (None,) if kind == "encoder" else (memory, None, None)
    assert torch.equal(layer(x, *rest), x)
    assert not torch.equal(layer.eval()(x, *rest), x)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_the_encoder_follows_a_change_of_order(seed):
    stack, x = encoder(), draw(2, 7, D_MODEL, seed=seed)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(stack(x[:, order], None), stack(x, None)[:, order])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16), length=st.integers(1, 6))
def test_what_the_encoder_may_not_see_does_not_count(seed, length):
    stack, x = encoder(), draw(2, 7, D_MODEL, seed=seed)
    mask = (torch.arange(7) < length).expand(2, 1, 7)
    other = x.clone()
    other[:, length:] = draw(2, 7 - length, D_MODEL, seed=seed + 1)
    kept = stack(x, mask)[:, :length]
    torch.testing.assert_close(stack(other, mask)[:, :length], kept)
    torch.testing.assert_close(stack(x[:, :length], None), kept)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16), t=st.integers(0, 4), length=st.integers(1, 7))
def test_the_decoder_sees_neither_the_future_nor_the_padding_of_the_source(seed, t, length):
    stack = decoder()
    x, memory = draw(2, 6, D_MODEL, seed=seed), draw(2, 7, D_MODEL, seed=seed + 1)
    src_mask = (torch.arange(7) < length).expand(2, 1, 7)
    y = stack(x, memory, src_mask, subsequent_mask(6))
    later, other = x.clone(), memory.clone()
    later[:, t + 1 :] = draw(2, 5 - t, D_MODEL, seed=seed + 2)
    other[:, length:] = draw(2, 7 - length, D_MODEL, seed=seed + 3)
    z = stack(later, other, src_mask, subsequent_mask(6))
    torch.testing.assert_close(z[:, : t + 1], y[:, : t + 1])
    assert (z[:, t + 1 :] - y[:, t + 1 :]).abs().max() > 1e-6


def test_the_decoder_sees_the_memory_as_it_is():
    # A norm on the memory would undo a factor.
    stack, x, memory = decoder(), draw(2, 6, D_MODEL), draw(2, 7, D_MODEL)
    y, scaled = (stack(x, m, None, None) for m in (memory, 3 * memory))
    assert (y - scaled).abs().max() > 0.01


def test_the_order_of_the_memory_is_free():
    stack, x, memory = decoder(), draw(2, 6, D_MODEL), draw(2, 7, D_MODEL)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(stack(x, memory[:, order], None, None), stack(x, memory, None, None))
