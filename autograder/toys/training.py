"""A toy to be trained: a small model that minds its masks, its batches, and its loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw

PAD = 0
WIDTH = 6  # d_model
_LONGEST = 9


@dataclass
class Sentences:
    """What a `Batch` of step 11 offers, and no more; `ntokens` is an int or a 0-dim tensor."""

    src: Tensor
    tgt: Tensor
    tgt_y: Tensor
    src_mask: Tensor
    tgt_mask: Tensor
    ntokens: Any


def sentences(draw: Draw, name: str, rows: int, length: int, tensor: bool = False) -> Sentences:
    """A batch of pairs with padding, whose sources and targets differ in length.

    Args:
        draw: where ids and lengths come from.
        name: what to draw them by.
        rows: the number of pairs.
        length: ids in the longest target, start symbol included.
        tensor: whether `ntokens` is a tensor.
    """
    src = _ids(draw, f"{name}/src", rows, length + 1)
    full = _ids(draw, f"{name}/tgt", rows, length)
    tgt, tgt_y = full[:, :-1], full[:, 1:]
    positions = torch.arange(length - 1)
    causal = positions <= positions[:, None]
    count = (tgt_y != PAD).sum()
    return Sentences(
        src,
        tgt,
        tgt_y,
        (src != PAD)[:, None],
        (tgt != PAD)[:, None] & causal,
        count if tensor else int(count),
    )


def vocab_size(draw: Draw) -> int:
    """How many ids there are, padding included."""
    return draw.pick("toy/vocab", (11, 13))


def _ids(draw: Draw, name: str, rows: int, length: int) -> Tensor:
    """int64 (rows, length): the first row is full, the others end in padding."""
    vocab = vocab_size(draw)
    ids = draw.uniform(name, rows, length, low=1, high=vocab).long().clamp(max=vocab - 1)
    cut = draw.uniform(f"{name}/cut", rows, 1, low=2, high=length + 0.9).long()
    cut[0] = length
    return ids.masked_fill(torch.arange(length) >= cut, PAD)


@dataclass(frozen=True)
class Pass:
    """One call of the model: what it was given, in which mode, and with gradients or without."""

    src: Tensor
    tgt: Tensor
    src_mask: Any
    tgt_mask: Any
    training: bool
    gradients: bool


class Learner(nn.Module):
    """Has the doors of the model of step 09 that training uses, and weights that are drawn.

    A position's features depend on what it may look at: the source words that are no padding, and
    the target words up to itself.

    Args:
        draw: where the weights come from.
        dropout: how much of the features is dropped in training.
    """

    def __init__(self, draw: Draw, dropout: float = 0.0) -> None:
        super().__init__()
        vocab = vocab_size(draw)
        self.src_embed = _drawn(draw, "src", vocab, WIDTH)
        self.tgt_embed = _drawn(draw, "tgt", vocab, WIDTH)
        self.places = _drawn(draw, "places", _LONGEST, WIDTH)
        self.mix = _drawn(draw, "mix", WIDTH, WIDTH)
        self.dropout = nn.Dropout(dropout)
        self.generator = Saying(draw)
        self.passes: list[Pass] = []

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Any, tgt_mask: Any) -> Tensor:
        """Turn ids (B, S) and (B, T) into features (B, T, d_model)."""
        given = _kept(src), _kept(tgt), _kept(src_mask), _kept(tgt_mask)
        self.passes.append(Pass(*given, self.training, torch.is_grad_enabled()))
        memory = _mean(self.src_embed[src], src_mask)
        words = self.tgt_embed[tgt] + self.places[: tgt.size(1)]
        mixed = torch.tanh((_mean(words, tgt_mask) + memory) @ self.mix + words)
        return self.dropout(mixed)


class Saying(nn.Module):
    """From features (..., d_model) to log-probabilities (..., vocab)."""

    def __init__(self, draw: Draw, width: int = WIDTH) -> None:
        super().__init__()
        self.weight = _drawn(draw, "say", width, vocab_size(draw))

    def forward(self, x: Tensor) -> Tensor:
        """The log-probabilities."""
        return (x @ self.weight).log_softmax(-1)


class Loss:
    """What step 14's `SimpleLossCompute` does with cross-entropy; notes the labels and norms."""

    def __init__(self, generator: nn.Module) -> None:
        self.generator = generator
        self.asked: list[tuple[Tensor, float]] = []

    def __call__(self, x: Tensor, y: Tensor, norm: Any) -> tuple[Tensor, Tensor]:
        """The summed loss, detached, and the loss to backpropagate."""
        self.asked.append((y.clone(), float(norm)))
        total = nn.functional.nll_loss(
            self.generator(x).flatten(0, 1), y.flatten(), ignore_index=PAD, reduction="sum"
        )
        return total.detach(), total / norm


class Level(Loss):
    """Tells a loss of 1 per token, whatever has been learned."""

    def __call__(self, x: Tensor, y: Tensor, norm: Any) -> tuple[Tensor, Tensor]:
        """A summed loss that stays the same, and the loss to backpropagate."""
        return torch.tensor(float(norm)), super().__call__(x, y, norm)[1]


def weights(model: nn.Module) -> Tensor:
    """float32 (n,): all weights of a model in one row."""
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def _kept(part: Any) -> Any:
    return part.clone() if isinstance(part, Tensor) else part


def _drawn(draw: Draw, name: str, *shape: int) -> nn.Parameter:
    return nn.Parameter(draw.normal(f"toy/{name}", *shape, scale=0.7))


def _mean(values: Tensor, mask: Any) -> Tensor:
    """The mean (B, Q, d) of the values (B, K, d) that the mask (B, Q, K) shows; None: of all."""
    if mask is None:
        return values.mean(1, keepdim=True)
    seen = (mask != 0).float()
    return seen @ values / seen.sum(-1, keepdim=True).clamp(min=1)
