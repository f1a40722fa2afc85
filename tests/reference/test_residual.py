"""Layer normalization and the residual connection: formula, gradients, edge rows."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from transformer_ref import LayerNorm, SublayerConnection


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def build(features: int = 15, eps: float = 1e-6) -> LayerNorm:
    """A float64 module whose gain and bias differ from feature to feature."""
    module = LayerNorm(features, eps).double()
    with torch.no_grad():
        module.a_2.copy_(draw(features, seed=3))
        module.b_2.copy_(draw(features, seed=4))
    return module


def test_values_and_gradients_are_those_of_torch_up_to_the_unbiased_std():
    # With eps 0 the two formulas differ by the factor sqrt((n - 1) / n), here put into the gain.
    ours, x = build(eps=0.0), draw(2, 7, 15).requires_grad_()
    gain = ours.a_2 * (14 / 15) ** 0.5
    theirs = F.layer_norm(x, (15,), gain, ours.b_2, eps=0.0)
    torch.testing.assert_close(ours(x), theirs)
    cotangent = draw(2, 7, 15, seed=1)
    wanted = [x, ours.a_2, ours.b_2]
    torch.testing.assert_close(
        torch.autograd.grad(ours(x), wanted, cotangent),
        torch.autograd.grad(theirs, wanted, cotangent),
    )


def test_the_formula_by_hand():
    # Mean 3, unbiased std 2, and with eps 2 the divisor is 4.
    y = LayerNorm(3, eps=2.0)(torch.tensor([1.0, 3.0, 5.0]))
    torch.testing.assert_close(y, torch.tensor([-0.5, 0.0, 0.5]))


def test_gain_is_one_and_bias_zero_at_the_start():
    module = LayerNorm(15)
    assert (module.a_2 == 1).all() and (module.b_2 == 0).all() and module.eps == 1e-6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_constant_row_gives_the_bias_and_finite_gradients(dtype):
    ours = build().to(dtype)
    x = torch.full((2, 15), 0.25, dtype=dtype, requires_grad=True)
    y = ours(x)
    torch.testing.assert_close(y, ours.b_2.expand_as(y))
    y.backward(draw(2, 15).to(dtype))
    assert all(tensor.grad.isfinite().all() for tensor in (x, ours.a_2, ours.b_2))


@pytest.mark.parametrize("features", [1, 0, -2])
def test_one_feature_has_no_unbiased_std(features):
    with pytest.raises(ValueError, match="at least 2"):
        LayerNorm(features)


@settings(max_examples=40, deadline=None)
@given(
    leading=st.lists(st.integers(1, 4), max_size=3),
    features=st.integers(3, 9),  # Two that are nearly equal would be all rounding.
    seed=st.integers(0, 2**16),
    shift=st.floats(-10, 10),
    factor=st.floats(0.1, 100),
)
def test_rows_are_normalized_each_on_its_own(leading, features, seed, shift, factor):
    ours, x = LayerNorm(features, eps=0.0).double(), draw(*leading, features, seed=seed)
    y = ours(x)
    assert y.shape == x.shape
    torch.testing.assert_close(y.mean(-1), torch.zeros(leading, dtype=torch.float64))
    torch.testing.assert_close(y.std(-1), torch.ones(leading, dtype=torch.float64))
    torch.testing.assert_close(ours(factor * x + shift), y)


@pytest.mark.parametrize("sublayer", [torch.tanh, nn.Linear(15, 15).double(), lambda x: 2 * x])
def test_the_branch_is_normalized_and_the_sum_is_not(sublayer):
    ours, x = SublayerConnection(15, 0.0).double(), draw(2, 7, 15)
    ours.norm.load_state_dict(build().state_dict())
    torch.testing.assert_close(ours(x, sublayer), x + sublayer(build()(x)))


def test_dropout_falls_on_the_branch_only():
    ours, x = SublayerConnection(15, 1.0).double(), draw(2, 7, 15)
    assert torch.equal(ours(x, lambda branch: branch + 1), x)
    assert not torch.equal(ours.eval()(x, lambda branch: branch + 1), x)


def test_a_sublayer_that_returns_zero_leaves_the_input():
    x = draw(2, 7, 15)
    assert torch.equal(SublayerConnection(15, 0.1).double()(x, torch.zeros_like), x)


def test_gradients_reach_input_norm_and_sublayer():
    ours, linear = SublayerConnection(5, 0.0).double(), nn.Linear(5, 5).double()
    x = draw(3, 5).requires_grad_()
    wanted = [x, *ours.parameters(), *linear.parameters()]
    assert torch.autograd.gradcheck(lambda *_: ours(x, linear), wanted)


def test_state_dict_has_the_published_keys():
    assert set(LayerNorm(15).state_dict()) == {"a_2", "b_2"}
    assert set(SublayerConnection(15, 0.1).state_dict()) == {"norm.a_2", "norm.b_2"}
