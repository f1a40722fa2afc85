"""The position-wise feed-forward network: its formula, and that positions do not meet."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer_ref import PositionwiseFeedForward


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def build(dropout: float = 0.0) -> PositionwiseFeedForward:
    torch.manual_seed(0)
    return PositionwiseFeedForward(12, 20, dropout).double()


def test_values_and_gradients_are_those_of_a_sequential_of_torch_layers():
    ours, x = build(), draw(2, 7, 12).requires_grad_()
    twin = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 12)).double()
    twin[0].load_state_dict(ours.w_1.state_dict())
    twin[2].load_state_dict(ours.w_2.state_dict())
    torch.testing.assert_close(ours(x), twin(x))
    cotangent = draw(2, 7, 12, seed=1)
    torch.testing.assert_close(
        torch.autograd.grad(ours(x), [x, *ours.parameters()], cotangent),
        torch.autograd.grad(twin(x), [x, *twin.parameters()], cotangent),
    )


def test_the_formula_by_hand():
    ours = PositionwiseFeedForward(2, 3, 0.0)
    with torch.no_grad():
        ours.w_1.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
        ours.w_1.bias.copy_(torch.tensor([0.0, 1.0, 1.0]))
        ours.w_2.weight.copy_(torch.tensor([[1.0, 10.0, 100.0], [0.0, 1.0, 0.0]]))
        ours.w_2.bias.copy_(torch.tensor([0.5, 0.0]))
    # The hidden layer is relu(2, -3 + 1, -2 + 1) = (2, 0, 0).
    torch.testing.assert_close(ours(torch.tensor([2.0, -3.0])), torch.tensor([2.5, 0.0]))


def test_dropout_stands_after_the_relu():
    ours = build(dropout=1.0)
    y = ours(draw(2, 7, 12))
    torch.testing.assert_close(y, ours.w_2.bias.expand_as(y))
    ours.eval()
    torch.testing.assert_close(ours(draw(2, 7, 12)), build()(draw(2, 7, 12)))


def test_dropout_keeps_the_mean():
    ours, x = build(dropout=0.5), draw(1, 12).expand(20_000, 12)
    torch.manual_seed(1)
    mean = ours(x).mean(0)
    torch.testing.assert_close(mean, ours.eval()(x)[0], atol=0.02, rtol=0)


def test_dropout_is_a_tenth_unless_told():
    assert PositionwiseFeedForward(12, 20).dropout.p == 0.1


def test_state_dict_has_the_published_keys():
    shapes = {key: tuple(x.shape) for key, x in build().state_dict().items()}
    assert shapes == {
        "w_1.weight": (20, 12),
        "w_1.bias": (20,),
        "w_2.weight": (12, 20),
        "w_2.bias": (12,),
    }


@settings(max_examples=30, deadline=None)
@given(
    leading=st.lists(st.integers(1, 4), max_size=3),
    length=st.integers(1, 6),
    seed=st.integers(0, 2**16),
)
def test_a_token_alone_is_the_token_in_its_sentence(leading, length, seed):
    ours, x = build(), draw(*leading, length, 12, seed=seed)
    y = ours(x)
    assert y.shape == x.shape
    for i in range(length):
        torch.testing.assert_close(ours(x[..., i, :]), y[..., i, :])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**16), factor=st.floats(0.01, 100))
def test_without_biases_a_positive_factor_passes_through(seed, factor):
    ours, x = build(), draw(3, 12, seed=seed)
    nn.init.zeros_(ours.w_1.bias)
    nn.init.zeros_(ours.w_2.bias)
    torch.testing.assert_close(ours(factor * x), factor * ours(x))
