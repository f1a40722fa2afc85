"""Step 12, the reference: the optimizer and its learning rate (paper, section 5.3)."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

__all__ = ["make_optimizer", "rate"]


def rate(step: int, model_size: int, factor: float, warmup: int) -> float:
    """Compute the learning rate of an update: a linear rise, then a fall with the square root.

        factor * model_size^-0.5 * min(step^-0.5, step * warmup^-1.5)          (equation 3)

    Args:
        step: the number of the update, from 1; 0 counts as 1, where the formula has no value.
        model_size: d_model.
        factor: multiplies all of it; 1 in the paper.
        warmup: the update with the highest rate, 1 or more.
    """
    step = max(step, 1)
    return float(factor * model_size**-0.5 * min(step**-0.5, step * warmup**-1.5))


def make_optimizer(
    model: nn.Module, d_model: int, factor: float = 1.0, warmup: int = 4000
) -> tuple[torch.optim.Adam, LambdaLR]:
    """Pair Adam with the schedule; step the scheduler once after each update.

    Update n (1, 2, ...) then uses rate(n): a scheduler counts from 0, so it is asked for one more.

    Args:
        model: whose parameters are trained.
        d_model: the width of the model.
        factor: see `rate`.
        warmup: see `rate`.

    Returns:
        The optimizer, with betas (0.9, 0.98) and eps 1e-9, and its scheduler.
    """
    parameters = list(model.parameters())
    # One pass over a tensor where torch has it, instead of one for each operation.
    fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)
    # The scheduler multiplies the optimizer's own rate, which therefore is 1.
    optimizer = torch.optim.Adam(parameters, lr=1.0, betas=(0.9, 0.98), eps=1e-9, fused=fused)
    return optimizer, LambdaLR(optimizer, lambda step: rate(step + 1, d_model, factor, warmup))
