"""Probes of step 13: which distribution a smoothed loss asks for, seen through its gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, see
from autograder.core.subject import Subject, ordinary

Criterion = Callable[[Tensor, Tensor], Tensor]


def target(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is asked for on the right word, on the others and on padding, in rows of real words."""
    size, pad = _size(draw), _pad(draw)
    rows, ids = 7, _ids(draw, "target", 7, size, pad, padding=(0, 5))
    wanted = _wanted(subject, draw, "target", ids, size, pad, draw.pick("smoothing", (0.35, 0.6)))
    real = (ids != pad).nonzero().flatten()
    others = torch.ones(rows, size, dtype=torch.bool)
    others[torch.arange(rows), ids] = False
    others[:, pad] = False
    again = _wanted(subject, draw, "again", ids[:6], size, pad, draw.pick("more", (0.2, 0.75)))
    return {
        "right": wanted[real, ids[real]],
        "right_again": again[1, ids[1]],
        "others": wanted[real][others[real]].view(len(real), -1),
        "others_again": again[1][others[1]],
        "padding": wanted[real, pad],
    }


def rows(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is asked for in rows whose target is padding, where there are several such rows."""
    size, pad = _size(draw), _pad(draw)
    ids = _ids(draw, "rows", 9, size, pad, padding=(0, 3, 4, 8))
    wanted = _wanted(subject, draw, "rows", ids, size, pad, 0.3)
    return {"padded_rows": wanted[ids == pad]}


def few(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How far rows differ from the same rows in a batch that has two more, of padding.

    With no row of padding, with one, with nothing else, and in one row; and how far padding with
    the id 0 differs from padding with another.
    """
    size, pad = _size(draw), _pad(draw)
    cases: dict[str, tuple[int, tuple[int, ...]]] = {
        "none": (5, ()),
        "one": (5, (2,)),
        "single": (1, ()),
        "all": (3, (0, 1, 2)),
        "single_padded": (1, (0,)),
    }
    found: dict[str, Value] = {}
    for name, (count, padding) in cases.items():
        ids = _ids(draw, f"few/{name}", count, size, pad, padding)
        more = torch.cat([ids, torch.tensor([pad, pad])])
        alone, joined = (_wanted(subject, draw, "few", i, size, pad, 0.3) for i in (ids, more))
        found[name] = (alone - joined[:count]).nan_to_num()
    found["finite"] = _finite(subject, draw, size, pad)
    return {**found, "zero": _by_zero(subject, draw, size, pad)}


def _finite(subject: Subject, draw: Draw, size: int, pad: int) -> bool:
    """Whether the loss is a number where all targets are padding.

    Another one would spoil a training, even if its gradient does not.
    """
    x = draw.normal("finite", 3, size).log_softmax(-1)
    loss = see(subject.LabelSmoothing(size, pad, 0.3)(x, torch.full((3,), pad)))
    return isinstance(loss, Tensor) and bool(loss.isfinite().all())


def _by_zero(subject: Subject, draw: Draw, size: int, pad: int) -> Value:
    """The distribution with 0 for padding, minus that with `pad`, the two words exchanged."""
    ids = _ids(draw, "zero", 5, size, pad, padding=(0, 3))
    order = torch.arange(size)
    order[[0, pad]] = order[[pad, 0]]
    usual = _wanted(subject, draw, "zero", ids, size, pad, 0.3)
    return _wanted(subject, draw, "zero", order[ids], size, 0, 0.3) - usual[:, order]


def plain(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The distribution of real words without smoothing, asked for by 0.0 and by saying nothing."""
    size, pad = _size(draw), _pad(draw)
    ids = _ids(draw, "plain", 6, size, pad, padding=(1, 5))
    return {
        "without": _wanted(subject, draw, "plain", ids, size, pad, 0.0)[ids != pad],
        "default": _wanted(subject, draw, "plain", ids, size, pad)[ids != pad],
    }


def total(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the loss is one number and a sum, and falls as its gradient says; changed inputs."""
    size, pad = _size(draw), _pad(draw)
    ids = _ids(draw, "total", 6, size, pad, padding=(2, 4))
    criterion = subject.LabelSmoothing(size, pad, 0.3)
    inputs = draw.normal("total", 2, 6, size).log_softmax(-1)
    one, two = inputs[0].clone(), ids.clone()
    loss, other = see(criterion(one, two)), see(criterion(inputs[1].clone(), ids.clone()))
    pairs = (("x", one, inputs[0]), ("target", two, ids))
    seen: dict[str, Value] = {
        "shape": list(loss.shape) if isinstance(loss, Tensor) else loss,
        "factor": float(_factor(subject, draw, ids, size, pad)),
        "changed": [name for name, now, before in pairs if not torch.equal(now, before)],
        "follows": Odd("no numbers"),
        "remembered": _remembered(subject, draw, ids, size, pad),
        "measured": _measured(subject, draw, ids, size, pad),
    }
    if isinstance(loss, Tensor) and isinstance(other, Tensor):
        fall = _read(criterion, draw, "total", ids, size) * (inputs[1] - inputs[0])
        seen["follows"] = (loss.sum() - other.sum() - fall.sum()).float()
    return seen


def _remembered(subject: Subject, draw: Draw, ids: Tensor, size: int, pad: int) -> Tensor:
    """How the distribution differs when other targets were seen before."""
    used, new = (subject.LabelSmoothing(size, pad, 0.3) for _ in range(2))
    _slopes(used, draw.normal("before", len(ids), size), ids.flip(0))
    return _read(used, draw, "after", ids, size) - _read(new, draw, "after", ids, size)


def _measured(subject: Subject, draw: Draw, ids: Tensor, size: int, pad: int) -> Tensor:
    """How the distribution differs in eval mode."""
    learning, measuring = (subject.LabelSmoothing(size, pad, 0.3) for _ in range(2))
    if isinstance(measuring, nn.Module):
        measuring.eval()
    return _read(measuring, draw, "mode", ids, size) - _read(learning, draw, "mode", ids, size)


def _size(draw: Draw) -> int:
    return draw.pick("size", (5, 6, 7))


def _pad(draw: Draw) -> int:
    """Neither the first id nor the last."""
    return draw.pick("pad", (1, 2, 3))


def _ids(
    draw: Draw, name: str, count: int, size: int, pad: int, padding: tuple[int, ...]
) -> Tensor:
    """int64 (count,): no id is padding but those at the positions in `padding`."""
    words = [word for word in range(size) if word != pad]
    chosen = draw.uniform(f"{name}/ids", count, low=0, high=len(words)).long()
    ids = torch.tensor(words)[chosen.clamp(max=len(words) - 1)]
    ids[list(padding)] = pad
    return ids


def _wanted(
    subject: Subject, draw: Draw, name: str, ids: Tensor, size: int, pad: int, *smoothing: float
) -> Tensor:
    """float32 (N, size): the distribution asked for, as if the loss were a sum.

    What the loss is divided by is another check's matter.
    """
    criterion = subject.LabelSmoothing(size, pad, *smoothing)
    return _read(criterion, draw, name, ids, size) / _factor(subject, draw, ids, size, pad)


def _factor(subject: Subject, draw: Draw, ids: Tensor, size: int, pad: int) -> Tensor:
    """What a row weighs without smoothing; 1 where that cannot be told.

    A weight near 1 is no division: it is the right word's probability that is another.
    """
    try:
        wanted = _read(subject.LabelSmoothing(size, pad, 0.0), draw, "factor", ids, size)
    except Exception:  # without smoothing it does not work, which is another check's matter
        return torch.ones(())
    real = wanted[ids != pad]
    weight = real.sum(-1).mean() if len(real) else torch.ones(())
    told = bool(weight.isfinite()) and abs(weight.item()) > 1e-6
    return weight if told and not 0.6 < weight.item() < 1.6 else torch.ones(())


def _read(criterion: Criterion, draw: Draw, name: str, ids: Tensor, size: int) -> Tensor:
    """float32 (N, size): what the loss asks for, from its gradients with respect to logits.

    For logits z, p = softmax(z) and a wanted q that sums to s, the gradient is s p - q, whether or
    not the loss normalizes the log-probabilities once more. Two z give s, and then q.
    """
    logits = draw.normal(f"{name}/logits", 2, len(ids), size)
    first, second = (_slopes(criterion, z, ids) for z in logits)
    one, two = logits.softmax(-1)
    gap = one - two
    sums = ((first - second) * gap).sum(-1, keepdim=True) / (gap * gap).sum(-1, keepdim=True)
    return one * sums - first


def _slopes(criterion: Criterion, logits: Tensor, ids: Tensor) -> Tensor:
    """The gradient of the loss with respect to logits; zero where none arrives."""
    logits = logits.clone().requires_grad_()
    loss = criterion(logits.log_softmax(-1), ids.clone())
    ordinary(loss)
    if not loss.requires_grad:
        return torch.zeros_like(logits)
    (slopes,) = torch.autograd.grad(loss.sum(), logits, allow_unused=True)
    return torch.zeros_like(logits) if slopes is None else slopes
