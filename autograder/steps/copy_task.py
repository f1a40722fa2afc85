"""Probes of step 14: copy data, the loss of a batch, and a training loop on a toy model."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value, see
from autograder.core.probing import attempt
from autograder.core.subject import Subject
from autograder.toys.copies import drawing, length_of, made, takes, whole
from autograder.toys.session import Training
from autograder.toys.training import PAD, Saying, sentences, weights

_FLAT = 2.0**-7  # with a loss as flat as this nobody clips gradients
_COUNTS = ("step", "accum_step", "samples", "tokens")


def data(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Copy data of drawn sizes: what the ids are, and whether they come from the generator."""
    vocab, rows, length = draw.pick("V", (6, 7)), draw.pick("rows", (23, 27)), length_of(draw)
    count = draw.pick("count", (3, 4))
    batches = made(subject, draw, (vocab, rows, count), length)
    usual = made(subject, draw, (vocab, rows, 1))
    if not batches:
        return {"count": 0}
    wholes = [whole(b) for b in batches]
    asked = length if takes(subject.data_gen, "length") else 10
    ids = torch.cat([b.src for b in batches])
    return {
        "count": len(batches),
        "rows": sorted({b.src.size(0) for b in batches}),
        "long": all(b.src.shape == (rows, asked) for b in batches),
        "default_length": usual[0].src.size(1),
        "integers": ids.dtype == torch.int64,
        "first": sorted(set(ids[:, 0].tolist())),
        "ids": all(set(c.tolist()) == set(range(1, vocab)) for c in ids.T[1:]),
        "span": [int(ids.min()), int(ids.max()) - vocab],
        "copies": all(torch.equal(b.src, w) for b, w in zip(batches, wholes, strict=True)),
        "hidden": sorted({i for b in batches for i in b.src[b.src_mask[:, 0] == 0].tolist()}),
        "counted": all(float(b.ntokens) == rows * (asked - 1) for b in batches),
        "rows_differ": len({tuple(row) for row in ids.tolist()}) > len(ids) // 2,
        **drawing(subject, draw, (vocab, rows, count), length),
    }


def arguments(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether data_gen takes a length and a generator, and keeps source and target apart."""
    batch = made(subject, draw, (7, 5, 1), 8)[0]
    before = whole(batch).clone()
    batch.src.fill_(9)
    return {
        "takes_length": takes(subject.data_gen, "length"),
        "takes_generator": takes(subject.data_gen, "generator"),
        "independent": torch.equal(whole(batch), before),
    }


def total(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The sum that a loss is reported as, for a norm that is a number and one that is a tensor."""
    found: dict[str, Value] = {}
    for name, norm in (("total", 7), ("total_again", torch.tensor(5))):
        x, y, generator = _features(draw, name)
        result = subject.SimpleLossCompute(generator, _Criterion())(x, y, norm)
        found[name] = float(result[0])
        found[f"{name}_graph"] = bool(getattr(result[0], "requires_grad", False))
    return found


def gradient(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What the loss sends back to the features and to the generator."""
    found: dict[str, Value] = {}
    for name, norm in (("total", 7), ("total_again", torch.tensor(5))):
        x, y, generator = _features(draw, name)
        node = subject.SimpleLossCompute(generator, _Criterion())(x, y, norm)[1]
        if isinstance(node, Tensor) and node.requires_grad:
            node.backward()
        elif not isinstance(node, Tensor):
            found[name] = see(node)
            continue
        for part, leaf in (("features", x), ("generator", generator.weight)):
            found[f"{name}_{part}"] = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
    return found


def train_state(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Where a new state starts, that it is its own, and that a loop's counts end up in it."""
    one, two = subject.TrainState(), subject.TrainState()
    starts = _counts(one)
    _, returned = Training(draw, 1).run(subject, train_state=one)
    return {"starts": starts, "same": _counts(returned) == _counts(one), "other": _counts(two)}


def updates(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What model and loss are given, and the weights after updates from batches read only once.

    Gradients are too small to be clipped there; then they are as large as can be.
    """
    training, steep = (Training(draw, 5, lr=0.6, steep=n) for n in (_FLAT, 2.0**12))
    for each in (training, steep):
        each.run(subject, batches=iter(each.batches))
    reached = weights(training.model)
    return {
        **training.given(),
        "sees_answer": training.sees_answer(),
        "updates": len(training.optimizer.rates),
        "weights": reached,
        "held_back": not torch.allclose(weights(steep.model), reached, atol=1e-3),
    }


def loss(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The reported loss where nothing is learned, also with accumulation, and of one batch."""
    return {
        "loss": float(Training(draw, 4, lr=0.0).run(subject)[0]),
        "loss_accumulated": float(Training(draw, 4, lr=0.0).run(subject, accum_iter=2)[0]),
        "loss_single": float(Training(draw, 1, lr=0.0).run(subject)[0]),
    }


def accumulation(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Updates made for several numbers of batches to an update, and what the weights miss.

    Without momentum, an update from several batches is the sum of the updates from each of them.
    That gradients are clipped is another check's matter.
    """
    found: dict[str, Value] = {}
    for accum, count in ((2, 4), (2, 5), (3, 4), (3, 5), (7, 4)):
        training, alone = (Training(draw, count, lr=0.3, steep=_FLAT) for _ in range(2))
        training.run(subject, accum_iter=accum)
        for start in range(0, count, accum):
            alone.add_up(subject, range(start, min(start + accum, count)))
        found[f"updates_{accum}_{count}"] = len(training.optimizer.rates)
        found[f"weights_{accum}_{count}"] = weights(training.model) - weights(alone.model)
    _, state = Training(draw, 1).run(subject)
    later, anew = Training(draw, 4), Training(draw, 4)
    later.run(subject, accum_iter=2, train_state=state)
    anew.run(subject, accum_iter=2)
    found["weights_later"] = weights(later.model) - weights(anew.model)
    return found


def schedule(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The rate of each update, and how many steps the schedule makes more than there are updates.

    The rates are those without accumulation.
    """
    training = Training(draw, 4, lr=0.3, factor=lambda n: 1 / (1 + n))
    training.run(subject)
    found: dict[str, Value] = {"rates": [round(rate, 6) for rate in training.optimizer.rates]}
    for accum, count in ((1, 4), (2, 4), (3, 5)):
        training = Training(draw, count, lr=0.1)
        training.run(subject, accum_iter=accum)
        made = len(training.optimizer.rates)
        found[f"steps_{accum}_{count}"] = training.scheduler.last_epoch - made
    return found


def counts(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What a state has counted, also when it is handed in again, and with accumulation.

    And how far two calls that are alike, and are handed no state, differ in their counts.
    """
    state, accumulated = subject.TrainState(), subject.TrainState()
    found: dict[str, Value] = {}
    for name in ("given", "given_again"):
        Training(draw, 3).run(subject, train_state=state)
        found[name] = _counts(state)
    training = Training(draw, 5)
    training.run(subject, accum_iter=2, train_state=accumulated)
    sums = _counts(accumulated)
    # How many updates there should be is another check's matter.
    sums["accum_step"] = (sums["accum_step"] or 0) - len(training.optimizer.rates)
    one, two = (_counts(Training(draw, 4).run(subject)[1]) for _ in range(2))
    return {
        **found,
        "accumulated": sums,
        "anew": any(two.values()),
        "left_over": {name: (two[name] or 0) - (one[name] or 0) for name in _COUNTS},
    }


def evaluation(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The loss that is measured, and what has changed afterwards; also without an optimizer.

    The gradients of the weights are set beforehand.
    """
    training = Training(draw, 4, lr=0.5, factor=lambda n: 1 / (1 + n))
    model, state = training.model.eval(), subject.TrainState()
    for p in model.parameters():
        p.grad = torch.full_like(p, 0.25)
    before = weights(model)
    measured, _ = training.run(subject, mode="eval", train_state=state)
    kept = all(p.grad is not None and bool((p.grad == 0.25).all()) for p in model.parameters())
    learned, _ = Training(draw, 4, lr=0.0).run(subject)
    _, returned = Training(draw, 1).run(subject, mode="eval")
    bare = Training(draw, 4)
    call = functools.partial(bare.run, subject, tools=(None, None), mode="eval")
    return {
        "measured": float(measured) - float(learned),
        "weights_kept": torch.equal(before, weights(model)),
        "gradients_kept": kept,
        "state_kept": _counts(state),
        "schedule_kept": training.scheduler.last_epoch,
        "needs_optimizer": attempt(call),
        "state_returned": None not in _counts(returned).values(),
    }


def mode(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The mode that the model is in while it is trained and while it is measured."""
    found: dict[str, Value] = {}
    for name in ("train", "eval"):
        training = Training(draw, 2)
        training.model.train(name == "eval")  # the other one than that which is to come
        training.run(subject, mode=name)
        found[f"mode_{name}"] = sorted({p.training for p in training.model.passes})
    found["gradients"] = any(p.gradients for p in training.model.passes)
    return found


def stale(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How much gradients from before a call move the weights."""
    clean, stale = Training(draw, 1), Training(draw, 1)
    for p in stale.model.parameters():
        p.grad = torch.ones_like(p)
    for training in (clean, stale):
        training.run(subject)
    return {"stale": weights(stale.model) - weights(clean.model)}


class _Criterion(nn.Module):
    """The summed cross-entropy of what is no padding."""

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return nn.functional.nll_loss(x, target, ignore_index=PAD, reduction="sum")


def _features(draw: Draw, name: str) -> tuple[Tensor, Tensor, Saying]:
    """Features wider than the vocabulary; labels that are, as a batch's are, part of a tensor."""
    batch = sentences(draw, name, 3 if name == "total" else 4, 6 if name == "total" else 5)
    width = 17
    generator = Saying(draw, width=width)
    rows, length = batch.tgt_y.shape
    return draw.normal(f"{name}/x", rows, length, width).requires_grad_(), batch.tgt_y, generator


def _counts(state: Any) -> dict[str, Any]:
    """A state's counts, whether they are attributes or entries, numbers or tensors."""
    found: dict[str, Any] = {}
    for name in _COUNTS:
        value = state.get(name) if isinstance(state, dict) else getattr(state, name, None)
        found[name] = None if value is None else _number(value)
    return found


def _number(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else float(value)
