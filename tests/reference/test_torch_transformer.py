"""Layers, stacks and the whole model against torch's own, whose norm is made to coincide."""

import re
from collections import defaultdict
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor, nn

from transformer_ref import EncoderDecoder, make_model, subsequent_mask

D_MODEL, D_FF, H, N = 15, 20, 3, 2
# With eps 0 the unbiased std divides by this factor more than torch's, whatever the input.
UNBIASED = ((D_MODEL - 1) / D_MODEL) ** 0.5

NAMES = {
    r"src_attn": "multihead_attn",
    r"linears\.[012]\.": "in_proj_",
    r"linears\.3": "out_proj",
    r"feed_forward\.w_": "linear",
    r"sublayer\.0\.norm": "norm1",
    r"sublayer\.1\.norm": "norm2",
    r"sublayer\.2\.norm": "norm3",
    r"a_2": "weight",
    r"b_2": "bias",
}


def torch_names(tensors: Mapping[str, Tensor], gain: float) -> dict[str, Tensor]:
    """Give our tensors torch's names; the norms' gains are multiplied by a number."""
    found = defaultdict(list)
    for name, x in tensors.items():
        found_name = name
        for ours, theirs in NAMES.items():
            found_name = re.sub(ours, theirs, found_name)
        found[found_name].append(x * gain if name.endswith("a_2") else x)
    return {name: torch.cat(parts) for name, parts in found.items()}


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="module")
def ours() -> EncoderDecoder:
    """A model that takes vectors, with no bias nearly zero and no gain nearly one."""
    torch.manual_seed(0)
    built = make_model(11, 13, N, D_MODEL, D_FF, H, dropout=0.0).double()
    model = EncoderDecoder(
        built.encoder, built.decoder, nn.Identity(), nn.Identity(), nn.Identity()
    )
    for name, x in model.named_parameters():
        if x.dim() == 1:
            nn.init.normal_(x, mean=float(name.endswith("a_2")), std=0.5)
    for module in model.modules():
        if hasattr(module, "eps"):
            module.eps = 0.0
    return model


@pytest.fixture(scope="module")
def theirs(ours) -> nn.Transformer:
    """torch's model with the same weights; every layer, norm and stack in it is torch's."""
    with pytest.warns(UserWarning, match="nested"):  # A fast path that norm_first turns off.
        model = nn.Transformer(
            *(D_MODEL, H, N, N, D_FF),
            dropout=0.0,
            layer_norm_eps=0.0,
            batch_first=True,
            norm_first=True,
            dtype=torch.float64,
        )
    model.load_state_dict(torch_names(ours.state_dict(), UNBIASED), strict=True)
    return model


def src_mask() -> Tensor:
    """(B, 1, S): the rows of the batch end at different places; True may be looked at."""
    return torch.tensor([[[1, 1, 1, 1, 1, 0, 0]], [[1, 1, 1, 0, 0, 0, 0]]]).bool()


def tgt_padding() -> Tensor:
    """(B, T), likewise."""
    return torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 0]]).bool()


# torch says what is hidden where we say what may be looked at, and splits the target's mask in two.
ENCODER = {"src_key_padding_mask": ~src_mask().squeeze(1)}
DECODER = {
    "tgt_mask": ~subsequent_mask(6)[0],
    "tgt_key_padding_mask": ~tgt_padding(),
    "memory_key_padding_mask": ~src_mask().squeeze(1),
}


def tgt_mask() -> Tensor:
    return tgt_padding().unsqueeze(1) & subsequent_mask(6)


def assert_same(module, twin, inputs, call, call_twin):
    """Hold values, and the gradients of inputs and parameters, against the twin's."""
    y, y_twin = call(*inputs), call_twin(*inputs)
    torch.testing.assert_close(y, y_twin)
    cotangent = draw(*y.shape, seed=5)
    gradients = []
    for result, of in ((y, module), (y_twin, twin)):
        names, parameters = zip(*of.named_parameters(), strict=True)
        got = torch.autograd.grad(result, [*inputs, *parameters], cotangent)
        gradients.append((got[: len(inputs)], dict(zip(names, got[len(inputs) :], strict=True))))
    (of_inputs, of_parameters), twins = gradients
    # A gain that stands for a factor times ours has a gradient smaller by that factor.
    torch.testing.assert_close((of_inputs, torch_names(of_parameters, 1 / UNBIASED)), twins)


def source() -> Tensor:
    return draw(2, 7, D_MODEL, seed=1).requires_grad_()


def target() -> Tensor:
    return draw(2, 6, D_MODEL, seed=2).requires_grad_()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("i", range(N))
def test_encoder_layer(ours, theirs, i, masked):
    module, twin = ours.encoder.layers[i], theirs.encoder.layers[i]
    mask, options = (src_mask(), ENCODER) if masked else (None, {})
    assert isinstance(twin, nn.TransformerEncoderLayer)
    assert_same(module, twin, [source()], lambda x: module(x, mask), lambda x: twin(x, **options))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("i", range(N))
def test_decoder_layer(ours, theirs, i, masked):
    module, twin = ours.decoder.layers[i], theirs.decoder.layers[i]
    masks, options = ((src_mask(), tgt_mask()), DECODER) if masked else ((None, None), {})
    assert isinstance(twin, nn.TransformerDecoderLayer)
    assert_same(
        module,
        twin,
        [target(), source()],
        lambda x, memory: module(x, memory, *masks),
        lambda x, memory: twin(x, memory, **options),
    )


def test_encoder_with_its_last_norm(ours, theirs):
    module, twin = ours.encoder, theirs.encoder
    assert_same(
        module, twin, [source()], lambda x: module(x, src_mask()), lambda x: twin(x, **ENCODER)
    )


def test_decoder_with_its_last_norm(ours, theirs):
    module, twin = ours.decoder, theirs.decoder
    assert_same(
        module,
        twin,
        [target(), source()],
        lambda x, memory: module(x, memory, src_mask(), tgt_mask()),
        lambda x, memory: twin(x, memory, **DECODER),
    )


def test_whole_model(ours, theirs):
    assert_same(
        ours,
        theirs,
        [source(), target()],
        lambda src, tgt: ours(src, tgt, src_mask(), tgt_mask()),
        lambda src, tgt: theirs(src, tgt, **ENCODER, **DECODER),
    )


def test_a_mask_of_the_other_polarity_gives_something_else(ours):
    right, turned = (ours.encode(source(), mask) for mask in (src_mask(), ~src_mask()))
    assert (right - turned).abs().max() > 0.01


def test_masks_in_each_others_place_give_something_else(ours):
    x = source()
    padding, causal = src_mask().expand(-1, 7, -1), subsequent_mask(7)
    right = ours.decode(x, padding, x, causal)
    assert (right - ours.decode(x, causal, x, padding)).abs().max() > 0.01
