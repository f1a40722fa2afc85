"""Multi-head attention against torch's own with the same weights, and copies of layers."""

from copy import deepcopy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer_ref import MultiHeadedAttention, attention, clones

B, H, D_MODEL, LQ, LK = 2, 3, 15, 6, 7


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def draw_qkv(seed: int = 0) -> list[torch.Tensor]:
    lengths = [LQ, LK, LK]
    drawn = [draw(B, length, D_MODEL, seed=seed + i) for i, length in enumerate(lengths)]
    return [x.requires_grad_() for x in drawn]


def build(h: int = H, d_model: int = D_MODEL, dropout: float = 0.0) -> MultiHeadedAttention:
    """A float64 module whose biases are not nearly zero."""
    torch.manual_seed(0)
    module = MultiHeadedAttention(h, d_model, dropout).double()
    for linear in module.linears:
        nn.init.normal_(linear.bias)
    return module


def torch_twin(ours: MultiHeadedAttention) -> nn.MultiheadAttention:
    """torch's module holding the same weights."""
    *inward, outward = ours.linears
    twin = nn.MultiheadAttention(ours.h * ours.d_k, ours.h, batch_first=True).double()
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.cat([linear.weight for linear in inward]))
        twin.in_proj_bias.copy_(torch.cat([linear.bias for linear in inward]))
    twin.out_proj.load_state_dict(outward.state_dict())
    return twin.eval()


def padding_mask() -> torch.Tensor:
    """(B, 1, Lk): the rows of the batch end at different places; True may be looked at."""
    return torch.tensor([[[1, 1, 1, 1, 1, 0, 0]], [[1, 1, 0, 0, 0, 0, 0]]]).bool()


def pair_mask() -> torch.Tensor:
    """(B, Lq, Lk), different for every query."""
    mask = draw(B, LQ, LK, seed=9) > 0
    mask[..., 1] = True
    return mask


# torch says which keys are hidden where we say which may be looked at, and repeats for each head.
MASKS = {
    "none": (None, {}),
    "padding": (padding_mask(), {"key_padding_mask": ~padding_mask().squeeze(1)}),
    "pairs": (pair_mask(), {"attn_mask": (~pair_mask()).repeat_interleave(H, dim=0)}),
}


@pytest.mark.parametrize("name", MASKS)
def test_values_weights_and_gradients_are_those_of_torch(name):
    mask, options = MASKS[name]
    ours, inputs = build(), draw_qkv()
    twin = torch_twin(ours)
    y = ours(*inputs, mask)
    y_twin, p_twin = twin(*inputs, average_attn_weights=False, **options)
    torch.testing.assert_close(y, y_twin)
    torch.testing.assert_close(ours.attn, p_twin.detach())

    cotangent = draw(*y.shape, seed=5)
    torch.testing.assert_close(
        torch.autograd.grad(y, inputs, cotangent, retain_graph=True),
        torch.autograd.grad(y_twin, inputs, cotangent, retain_graph=True),
    )
    y.backward(cotangent)
    y_twin.backward(cotangent)
    *inward, outward = ours.linears
    for part in ("weight", "bias"):
        fused = torch.cat([getattr(linear, part).grad for linear in inward])
        torch.testing.assert_close(fused, getattr(twin, f"in_proj_{part}").grad)
        torch.testing.assert_close(getattr(outward, part).grad, getattr(twin.out_proj, part).grad)


def test_the_other_polarity_gives_something_else():
    ours, inputs = build(), draw_qkv()
    right, turned = (ours(*inputs, mask) for mask in (padding_mask(), ~padding_mask()))
    assert (right - turned).abs().max() > 0.01


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float32])
def test_the_dtype_of_the_mask_does_not_matter(dtype):
    ours, inputs = build(), draw_qkv()
    torch.testing.assert_close(
        ours(*inputs, padding_mask().to(dtype)), ours(*inputs, padding_mask())
    )


def test_one_head_is_attention_between_four_projections():
    ours, inputs = build(h=1), draw_qkv()
    *inward, outward = ours.linears
    x, _ = attention(*(linear(x) for linear, x in zip(inward, inputs, strict=True)))
    torch.testing.assert_close(ours(*inputs), outward(x))


def test_attn_belongs_to_the_last_call_and_carries_no_graph():
    ours, (query, key, value) = build(), draw_qkv()
    assert ours.attn is None
    ours(query, key, value)
    assert ours.attn.shape == (B, H, LQ, LK) and not ours.attn.requires_grad
    ours(query, query, query)
    assert ours.attn.shape == (B, H, LQ, LQ)
    deepcopy(ours)


def test_dropout_of_everything_leaves_the_output_bias():
    ours = build(dropout=1.0)
    y = ours(*draw_qkv())
    torch.testing.assert_close(y, ours.linears[3].bias.expand_as(y))
    assert (ours.eval()(*draw_qkv()) - ours.linears[3].bias).abs().max() > 0.01


def test_dropout_is_a_tenth_unless_told():
    assert MultiHeadedAttention(3, 15).dropout.p == 0.1


@pytest.mark.parametrize(("h", "d_model"), [(4, 15), (16, 15), (0, 15), (-3, 15)])
def test_heads_must_divide_the_width(h, d_model):
    with pytest.raises(ValueError, match="divide"):
        MultiHeadedAttention(h, d_model)


def test_state_dict_has_the_published_keys():
    shapes = {key: tuple(x.shape) for key, x in MultiHeadedAttention(3, 15).state_dict().items()}
    expected = {}
    for i in range(4):
        expected |= {f"linears.{i}.weight": (15, 15), f"linears.{i}.bias": (15,)}
    assert shapes == expected


def test_projections_do_not_start_equal():
    weights = [linear.weight for linear in MultiHeadedAttention(3, 15).linears]
    assert len({w.sum().item() for w in weights}) == 4


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_order_of_keys_is_free_and_order_of_queries_is_kept(seed):
    ours, (query, key, value) = build().eval(), draw_qkv(seed)
    generator = torch.Generator().manual_seed(seed)
    keys, queries = torch.randperm(LK, generator=generator), torch.randperm(LQ, generator=generator)
    y = ours(query, key, value, padding_mask())
    mask = padding_mask()[..., keys]
    torch.testing.assert_close(
        ours(query[:, queries], key[:, keys], value[:, keys], mask), y[:, queries]
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16), h=st.sampled_from([1, 2, 3, 4, 6, 12]))
def test_rows_of_a_batch_do_not_meet(seed, h):
    ours = build(h, 12)
    x = draw(3, 5, 12, seed=seed)
    alone = torch.cat([ours(row, row, row) for row in x.split(1)])
    torch.testing.assert_close(ours(x, x, x), alone)


@pytest.mark.parametrize("N", [0, 1, 3])
def test_clones_are_equal_and_share_nothing(N):
    original = nn.Linear(4, 5)
    copies = clones(original, N)
    assert isinstance(copies, nn.ModuleList) and len(copies) == N
    for copy in copies:
        torch.testing.assert_close(copy.state_dict(), original.state_dict())
    everything = [p for module in (original, *copies) for p in module.parameters()]
    assert len({p.data_ptr() for p in everything}) == 2 * (N + 1)


def test_a_change_to_one_clone_stays_there():
    first, second = clones(nn.Linear(4, 5), 2)
    with torch.no_grad():
        first.weight.zero_()
    assert second.weight.abs().sum() > 0
