"""Step 17, the reference: epochs, the best model, and checkpoints to go on from."""

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from .batching import Batch
from .copy_task import run_epoch

__all__ = ["load_checkpoint", "save_checkpoint", "train_model"]

History = list[dict[str, Any]]


def save_checkpoint(path: str | os.PathLike[str], **state: Any) -> None:
    """Write named values to a file, all of them or nothing.

    They go to a temporary file beside it first, so that whoever opens the path finds the old file
    or the new one, even after a crash or with a full disk.

    Args:
        path: the file, in a folder that exists.
        state: tensors, numbers, strings, and dicts and lists of such.

    Raises:
        OSError or RuntimeError: from the system or torch, when the file cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(path.name + ".tmp")
    try:
        with open(temporary, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())  # Otherwise the rename may reach the disk before the bytes do.
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `save_checkpoint` wrote, tensors on the CPU.

    Only data is read: a file that would have something executed is refused.

    Args:
        path: the file.

    Returns:
        The values by name.

    Raises:
        OSError: when the file cannot be opened.
        ValueError: when it is not a whole checkpoint.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The error says all there is to say.
            state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # What reading a damaged file raises depends on the damage.
        raise ValueError(f"{os.fspath(path)} is not a whole checkpoint") from error
    if not isinstance(state, dict):
        raise ValueError(f"{os.fspath(path)} holds no named values")
    return state


def train_model(
    model: nn.Module,
    train_batches: Iterable[Batch],
    valid_batches: Iterable[Batch],
    loss_compute: Callable[[Tensor, Tensor, Any], tuple[Tensor, Tensor]],
    optimizer: Optimizer,
    scheduler: LRScheduler,
    epochs: int,
    folder: str | os.PathLike[str],
    accum_iter: int = 1,
    resume: bool = False,
) -> History:
    """Train for some epochs; after each, measure, and keep the newest and the best model.

    `last.pt` holds "model", "optimizer", "scheduler", "epoch", "history" and "rng": all that is
    needed to go on as if nothing had happened. `best.pt` holds the "model" of the epoch with the
    lowest validation loss so far.

    Args:
        model: an `EncoderDecoder`.
        train_batches: `Batch`es; iterated once an epoch, so not an iterator. Who shuffles them
            anew each time draws from torch's default generator, whose state is saved.
        valid_batches: likewise.
        loss_compute: see `run_epoch`; used for training and for validation.
        optimizer: stepped by `run_epoch`.
        scheduler: likewise.
        epochs: how many there are to be in the end, those before a resumption counted.
        folder: where the two files go, and nothing else; made if missing.
        accum_iter: how many batches make an update.
        resume: go on from the folder's `last.pt`, if there is one.

    Returns:
        For each epoch from 1 on its "epoch", "train_loss" and "valid_loss", both per token.

    Raises:
        FloatingPointError: when a training loss is not finite; the files are those of before.
        TypeError: when there are batches for one epoch only.
        ValueError: when `last.pt` is not a checkpoint of this training.
    """
    if isinstance(train_batches, Iterator) or isinstance(valid_batches, Iterator):
        raise TypeError("an iterator is used up after one epoch: batches must be, e.g., a list")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    last, best = folder / "last.pt", folder / "best.pt"
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    history = _take_up(last, parts) if resume and last.exists() else []
    for epoch in range(len(history) + 1, epochs + 1):
        train_loss, _ = run_epoch(
            train_batches, model, loss_compute, optimizer, scheduler, "train", accum_iter
        )
        if not math.isfinite(train_loss):
            raise FloatingPointError(f"the loss of epoch {epoch} is {train_loss}; nothing is saved")
        valid_loss, _ = run_epoch(valid_batches, model, loss_compute, None, None, "eval")
        lowest = min((entry["valid_loss"] for entry in history), default=float("inf"))
        history.append(
            {"epoch": epoch, "train_loss": float(train_loss), "valid_loss": float(valid_loss)}
        )
        # The best first: if writing the last one fails, this epoch is done again, and it too.
        if valid_loss < lowest:
            save_checkpoint(best, model=model.state_dict(), epoch=epoch, valid_loss=valid_loss)
        save_checkpoint(
            last,
            **{name: part.state_dict() for name, part in parts.items()},
            epoch=epoch,
            history=history,
            rng=torch.get_rng_state(),
        )
    return history


def _take_up(last: Path, parts: dict[str, Any]) -> History:
    """Set model, optimizer, scheduler and random numbers to where they were; return the history."""
    state = load_checkpoint(last)
    try:
        for name, part in parts.items():
            part.load_state_dict(state[name])
        history: History = state["history"]
        torch.set_rng_state(state["rng"])
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{last} is not a checkpoint of this training") from error
    return history
