"""What every piece of the reference must bear: dtypes, devices, compilation, copies."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from transformer_ref import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    Generator,
    LayerNorm,
    MultiHeadedAttention,
    PositionalEncoding,
    PositionwiseFeedForward,
    SublayerConnection,
    attention,
)


def encoder() -> Encoder:
    attn, feed_forward = MultiHeadedAttention(3, 15), PositionwiseFeedForward(15, 20)
    return Encoder(EncoderLayer(15, attn, feed_forward, 0.1), 1)


def decoder() -> Decoder:
    self_attn, src_attn = MultiHeadedAttention(3, 15), MultiHeadedAttention(3, 15)
    return Decoder(DecoderLayer(15, self_attn, src_attn, PositionwiseFeedForward(15, 20), 0.1), 1)


# How each piece is built, and how it is called on a sequence and its mask.
PIECES = {
    "attention": (nn.Identity, lambda _, x, mask: attention(x, x, x, mask)[0]),
    "multi-head attention": (
        lambda: MultiHeadedAttention(3, 15),
        lambda module, x, mask: module(x, x, x, mask),
    ),
    "feed-forward": (lambda: PositionwiseFeedForward(15, 20), lambda module, x, _: module(x)),
    "layer norm": (lambda: LayerNorm(15), lambda module, x, _: module(x)),
    "residual": (
        lambda: SublayerConnection(15, 0.1),
        lambda module, x, _: module(x, torch.tanh),
    ),
    "positions": (lambda: PositionalEncoding(15, 0.1, 9), lambda module, x, _: module(x)),
    "encoder": (encoder, lambda module, x, mask: module(x, mask)),
    "decoder": (decoder, lambda module, x, mask: module(x, x, None, mask)),
    "generator": (lambda: Generator(15, 11), lambda module, x, _: module(x)),
}
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=PIECES)
def piece(request):
    """The piece in eval mode, and a function that calls it on (x, mask)."""
    build, call = PIECES[request.param]
    torch.manual_seed(0)
    module = build().eval()
    return module, lambda x, mask: call(module, x, mask)


def draw(dtype: torch.dtype = torch.float32, length: int = 7) -> tuple[Tensor, Tensor]:
    """A sequence (2, length, 15), and a mask that lets a position look back and at itself."""
    x = torch.randn(2, length, 15, generator=torch.Generator().manual_seed(0)).to(dtype)
    return x, torch.ones(length, length, dtype=torch.bool).tril().expand(2, -1, -1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-5), (torch.float32, 1e-5), (torch.bfloat16, 5e-2), (torch.float16, 5e-3)],
)
def test_a_dtype_goes_in_and_the_same_comes_out(piece, dtype, tolerance, device):
    module, call = piece
    expected = call(*draw())
    module.to(dtype=dtype, device=device)
    x, mask = (tensor.to(device) for tensor in draw(dtype))
    y = call(x, mask)
    assert y.dtype == dtype and y.device == x.device
    torch.testing.assert_close(y.float().cpu(), expected, atol=tolerance, rtol=tolerance)


def test_nothing_is_tied_to_the_device_it_was_made_on(piece):
    module, call = piece
    module.to("meta")
    x, mask = (tensor.to("meta") for tensor in draw())
    assert call(x, mask).device.type == "meta"


@pytest.mark.parametrize("training", [False, True])
def test_it_compiles_to_one_graph(piece, training):
    module, call = piece
    module.train(training)
    torch.compiler.reset()
    compiled = torch.compile(call, backend="eager", fullgraph=True)
    for length in (7, 4):
        x, mask = draw(length=length)
        results = []
        for function in (call, compiled):
            torch.manual_seed(1)
            leaf = x.clone().requires_grad_()
            y = function(leaf, mask)
            results.append((y, *torch.autograd.grad(y.square().sum(), leaf)))
        torch.testing.assert_close(*results)


def test_inputs_are_left_as_they_were(piece):
    _, call = piece
    x, mask = draw()
    call(x, mask)
    torch.testing.assert_close((x, mask), draw(), rtol=0, atol=0)


def test_it_can_be_copied_after_a_call(piece):
    module, call = piece
    x, mask = draw()
    call(x.requires_grad_(), mask)
    copy = deepcopy(module)
    assert copy.state_dict().keys() == module.state_dict().keys()
