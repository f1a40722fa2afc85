"""Step 14: the copy task. Fill in the bodies, then run `pytest exercises/step14`.

All is there: a model, batches, an optimizer with its schedule, a loss. Now they meet in a training
loop. The first thing to learn is a toy: to say again what was read. It takes no data and
little time, and a model that cannot learn it has a mistake somewhere.

Paper: "Attention Is All You Need", section 5 (training). The toy task is not in the paper.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from transformer_ref import Batch


def data_gen(
    V: int,
    batch_size: int,
    nbatches: int,
    length: int = 10,
    generator: torch.Generator | None = None,
) -> Iterator[Batch]:
    """Make random sequences whose target is to be the source again.

    Args:
        V: the size of the vocabulary. The ids are 1 to V - 1; 0 is padding, and does not occur.
        batch_size: sequences in a batch.
        nbatches: how many batches to make.
        length: ids in a sequence, the start symbol included.
        generator: where the random numbers come from; None is torch's default.

    Yields:
        `Batch(src, tgt, pad=0)`: both (batch_size, length), int64, with equal ids. The first column
        is 1, the start symbol, in both.
    """
    ### BEGIN SOLUTION
    for _ in range(nbatches):
        data = torch.randint(1, V, (batch_size, length), generator=generator)
        data[:, 0] = 1

        # Two tensors, so that whoever changes the one leaves the other alone.
        src = data.clone()
        tgt = data.clone()

        yield Batch(src, tgt, pad=0)
    ### END SOLUTION


class SimpleLossCompute:
    """From the model's features to a loss: the generator, then the criterion."""

    def __init__(
        self,
        generator: nn.Module,
        criterion: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> None:
        """Take the two.

        Args:
            generator: from features (..., d_model) to log-probabilities (..., vocab).
            criterion: called as `criterion(x, target)` with log-probabilities (N, vocab) and ids
                (N,), returns the *sum* of the loss, a scalar: `LabelSmoothing`, for example.
        """
        ### BEGIN SOLUTION
        self.generator = generator
        self.criterion = criterion
        ### END SOLUTION

    def __call__(
        self, x: torch.Tensor, y: torch.Tensor, norm: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Work out the loss of a batch.

        Args:
            x: (B, T, d_model), features, as the model's `forward` returns them.
            y: (B, T), int64: the ids that were to be said.
            norm: what the sum is divided by, commonly the number of tokens.

        Returns:
            Two scalars: the summed loss, only to be reported, detached from the graph; and the loss
            to call `backward()` on, the sum divided by norm.
        """
        ### BEGIN SOLUTION
        log_probs = self.generator(x)

        # The criterion knows no sentences, only rows: row k belongs to entry k of the target.
        flat = log_probs.reshape(-1, log_probs.size(-1))
        target = y.reshape(-1)

        total = self.criterion(flat, target)
        loss = total / norm
        return total.detach(), loss
        ### END SOLUTION


@dataclass
class TrainState:
    """What has been done in a training so far. (Nothing to fill in here.)"""

    step: int = 0  # batches seen
    accum_step: int = 0  # updates made
    samples: int = 0  # sentence pairs seen
    tokens: int = 0  # tokens to be said, padding not counted


def run_epoch(
    batches: Iterable[Batch],
    model: nn.Module,
    loss_compute: Callable[[torch.Tensor, torch.Tensor, int], tuple[torch.Tensor, torch.Tensor]],
    optimizer: Optimizer | None,
    scheduler: LRScheduler | None,
    mode: str = "train",
    accum_iter: int = 1,
    train_state: TrainState | None = None,
) -> tuple[float, TrainState]:
    """Go through the batches once, and learn from them or only measure.

    For each batch, the features are `model.forward(src, tgt, src_mask, tgt_mask)` of the batch, and
    the loss is `loss_compute(features, batch.tgt_y, batch.ntokens)`: each batch's loss is divided
    by its own ntokens before it is backpropagated.

    Args:
        batches: of sentence pairs, at least one; read once.
        model: its mode is set in here, `model.train()` or `model.eval()`.
        loss_compute: called as above, returns (summed loss, loss to backpropagate).
        optimizer: makes the updates; not needed, and may be None, in mode "eval".
        scheduler: sets the learning rate; likewise.
        mode: "train" learns. "eval" only measures: no gradients, no updates, and neither the
            schedule nor a given train_state moves.
        accum_iter: how many batches make up one update. Their gradients add up; after every
            accum_iter batches, and after the rest at the end if one is left over, comes one step of
            the optimizer, then the gradients are cleared, then one step of the scheduler.
        train_state: goes on counting where this one stands (it is changed); None begins anew in
            every call. Gradients from before the call do not count either.

    Returns:
        The loss per token (the sum of all losses divided by the sum of all ntokens, a float), and
        the train state.
    """
    ### BEGIN SOLUTION
    training = mode == "train"
    model.train(training)

    # Made here and not as a default in the signature, which all calls would share.
    if train_state is None:
        train_state = TrainState()

    def update() -> None:
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        train_state.accum_step += 1

    if training:
        optimizer.zero_grad(set_to_none=True)

    total_loss = 0.0
    total_tokens = 0
    waiting = 0  # batches whose gradients wait for an update

    with torch.set_grad_enabled(training):
        for batch in batches:
            features = model.forward(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
            total, loss = loss_compute(features, batch.tgt_y, batch.ntokens)

            # Plain numbers: a tensor with a graph would keep all batches in memory.
            total_loss += float(total)
            total_tokens += int(batch.ntokens)

            if training:
                loss.backward()
                waiting += 1

                train_state.step += 1
                train_state.samples += batch.src.size(0)
                train_state.tokens += int(batch.ntokens)

                if waiting == accum_iter:
                    update()
                    waiting = 0

        # The rest at the end counts, too.
        if waiting > 0:
            update()

    return total_loss / total_tokens, train_state
    ### END SOLUTION
