"""The copy task: a small model learns to say again what it reads, until it makes no mistake."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from autograder.workshop.code import Code
from autograder.workshop.threads import one_thread
from autograder.workshop.watch import Listener, Watch

LAST_STEP = "copy_task"  # the slug of the last step that is needed

_VOCABULARY, _LENGTH = 11, 10  # ids 1 to 10 after the start symbol 1
_SIZES = {"N": 2, "d_model": 64, "d_ff": 128, "h": 4, "dropout": 0.1}
_BATCH, _BATCHES = 80, 20  # sequences in a batch, batches in an epoch
_WARMUP, _FACTOR = 200, 1.0
_UNSEEN = 100


@dataclass(frozen=True)
class Copied:
    """How it ended."""

    updates: int
    epochs: int
    seconds: float
    loss: float  # per token, in the last epoch
    right: int  # unseen sequences copied without a mistake
    unseen: int = _UNSEEN

    @property
    def learnt(self) -> bool:
        """Whether every unseen sequence was copied."""
        return self.right == self.unseen


def copy(
    code: Code,
    listener: Listener,
    seed: int,
    device: torch.device,
    epochs: int = 60,
    batches: int = _BATCHES,
    told: Callable[[Copied], None] = lambda so_far: None,
) -> Copied:
    """Train until greedy decoding copies sequences that were not trained on, or to the last epoch.

    Args:
        code: with the pieces up to step 14.
        listener: told of each batch.
        seed: of the weights, the dropout and the sequences.
        device: where to compute.
        epochs: when to give up.
        batches: of an epoch.
        told: called after each epoch.

    Raises:
        Trouble: the code fails, or the loss is no number.
    """
    torch.manual_seed(seed)
    began = time.perf_counter()
    with one_thread(), code.watched():
        model = code.make_model(_VOCABULARY, _VOCABULARY, **_SIZES).to(device)
        criterion = code.LabelSmoothing(_VOCABULARY, 0, 0.0).to(device)
        optimizer, scheduler = code.make_optimizer(model, _SIZES["d_model"], _FACTOR, _WARMUP)
        watch = Watch(code.SimpleLossCompute(model.generator, criterion), listener)
        train = watch.batches("train", lambda: (batches, _moved(code, device, batches)))
        for epoch in range(1, epochs + 1):
            model.train()
            loss, _ = code.run_epoch(train, model, watch, optimizer, scheduler, mode="train")
            right = _right(code, model, seed, device)
            seconds = time.perf_counter() - began
            so_far = Copied(epoch * batches, epoch, seconds, float(loss), right)
            told(so_far)
            if so_far.learnt:
                break
    return so_far


def _moved(code: Code, device: torch.device, count: int) -> Iterator[object]:
    """An epoch's batches, on the device."""
    for batch in code.data_gen(_VOCABULARY, _BATCH, count, _LENGTH):
        src = batch.src.to(device)
        yield code.Batch(src, src.clone(), 0)


def _right(code: Code, model: nn.Module, seed: int, device: torch.device) -> int:
    """How many unseen sequences are copied; they are the same at each time of asking."""
    generator = torch.Generator().manual_seed(seed + 1_000_003)
    (batch,) = code.data_gen(_VOCABULARY, _UNSEEN, 1, _LENGTH, generator)
    src = batch.src.to(device)
    model.eval()
    found = code.greedy_decode(model, src, batch.src_mask.to(device), _LENGTH, 1)
    if tuple(found.shape) != tuple(src.shape):
        return 0
    return int((found == src).all(dim=1).sum())
