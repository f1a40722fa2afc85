"""The learning rate, and which update gets which."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from transformer_ref import make_optimizer, rate


def test_the_formula_by_hand():
    assert rate(4, 16, 2.0, 25) == pytest.approx(2 / 4 * 4 / 125)  # before the top
    assert rate(100, 16, 2.0, 25) == pytest.approx(2 / 4 / 10)  # after it
    assert rate(4000, 512, 1.0, 4000) == pytest.approx(6.9877e-4, rel=1e-4)  # the paper's highest


@settings(max_examples=60, deadline=None)
@given(warmup=st.integers(1, 500), width=st.integers(1, 1024), factor=st.floats(0.01, 10))
def test_it_rises_to_the_warmup_and_falls_afterwards(warmup, width, factor):
    rates = [rate(step, width, factor, warmup) for step in range(1, 2 * warmup + 3)]
    top = warmup - 1
    assert all(a < b for a, b in pairwise(rates[: top + 1]))
    assert all(a > b for a, b in pairwise(rates[top:]))
    assert rates[top] == pytest.approx(factor / math.sqrt(width * warmup))


def test_step_zero_counts_as_one():
    assert rate(0, 512, 1.0, 4000) == rate(1, 512, 1.0, 4000) > 0


def test_update_n_uses_rate_n():
    model = nn.Linear(2, 2)
    optimizer, scheduler = make_optimizer(model, 16, factor=2.0, warmup=3)
    for n in range(1, 9):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(rate(n, 16, 2.0, 3))
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        scheduler.step()


def test_the_defaults_are_the_papers():
    optimizer, scheduler = make_optimizer(nn.Linear(2, 2), 512)
    assert isinstance(optimizer, torch.optim.Adam)
    assert scheduler.optimizer is optimizer
    (group,) = optimizer.param_groups
    assert group["betas"] == (0.9, 0.98) and group["eps"] == 1e-9 and group["weight_decay"] == 0
    assert group["lr"] == rate(1, 512, 1.0, 4000)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_updates_are_those_of_adam_written_out(dtype):
    model = nn.Linear(3, 2).to(dtype)
    theta = model.weight.detach().double().clone()
    optimizer, scheduler = make_optimizer(model, 16, warmup=2)
    m = v = torch.zeros_like(theta)
    for n in range(1, 6):
        gradient = torch.randn(2, 3, generator=torch.Generator().manual_seed(n)).double()
        model.weight.grad = gradient.to(dtype)
        optimizer.step()
        scheduler.step()
        m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
        step = (m / (1 - 0.9**n)) / ((v / (1 - 0.98**n)).sqrt() + 1e-9)
        theta = theta - rate(n, 16, 1.0, 2) * step
        torch.testing.assert_close(model.weight.detach(), theta.to(dtype))


def test_a_model_on_no_device_of_its_own_gets_an_optimizer():
    optimizer, _ = make_optimizer(nn.Linear(2, 2, device="meta"), 16)
    assert len(optimizer.param_groups[0]["params"]) == 2
