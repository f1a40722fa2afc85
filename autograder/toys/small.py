"""A small model of given pieces, which keeps the attention weights of the pair it read last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw


def small_model(draw: Draw) -> tuple[Any, tuple[Tensor, ...]]:
    """A model of given pieces, its weights drawn anew, that has just seen another pair."""
    from transformer_ref import make_model

    model = _redrawn(make_model, draw.seed)
    ids = draw.permutation("ids", 16) + 1
    src, tgt = ids[:7].view(1, 7), ids[7:12].view(1, 5)
    src_mask = torch.arange(7).view(1, 1, 7) < draw.pick("visible", (4, 5))
    tgt_mask = torch.ones(1, 5, 5, dtype=torch.bool).tril()
    tgt_mask[..., 1] = False
    model.eval()
    with torch.no_grad():
        model(src[:, :4], tgt[:, :3], src_mask[..., :4], tgt_mask[:, :3, :3])
    return model, (src, src_mask, tgt, tgt_mask)


@contextmanager
def last_outputs(model: Any) -> Iterator[list[Any]]:
    """What the last layers of encoder and decoder give out meanwhile, in that order for each call.

    The model is the same for every probe: nothing of this is left in it.
    """
    made: list[Any] = []
    with ExitStack() as hooks:
        for stack in (model.encoder, model.decoder):
            hook = stack.layers[-1].register_forward_hook(lambda *call: made.append(call[-1]))
            hooks.callback(hook.remove)
        yield made


@lru_cache(maxsize=4)
def _redrawn(make_model: Callable[..., Any], seed: int) -> Any:
    """Made once: nothing that is asked here of a model changes its weights."""
    model = make_model(17, 19, N=2, d_model=18, d_ff=11, h=3, dropout=0.4)
    weights = list(model.parameters())
    numbers = Draw(seed).normal("weights", sum(w.numel() for w in weights), scale=0.4)
    with torch.no_grad():
        for tensor, part in zip(weights, numbers.split([w.numel() for w in weights]), strict=True):
            tensor.copy_(part.view_as(tensor))
    return model
