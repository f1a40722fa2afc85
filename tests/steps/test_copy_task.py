"""Step 14: copy data and training loops written in many ways, right and wrong."""

from __future__ import annotations

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import copy_task_builds, harness
from tests.steps.harness import failed, named

STEP = find_step(14)

TOP = """
from dataclasses import dataclass

import torch
from torch import nn

from transformer_ref import Batch

"""
DATA = """
def data_gen(V, batch_size, nbatches, length=10, generator=None):
    for _ in range(nbatches):
        ids = torch.randint(1, V, size=(batch_size, length), generator=generator)
        ids[:, 0] = 1
        yield Batch(ids.clone().detach(), ids.clone().detach(), 0)

"""
LOSS = """
class SimpleLossCompute:
    def __init__(self, generator, criterion):
        self.generator = generator
        self.criterion = criterion

    def __call__(self, x, y, norm):
        x = self.generator(x)
        rows, words = x.contiguous().view(-1, x.size(-1)), y.contiguous().view(-1)
        sloss = self.criterion(rows, words) / norm
        return sloss.data * norm, sloss

"""
STATE = """
class TrainState:
    step: int = 0
    accum_step: int = 0
    samples: int = 0
    tokens: int = 0

"""
LOOP = """
def run_epoch(
    batches, model, loss_compute, optimizer, scheduler, mode="train", accum_iter=1, train_state=None
):
    state = train_state or TrainState()
    learn = mode == "train"
    model.train() if learn else model.eval()
    losses, words, pending = 0, 0, 0
    if learn:
        optimizer.zero_grad()
    for batch in batches:
        with torch.set_grad_enabled(learn):
            out = model(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
            loss, node = loss_compute(out, batch.tgt_y, batch.ntokens)
        losses += loss
        words += batch.ntokens
        if not learn:
            continue
        node.backward()
        state.step += 1
        state.samples += len(batch.src)
        state.tokens += batch.ntokens
        pending = (pending + 1) % accum_iter
        if pending == 0:
            advance(optimizer, scheduler, state)
    if pending:
        advance(optimizer, scheduler, state)
    return losses / words, state


def advance(optimizer, scheduler, state):
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    scheduler.step()
    state.accum_step += 1

"""

# Another way of writing one part, by the number of a kind of honest difference.
WHOLE = {"17.0 plain": TOP + DATA + LOSS + STATE + LOOP}
DATAS = {
    "17.8 row by row": """
def data_gen(V, batch_size, nbatches, length=10, generator=None):
    batches = []
    for _ in range(nbatches):
        rows = []
        for _ in range(batch_size):
            rest = torch.randint(1, V, (length - 1,), generator=generator).tolist()
            rows.append([1] + rest)
        batches.append(Batch(torch.tensor(rows), torch.tensor(rows), pad=0))
    return batches
""",
    "17.8 floats made into ids": """
def data_gen(V, batch_size, nbatches, length=10, generator=None):
    def one():
        part = torch.rand(batch_size, length, generator=generator)
        ids = 1 + (part * (V - 1)).floor().clamp(max=V - 2).long()
        ids = torch.cat([torch.ones(batch_size, 1, dtype=torch.long), ids[:, 1:]], dim=1)
        return Batch(src=ids, tgt=ids.clone(), pad=0)

    return (one() for _ in range(nbatches))
""",
}
LOSSES = {
    "17.1 a function": """
def SimpleLossCompute(generator, criterion):
    def compute(x, y, norm):
        total = criterion(generator(x).flatten(0, 1), y.flatten())
        return total.item(), total / norm

    return compute
""",
    "17.1 a module, told by the vocabulary": """
class SimpleLossCompute(nn.Module):
    def __init__(self, generator, criterion):
        super().__init__()
        self.generator, self.criterion = generator, criterion

    def forward(self, x, y, norm):
        batch, length, _ = x.shape
        said = self.generator(x.reshape(batch * length, -1))
        total = self.criterion(said, y.reshape(batch * length))
        return float(total), total * (1.0 / norm)
""",
}
STATES = {
    "17.5 made in __init__": """
class TrainState:
    def __init__(self, step=0, accum_step=0, samples=0, tokens=0):
        self.step, self.accum_step, self.samples, self.tokens = step, accum_step, samples, tokens
""",
}
LOOPS = {
    "17.2 cleared before the forward pass, the last batch known": """
def run_epoch(
    batches, model, loss_compute, optimizer, scheduler, mode="train", accum_iter=1, train_state=None
):
    if train_state is None:
        train_state = TrainState()
    if mode == "eval":
        model.eval()
        with torch.no_grad():
            pairs = [(one(model, loss_compute, b)[0], b.ntokens) for b in batches]
        return float(sum(p[0] for p in pairs)) / float(sum(p[1] for p in pairs)), train_state
    model.train()
    batches = list(batches)
    total, tokens = 0.0, 0
    for i, batch in enumerate(batches):
        if i % accum_iter == 0:
            optimizer.zero_grad(set_to_none=True)
        loss, node = one(model, loss_compute, batch)
        node.backward()
        total += float(loss)
        tokens += int(batch.ntokens)
        train_state.step += 1
        train_state.samples += batch.src.shape[0]
        train_state.tokens += int(batch.ntokens)
        if (i + 1) % accum_iter == 0 or i == len(batches) - 1:
            optimizer.step()
            scheduler.step()
            train_state.accum_step += 1
    return total / tokens, train_state


def one(model, loss_compute, batch):
    features = model.forward(
        src=batch.src, tgt=batch.tgt, src_mask=batch.src_mask, tgt_mask=batch.tgt_mask
    )
    return loss_compute(x=features, y=batch.tgt_y, norm=batch.ntokens)
""",
    "17.3 losses added up, one backward for each update": """
def run_epoch(
    batches, model, loss_compute, optimizer, scheduler, mode="train", accum_iter=1, train_state=None
):
    state = TrainState() if train_state is None else train_state
    train = mode.startswith("train")
    model.train(train)
    grad = torch.enable_grad() if train else torch.no_grad()
    sums, counts, nodes = [], [], []

    def update():
        optimizer.zero_grad()
        sum(nodes).backward()
        optimizer.step()
        scheduler.step()
        state.accum_step += 1
        nodes.clear()

    with grad:
        for batch in batches:
            out = model.forward(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
            loss, node = loss_compute(out, batch.tgt_y, batch.ntokens)
            sums.append(float(loss))
            counts.append(int(batch.ntokens))
            if train:
                nodes.append(node)
                state.step, state.samples = state.step + 1, state.samples + batch.src.size(0)
                state.tokens = state.tokens + int(batch.ntokens)
                if len(nodes) == accum_iter:
                    update()
        if nodes:
            update()
    return torch.tensor(sum(sums) / sum(counts)), state
""",
}
for name, part in (DATAS | copy_task_builds.DATAS).items():
    WHOLE[name] = TOP + part + LOSS + STATE + LOOP
for name, part in (LOSSES | copy_task_builds.LOSSES).items():
    WHOLE[name] = TOP + DATA + part + STATE + LOOP
for name, part in STATES.items():
    WHOLE[name] = TOP + DATA + LOSS + part + LOOP
for name, part in (LOOPS | copy_task_builds.LOOPS).items():
    WHOLE[name] = TOP + DATA + LOSS + "@dataclass" + STATE + part

HONEST = WHOLE

# Written as the widely copied code is: its faults, and nothing else, are to be named.
COPIED = (
    TOP
    + """
def data_gen(V, batch_size, nbatches):
    for i in range(nbatches):
        data = torch.randint(1, V, size=(batch_size, 10))
        data[:, 0] = 1
        yield Batch(data.clone().detach(), data.clone().detach(), 0)

"""
    + LOSS
    + "@dataclass"
    + STATE
    + """
def run_epoch(
    data_iter, model, loss_compute, optimizer, scheduler, mode="train", accum_iter=1,
    train_state=TrainState(),
):
    total_tokens, total_loss, tokens, n_accum = 0, 0, 0, 0
    for i, batch in enumerate(data_iter):
        out = model.forward(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
        loss, loss_node = loss_compute(out, batch.tgt_y, batch.ntokens)
        if mode == "train" or mode == "train+log":
            loss_node.backward()
            train_state.step += 1
            train_state.samples += batch.src.shape[0]
            train_state.tokens += batch.ntokens
            if i % accum_iter == 0:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                n_accum += 1
                train_state.accum_step += 1
            scheduler.step()
        total_loss += loss
        total_tokens += batch.ntokens
        tokens += batch.ntokens
        if i % 40 == 1 and mode == "train":
            print("step", i, "rate", optimizer.param_groups[0]["lr"], "loss", loss / batch.ntokens)
            tokens = 0
        del loss
        del loss_node
    return total_loss / total_tokens, train_state
"""
)

# Mistakes planted in the code above, by hand: what is replaced.
PLANTED: dict[str, list[tuple[str, str]]] = {
    "copy-first-column-random": [("        ids[:, 0] = 1\n", "")],
    "copy-padding-among-ids": [("torch.randint(1, V", "torch.randint(0, V")],
    "copy-padding-default": [("ids.clone().detach(), 0)", "ids.clone().detach())")],
    "copy-generator-ignored": [(", generator=generator", "")],
    "copy-generator-rewound": [
        (
            "    for _ in range(nbatches):\n        ids",
            "    _ = generator and generator.manual_seed(generator.initial_seed())\n"
            "    for _ in range(nbatches):\n        ids",
        )
    ],
    "copy-same-by-default": [
        ("generator=generator", "generator=generator or torch.Generator().manual_seed(7)"),
    ],
    "loss-not-divided": [("(rows, words) / norm", "(rows, words)"), (".data * norm", ".data")],
    "loss-total-divided": [(".data * norm", ".data")],
    "loss-keeps-graph": [("sloss.data * norm", "sloss * norm")],
    "loss-order-swapped": [("sloss.data * norm, sloss", "sloss, sloss.data * norm")],
    "loss-generator-left-out": [("        x = self.generator(x)\n", "")],
    "loss-rows-mixed": [("x.contiguous()", "x.transpose(1, 2).contiguous()")],
    "loss-labels-transposed": [("y.contiguous()", "y.T.contiguous()")],
    "loss-padding-counted": [
        ("self.criterion(rows, words)", "-rows.gather(1, words[:, None]).sum()")
    ],
    "loop-zero-grad-missing": [("    optimizer.zero_grad(set_to_none=False)\n", "")],
    "loop-without-gradients": [("        node.backward()\n", "")],
    "loop-no-update": [("    optimizer.step()\n", "")],
    "loop-labels-unshifted": [("batch.tgt_y", "batch.tgt")],
    "loop-reads-answer": [("batch.src, batch.tgt,", "batch.src, batch.tgt_y,")],
    "loop-target-mask-missing": [("batch.tgt_mask)", "None)")],
    "loop-norm-missing": [("tgt_y, batch.ntokens", "tgt_y, 1")],
    "loop-loss-per-batch": [("words += batch.ntokens", "words += 1")],
    "loop-loss-summed": [("losses / words", "losses")],
    "loop-last-loss": [
        ("losses += loss", "losses = loss"),
        ("words += batch.ntokens", "words = batch.ntokens"),
    ],
    "accumulation-rest-dropped": [("    if pending:\n", "    if False:\n")],
    "accumulation-rest-always": [("    if pending:\n", "    if learn:\n")],
    "accumulation-counts-on": [
        ("pending = (pending + 1) % accum_iter", "pending = state.step % accum_iter"),
    ],
    "loop-asks-for-length": [
        (
            "    for batch in batches:",
            "    for batch in (batches[i] for i in range(len(batches))):",
        ),
    ],
    "accumulation-averaged": [("node.backward()", "(node / accum_iter).backward()")],
    "accumulation-ignored": [("% accum_iter", "% 1")],
    "schedule-never": [("    scheduler.step()\n", "")],
    "schedule-before-update": [
        ("    scheduler.step()\n", ""),
        ("    optimizer.step()", "    scheduler.step()\n    optimizer.step()"),
    ],
    "counts-shared-state": [
        ("train_state=None", "train_state=TrainState()"),
    ],
    "counts-samples-as-batches": [("len(batch.src)", "1")],
    "counts-state-ignored": [("train_state or TrainState()", "TrainState()")],
    "eval-learns": [('learn = mode == "train"', "learn = True")],
    "loop-gradients-clipped": [
        (
            "    optimizer.step()",
            "    for g in optimizer.param_groups[0]['params']:\n"
            "        g.grad.clamp_(-0.5, 0.5)\n    optimizer.step()",
        )
    ],
    "eval-returns-no-state": [
        (
            "train_state or TrainState()",
            'train_state or (TrainState() if mode == "train" else None)',
        )
    ],
    "eval-needs-optimizer": [("    if learn:\n        optimizer", "    if 1:\n        optimizer")],
}

# Wrong in ways the catalogue does not hold.
UNKNOWN = {
    "an even start": [("ids[:, 0] = 1", "ids[:, 0] = 2")],
    "always the same word": [("torch.randint(1, V", "torch.randint(1, 2")],
    "one batch more": [("range(nbatches)", "range(nbatches + 1)")],
    "half of the loss": [("(rows, words) / norm", "(rows, words) / norm / 2")],
    "a norm of its own": [("(rows, words) / norm", "(rows, words) / (norm + 1)")],
    "source forgotten": [("model(batch.src,", "model(batch.src * 0 + 1,")],
    "signs alone": [
        (
            "    optimizer.step()",
            "    for g in optimizer.param_groups[0]['params']:\n"
            "        g.grad.sign_()\n    optimizer.step()",
        )
    ],
    "every second batch": [
        ("        node.backward()", "        if state.step % 2: node.backward()")
    ],
    "two steps of the schedule": [("scheduler.step()", "scheduler.step(); scheduler.step()")],
    "the rest is an update that is not counted": [
        (
            "    if pending:\n        advance(optimizer, scheduler, state)",
            "    if pending:\n        advance(optimizer, scheduler, TrainState())",
        )
    ],
    "no batch at all": [("range(nbatches)", "range(0)")],
    "an update after each second batch that was ever counted": [
        ("        if pending == 0:", "        if state.step % accum_iter == 0:"),
    ],
    "the schedule is told a number": [("scheduler.step()", "scheduler.step(state.accum_step)")],
    "another padding": [("ids.clone().detach(), 0)", "ids.clone().detach(), 1)")],
    "ids of half the size": [("generator=generator)", "generator=generator).int()")],
    "two updates": [("    optimizer.step()", "    optimizer.step(); optimizer.step()")],
    "tokens forgotten": [("        state.tokens += batch.ntokens\n", "")],
    "noise": [("node.backward()", "(node * torch.rand(())).backward()")],
    "mean of words and one": [("losses / words", "losses / (words + 1)")],
}
BASE = WHOLE["17.0 plain"]


def graded(text: str, seed: int = 3) -> Verdict:
    return harness.graded(STEP, text, seed)


def edited(edits: list[tuple[str, str]]) -> str:
    return harness.edited(BASE, *edits)


@pytest.mark.parametrize("name", WHOLE)
def test_right_code_gets_full_marks_and_no_remark(name: str) -> None:
    verdict = graded(WHOLE[name])
    assert failed(verdict, advice=True) == set()
    assert verdict.points == 10


@pytest.mark.parametrize("slug", PLANTED)
def test_a_planted_mistake_is_named_and_nothing_else_is(slug: str) -> None:
    verdict = graded(edited(PLANTED[slug]))
    assert named(verdict) == {slug}
    assert verdict.points < 10


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    verdict = graded(edited(UNKNOWN[name]))
    assert verdict.points < 10
    assert named(verdict) == set()


def test_widely_copied_code_loses_its_faults_and_no_more() -> None:
    verdict = graded(COPIED)
    assert failed(verdict) == {"accumulation", "schedule", "counts"}
    assert failed(verdict, advice=True) >= {"arguments", "mode", "stale"}
    graded_names = {s for c in verdict.checks if c.max_points for s in c.misconceptions}
    assert graded_names == {
        "accumulation-first-batch",
        "schedule-each-batch-after",
        "counts-shared-state",
    }


@pytest.mark.parametrize("slug", ["loop-labels-unshifted", "loop-target-mask-missing"])
def test_a_leak_from_the_future_is_told_as_one(slug: str) -> None:
    verdict = graded(edited(PLANTED[slug]))
    (updates,) = (c for c in verdict.checks if c.check == "updates")
    assert updates.state == "failed"
    mistake = STEP.misconception(slug)
    assert "falls too well" in mistake.name["en"]
