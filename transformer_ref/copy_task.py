"""Step 14, the reference: the training loop, and the copy task to try it on."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from .batching import Batch

__all__ = ["SimpleLossCompute", "TrainState", "data_gen", "run_epoch"]

LossCompute = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]


def data_gen(
    V: int,
    batch_size: int,
    nbatches: int,
    length: int = 10,
    generator: torch.Generator | None = None,
) -> Iterator[Batch]:
    """Draw sequences to be copied: the target is the source.

    Args:
        V: ids are drawn from 1 ... V - 1; 0 is padding, which does not occur.
        batch_size: the number of sequences in a batch.
        nbatches: the number of batches.
        length: the length of a sequence. Its first id is 1, the start symbol.
        generator: where the ids are drawn from; None is torch's default generator.

    Yields:
        Batches of src (batch_size, length) and tgt (batch_size, length - 1), int64.

    Raises:
        RuntimeError: from torch, when V is below 2.
    """
    for _ in range(nbatches):
        ids = torch.randint(1, V, (batch_size, length), generator=generator)
        ids[:, 0] = 1
        yield Batch(ids, ids.clone(), pad=0)


class SimpleLossCompute:
    """The loss of a batch, from the decoder's features.

    Args:
        generator: maps (..., d_model) to log-probabilities (..., vocab).
        criterion: maps log-probabilities (N, vocab) and ids (N,) to their summed loss, a scalar.
    """

    def __init__(self, generator: nn.Module, criterion: nn.Module) -> None:
        self.generator = generator
        self.criterion = criterion

    def __call__(self, x: Tensor, y: Tensor, norm: int) -> tuple[Tensor, Tensor]:
        """Compute the loss.

        Args:
            x: (B, T, d_model), the decoder's features.
            y: (B, T), int64, what should be predicted.
            norm: the number of tokens that count.

        Returns:
            The summed loss, cut off from the graph, and the loss a token, to backpropagate from.
        """
        log_probs = self.generator(x)
        total = self.criterion(log_probs.flatten(0, 1), y.flatten())
        return total.detach(), total / norm


@dataclass
class TrainState:
    """How far training has come."""

    step: int = 0  # batches seen
    accum_step: int = 0  # updates made
    samples: int = 0  # sentences seen
    tokens: int = 0  # tokens predicted

    def count(self, batch: Batch) -> None:
        """Count a batch as seen."""
        self.step += 1
        self.samples += batch.src.size(0)
        self.tokens += int(batch.ntokens)


def run_epoch(
    batches: Iterable[Batch],
    model: nn.Module,
    loss_compute: LossCompute,
    optimizer: Optimizer | None,
    scheduler: LRScheduler | None,
    mode: str = "train",
    accum_iter: int = 1,
    train_state: TrainState | None = None,
) -> tuple[float, TrainState]:
    """Train on batches once, or measure the loss on them.

    Each batch's loss a token is backpropagated; the gradients of accum_iter batches add up to one
    update, after which the scheduler is stepped. What is left at the end makes an update, too.

    Args:
        batches: with targets.
        model: called as model(src, tgt, src_mask, tgt_mask); it is put into the mode.
        loss_compute: called as loss_compute(features, tgt_y, ntokens), see `SimpleLossCompute`.
        optimizer: what updates the model; not used, and may be None, in mode "eval".
        scheduler: likewise; with None the rate stays what it is.
        mode: "train", or "eval", which changes no parameter, gradient, schedule or state.
        accum_iter: the number of batches to an update, 1 or more.
        train_state: counted up and returned; None is a fresh one.

    Returns:
        The loss a token (NaN where there is none), and the state.

    Raises:
        ValueError: when the mode is another one, when accum_iter is below 1, or when there is no
            optimizer to train with.
    """
    if mode == "eval":
        optimizer = None
    elif mode != "train" or optimizer is None:
        raise ValueError(f'mode is "eval", or "train" with an optimizer, not {mode!r}')
    if accum_iter < 1:
        raise ValueError(f"an update needs a batch: {accum_iter=}")
    # From here on there is an optimizer when training, and none otherwise.
    state = TrainState() if train_state is None else train_state
    model.train(mode == "train")
    loss_sum, tokens, waiting = 0.0, 0, 0
    if optimizer is not None:
        optimizer.zero_grad()  # What others left behind does not count.
    with torch.set_grad_enabled(optimizer is not None):
        for batch in batches:
            features = model(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
            total, loss = loss_compute(features, batch.tgt_y, batch.ntokens)
            loss_sum += float(total)
            tokens += int(batch.ntokens)
            if optimizer is not None:
                loss.backward()
                state.count(batch)
                waiting += 1
                if waiting == accum_iter:
                    _update(optimizer, scheduler, state)
                    waiting = 0
    if optimizer is not None and waiting:
        _update(optimizer, scheduler, state)
    return (loss_sum / tokens if tokens else math.nan), state


def _update(optimizer: Optimizer, scheduler: LRScheduler | None, state: TrainState) -> None:
    """Use the gradients up, and take the schedule one step on."""
    optimizer.step()
    optimizer.zero_grad()
    if scheduler is not None:
        scheduler.step()
    state.accum_step += 1
