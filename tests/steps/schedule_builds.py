"""Schedules and optimizers made in more ways, all right: from rate to rate, in two groups."""

from __future__ import annotations

HONEST = {
    "each rate a multiple of the one before": """
import math
import torch


def rate(step, model_size, factor, warmup):
    step = 1 if step < 1 else step
    logs = (-0.5 * math.log(step), math.log(step) - 1.5 * math.log(warmup))
    return factor * math.exp(min(logs) - 0.5 * math.log(model_size))


def make_optimizer(model, d_model, factor=1.0, warmup=4000):
    now = lambda n: rate(n, d_model, factor, warmup)
    adam = torch.optim.Adam(list(model.parameters()), now(1), (0.9, 0.98), 1e-9)
    grow = lambda n: now(n + 1) / now(n)
    return adam, torch.optim.lr_scheduler.MultiplicativeLR(adam, grow)
""",
    "a scheduler of its own, two groups": """
import torch
from torch.optim.lr_scheduler import LRScheduler


def rate(step, model_size, factor, warmup):
    step = max(float(step), 1.0)
    return factor / (model_size * max(step, warmup**3 / step**2)) ** 0.5


class Noam(LRScheduler):
    def __init__(self, optimizer, *sizes):
        self.sizes = sizes
        super().__init__(optimizer)

    def get_lr(self):
        return [rate(self.last_epoch + 1, *self.sizes) for _ in self.optimizer.param_groups]


def make_optimizer(model, d_model, factor=1.0, warmup=4000):
    weights = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": weights}, {"params": others}]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.98), eps=1e-9)
    return optimizer, Noam(optimizer, d_model, factor, warmup)
""",
}
