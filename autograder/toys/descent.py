"""Gradient descent with momentum, and a schedule for it, that count what is asked of them.

They are torch's by name and by what they offer. Making one of torch's own loads torch's compiler,
which takes longer than a whole step's checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler


class Descent(Optimizer):
    """w <- w - lr * v, with v <- momentum * v + gradient. Notes the rate of every update."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float, momentum: float = 0.0) -> None:
        self.defaults = {"lr": lr, "momentum": momentum}
        self.param_groups: list[dict[str, Any]] = [{"params": list(params), **self.defaults}]
        self.speeds: list[Tensor | None] = [None] * len(self._params)
        self.rates: list[float] = []

    @property
    def _params(self) -> list[nn.Parameter]:
        return self.param_groups[0]["params"]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one update."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        group = self.param_groups[0]
        self.rates.append(float(group["lr"]))
        for i, p in enumerate(self._params):
            if p.grad is None:
                continue
            before = self.speeds[i]
            kept = 0.0 if before is None else group["momentum"] * before
            speed = self.speeds[i] = kept + p.grad
            p.sub_(group["lr"] * speed)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients."""
        for p in self._params:
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad = torch.zeros_like(p)

    def state_dict(self) -> dict[str, Any]:
        """What the next update depends on."""
        numbers = list(range(len(self._params)))
        state = {i: {"speed": v} for i, v in enumerate(self.speeds) if v is not None}
        group = {k: v for k, v in self.param_groups[0].items() if k != "params"}
        return {"state": state, "param_groups": [{**group, "params": numbers}]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what the next update depends on."""
        for i in range(len(self.speeds)):
            speed = state_dict["state"].get(i, {}).get("speed")
            self.speeds[i] = None if speed is None else speed.clone()
        group = state_dict["param_groups"][0]
        self.param_groups[0].update({k: v for k, v in group.items() if k != "params"})


class Schedule(LRScheduler):
    """Update n, counted from 0, has the rate lr * factor(n)."""

    def __init__(self, optimizer: Optimizer, factor: Callable[[int], float]) -> None:
        self.optimizer, self.factor = optimizer, factor
        self.base_lrs = [group["lr"] for group in optimizer.param_groups]
        self.last_epoch = 0
        self._set()

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next update's rate, or to that of the number given, as torch's own do."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set()

    def get_last_lr(self) -> list[float | Tensor]:
        """The rates in force."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """How far it has come."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there; as with torch's own, the rate in force comes from the optimizer."""
        self.last_epoch = state_dict["last_epoch"]
        self.base_lrs = list(state_dict["base_lrs"])

    def _set(self) -> None:
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base * self.factor(self.last_epoch)
