"""Step 12: optimizer and learning rate. Fill in the bodies, then run `pytest exercises/step12`.

At the start, every gradient is wild and Adam knows nothing yet of their sizes, so the steps must be
small. Then they may grow, and towards the end shrink again: a rate with a warm-up and a decay.

Paper: "Attention Is All You Need", section 5.3 (equation 3).
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


def rate(step: int, model_size: int, factor: float, warmup: int) -> float:
    """Say how large the learning rate is in the update number `step`.

    factor * model_size^(-0.5) * min(step^(-0.5), step * warmup^(-1.5))

    It grows in a straight line up to its peak in update number warmup, and then falls with the root
    of step. (The two terms of min are equal there.)

    Args:
        step: the number of the update, counted from 1. 0 counts as 1, since a root of 0 cannot be
            divided by.
        model_size: d_model.
        factor: makes all rates larger or smaller.
        warmup: the number of updates in which the rate grows, 1 or more.
    """
    ### BEGIN SOLUTION
    step = max(step, 1)
    falling = step**-0.5
    growing = step * warmup**-1.5
    return factor * model_size**-0.5 * min(falling, growing)
    ### END SOLUTION


def make_optimizer(
    model: nn.Module, d_model: int, factor: float = 1.0, warmup: int = 4000
) -> tuple[torch.optim.Adam, LambdaLR]:
    """Make the paper's optimizer, and the scheduler that sets its learning rate.

    The scheduler's `step()` will be called once after each of the optimizer's. Then update number n
    (n = 1, 2, 3, ...) must use exactly rate(n, d_model, factor, warmup).

    Args:
        model: all its parameters will be trained.
        d_model: the model_size of `rate`.
        factor: as in `rate`.
        warmup: as in `rate`.

    Returns:
        The optimizer, `torch.optim.Adam` with betas (0.9, 0.98) and eps 1e-9; and the scheduler,
        `torch.optim.lr_scheduler.LambdaLR`. Two things to know of a LambdaLR: it *multiplies* the
        optimizer's `lr` by the number that its function returns; and it calls the function with 0
        before the first update, with 1 before the second, and so on.
    """
    ### BEGIN SOLUTION
    optimizer = torch.optim.Adam(
        model.parameters(),
        # The scheduler multiplies this, so that with 1 the rate is what `rate` says.
        lr=1.0,
        betas=(0.9, 0.98),
        eps=1e-9,
    )

    def rate_after(updates: int) -> float:
        # After so many updates the next one comes, whose number is one higher.
        number = updates + 1
        return rate(number, d_model, factor, warmup)

    scheduler = LambdaLR(optimizer, rate_after)
    return optimizer, scheduler
    ### END SOLUTION
