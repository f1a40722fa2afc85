"""Step 17: interruptible training. Fill in the bodies, then run `pytest exercises/step17`.

Training takes hours, and computers stop. A checkpoint holds all that the next step depends on, so
that training goes on as if nothing had happened.

Paper: "Attention Is All You Need", sections 5.2 and 6.1 (there the last checkpoints are averaged).
"""

import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from transformer_ref import run_epoch


def save_checkpoint(path: str | os.PathLike[str], **state: Any) -> None:
    """Write a checkpoint such that there is always a whole one.

    If the program dies or the disk is full in the middle, the file that had this name before stays
    as it was, and no half-written file remains beside it (if the program lives to clean up).

    Args:
        path: the file to write, or to write over. Its folder exists.
        state: by name, what to save: `state_dict()`s, tensors, numbers, strings, lists, dicts.

    Raises:
        OSError or RuntimeError: the file cannot be written.
    """
    raise NotImplementedError("step 17: save_checkpoint is not implemented yet")


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `save_checkpoint` wrote.

    Only data is read: a file from a stranger may hold code, which must not be run
    (`weights_only=True`). All tensors come to the CPU, whatever machine wrote them.

    Args:
        path: the file.

    Returns:
        A dictionary with the names and values that were saved.
    """
    raise NotImplementedError("step 17: load_checkpoint is not implemented yet")


def train_model(
    model: nn.Module,
    train_batches: Iterable[Any],
    valid_batches: Iterable[Any],
    loss_compute: Callable[..., Any],
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    epochs: int,
    folder: str | os.PathLike[str],
    accum_iter: int = 1,
    resume: bool = False,
) -> list[dict[str, Any]]:
    """Train for some epochs, validate after each, and keep the last and the best model.

    An epoch is one `run_epoch` (the given one, of step 14) in mode "train", with the model in
    train mode, and one in mode "eval", with the model in eval mode and neither optimizer nor
    scheduler. After it, in `folder` (made where it is missing; nothing is written elsewhere):

    - `last.pt` holds "model", "optimizer", "scheduler" (their `state_dict()`s), "epoch" (epochs
      done), "history" (as returned) and "rng" (`torch.get_rng_state()`).
    - `best.pt` holds at least "model". It is written when the validation loss is lower than those
      of all epochs before.

    Args:
        model: an `EncoderDecoder`, or any model that `run_epoch` can train.
        train_batches: gone through once an epoch. Whatever order it shuffles to, it draws from
            torch's default generator.
        valid_batches: gone through once an epoch.
        loss_compute: called as `loss_compute(features, tgt_y, norm)` by `run_epoch`.
        optimizer: updates the model's parameters.
        scheduler: sets its learning rate.
        epochs: how many epochs in all, those before an interruption counted.
        folder: where the checkpoints are.
        accum_iter: batches for each update.
        resume: whether to go on from `last.pt`, if there is one. Everything comes back, dropout's
            random numbers too: on a CPU the outcome is, bit for bit, that of an uninterrupted run.

    Returns:
        The history: for each epoch, from the first one on,
        `{"epoch": 1, "train_loss": float, "valid_loss": float}`, losses per token.
    """
    raise NotImplementedError("step 17: train_model is not implemented yet")
