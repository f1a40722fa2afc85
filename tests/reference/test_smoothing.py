"""Label smoothing against torch's Kullback-Leibler divergence and its own cross-entropy."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from transformer_ref import LabelSmoothing


def draw(n: int, size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, size, generator=generator, dtype=torch.float64)
    return logits.log_softmax(-1).requires_grad_()


def wanted(target: list[int], size: int, pad: int, smoothing: float) -> Tensor:
    """The distribution, written down position by position."""
    rows = torch.zeros(len(target), size, dtype=torch.float64)
    for row, right in zip(rows, target, strict=True):
        if right != pad:
            row += smoothing / max(size - 2, 1)
            row[right], row[pad] = 1 - smoothing, 0
    return rows


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_value_and_gradient_are_those_of_the_divergence(data):
    size = data.draw(st.integers(3, 9))
    pad = data.draw(st.integers(0, size - 1))
    target = data.draw(st.lists(st.integers(0, size - 1), max_size=5))
    smoothing = data.draw(st.sampled_from([0.0, 0.1, 0.4, 0.9]))
    x, rows = draw(len(target), size), wanted(target, size, pad, smoothing)
    loss = LabelSmoothing(size, pad, smoothing)(x, torch.tensor(target, dtype=torch.int64))
    torch.testing.assert_close(loss, F.kl_div(x, rows, reduction="sum"))
    (gradient,) = torch.autograd.grad(3 * loss, x)
    torch.testing.assert_close(gradient, -3 * rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_narrow_numbers_are_summed_in_float32(dtype):
    target = torch.arange(1000) % 8
    x, rows = draw(1000, 8).detach().to(dtype), wanted(target.tolist(), 8, 0, 0.4)
    x.requires_grad_()
    loss = LabelSmoothing(8, 0, 0.4)(x, target)
    assert loss.dtype == torch.float32 and loss.dim() == 0
    torch.testing.assert_close(loss, F.kl_div(x.double(), rows, reduction="sum").float())
    (gradient,) = torch.autograd.grad(loss, x)
    assert gradient.dtype == dtype
    torch.testing.assert_close(gradient, -rows.to(dtype))


def test_without_smoothing_it_is_cross_entropy_without_padding():
    logits = draw(6, 7).detach().requires_grad_()
    target = torch.tensor([3, 0, 1, 6, 0, 2])
    ours = LabelSmoothing(7, 0)(logits.log_softmax(-1), target)
    theirs = F.cross_entropy(logits, target, ignore_index=0, reduction="sum")
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_padding_only_costs_nothing():
    x = draw(3, 5)
    loss = LabelSmoothing(5, 2, 0.1)(x, torch.full((3,), 2))
    loss.backward()
    assert loss == 0 and (x.grad == 0).all()


def test_a_perfect_guess_costs_nothing():
    rows = wanted([1, 3], 5, 0, 0.2)
    assert LabelSmoothing(5, 0, 0.2)(rows.log(), torch.tensor([1, 3])).abs() < 1e-12


@pytest.mark.parametrize(("smoothing", "certain"), [(0.0, True), (0.1, False)])
def test_an_impossible_id_of_weight_zero_does_no_harm(smoothing, certain):
    logits = draw(3, 6).detach()
    logits[:, 0] = -torch.inf  # the padding's column
    logits[1] = -torch.inf  # a padding row
    if certain:
        logits[0, 4] = -torch.inf
    logits.requires_grad_()
    loss = LabelSmoothing(6, 0, smoothing)(logits, torch.tensor([1, 0, 5]))
    loss.backward()
    assert loss.isfinite() and logits.grad.isfinite().all()


def test_an_impossible_target_costs_infinitely_much():
    x = draw(2, 6).detach()
    x[0, 1] = -torch.inf
    assert LabelSmoothing(6, 0, 0.1)(x, torch.tensor([1, 5])) == torch.inf


def test_it_compiles_to_one_graph_and_maps_over_batches():
    criterion, x = LabelSmoothing(6, 0, 0.1), draw(4, 6)
    target = torch.tensor([1, 0, 5, 2])
    compiled = torch.compile(criterion, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, target), criterion(x, target))
    gradient = torch.func.grad(criterion)(x.detach(), target)
    rows = torch.vmap(torch.func.grad(criterion))(x.detach().unsqueeze(1), target.unsqueeze(1))
    torch.testing.assert_close(rows.squeeze(1), gradient)
    assert torch.autograd.gradcheck(lambda y: criterion(y, target), [x])
