"""Demo of step 14: a small model learns to copy, and then copies what it has never seen."""

import argparse
from types import ModuleType
from typing import Any

import torch
from torch import nn

from autograder.demo import Say, run
from transformer_ref import LabelSmoothing, greedy_decode, make_model, make_optimizer

START, PAD = 1, 0
SHOWN, TRIED, REPORTS = 3, 100, 5
MODEL = {"N": 2, "d_model": 32, "d_ff": 64, "h": 4}
WARMUP = 200
STATE = ("step", "accum_step", "samples", "tokens")

TEXTS = {
    "en": {
        "batch": "a batch of {sequences} sequences, the first of them {ids}",
        "unequal": "   Source and target should hold the same ids.",
        "padding": "   An id is {pad}, which is padding; nobody would look at it.",
        "start": "   The first id should be {start} everywhere.",
        "model": "a model of {count:,} parameters learns for {updates} updates:",
        "loss": "   after {updates:>4} updates: loss per token {loss:.3f}",
        "guess": "   (Who only guesses has log {words} = {guess:.3f}.)",
        "state": "batches {step}, updates {accum_step}, sequences {samples:,}, tokens {tokens:,}",
        "measured": "measured on new sequences, without dropout: {loss:.3f}",
        "same": "   Measuring has changed nothing.",
        "changed": "   But measuring has changed the model.",
        "decoded": "sequences that it has never seen, and what it says:",
        "pair": "   {source}   ->   {target}",
        "copied": "copied exactly: {copied} of {tried}",
        "copies": "   The trained model copies.",
        "learning": "   It has not learnt it yet. More updates (--updates) help a right training.",
        "leak": (
            "   The loss says that it can, and yet it cannot: when it was trained, it could see\n"
            "   the answer. What did it read, and what was it to say?"
        ),
    },
    "ko": {
        "batch": "시퀀스 {sequences}개짜리 배치. 그중 첫째: {ids}",
        "unequal": "   원문과 번역문의 id가 같아야 해요.",
        "padding": "   id 가운데 {pad}이 있어요. 패딩이라서 아무도 보지 않아요.",
        "start": "   첫 id는 어디서나 {start}이어야 해요.",
        "model": "파라미터가 {count:,}개인 모델이 {updates}번 갱신하며 배워요:",
        "loss": "   갱신 {updates:>4}번 뒤: 토큰당 손실 {loss:.3f}",
        "guess": "   (찍기만 할 때의 손실: log {words} = {guess:.3f})",
        "state": "배치 {step}, 갱신 {accum_step}, 시퀀스 {samples:,}, 토큰 {tokens:,}",
        "measured": "새 시퀀스로 드롭아웃 없이 잰 손실: {loss:.3f}",
        "same": "   재는 동안 바뀐 것은 없어요.",
        "changed": "   그런데 재는 동안 모델이 바뀌었어요.",
        "decoded": "한 번도 본 적 없는 시퀀스와 모델이 한 말:",
        "pair": "   {source}   ->   {target}",
        "copied": "똑같이 복사한 시퀀스: {copied}개 (전체 {tried}개)",
        "copies": "   학습한 모델이 복사할 줄 알아요.",
        "learning": "   아직 다 배우지 못했어요. 올바른 학습이라면 갱신을 늘리면 돼요(--updates).",
        "leak": (
            "   손실만 보면 할 줄 아는데, 실제로는 못 해요. 학습할 때 답을 볼 수 있었던 거예요.\n"
            "   무엇을 읽었고, 무엇을 말해야 했나요?"
        ),
    },
}

SIZES = {"updates": 500, "batch": 40, "vocab": 11, "length": 10}


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    show_batch(step, say, options)
    model = make_model(options.vocab, options.vocab, **MODEL)
    train(step, say, model, options)
    loss = measure(step, say, model, options)
    show_copies(step, say, model, options, loss)


def draw(step: ModuleType, options: argparse.Namespace, rows: int, batches: int, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    length = max(options.length, 2)  # one id to read, one to say
    return step.data_gen(options.vocab, rows, batches, length, generator=generator)


def show_batch(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    batch = next(iter(draw(step, options, options.batch, 1, seed=1)))
    target = torch.cat([batch.tgt, batch.tgt_y[:, -1:]], dim=1)
    say("batch", sequences=len(batch.src), ids=ids(batch.src[0]))
    if not torch.equal(batch.src, target):
        say("unequal")
    elif (batch.src == PAD).any():
        say("padding", pad=PAD)
    elif (batch.src[:, 0] != START).any():
        say("start", start=START)


def train(step: ModuleType, say: Say, model: nn.Module, options: argparse.Namespace) -> None:
    """Train in a few epochs, so that there is something to tell in between."""
    optimizer, scheduler = make_optimizer(model, MODEL["d_model"], warmup=WARMUP)
    say("model", count=sum(p.numel() for p in model.parameters()), updates=options.updates)
    state, done = None, 0
    for report in range(1, REPORTS + 1):
        updates = options.updates * report // REPORTS - done
        if updates == 0:
            continue
        batches = draw(step, options, options.batch, updates, seed=10 + report)
        loss, state = step.run_epoch(
            batches,
            model,
            loss_compute(step, model, options),
            optimizer,
            scheduler,
            train_state=state,
        )
        done += updates
        say("loss", updates=done, loss=float(loss))
    words = options.vocab - 1
    say("guess", guess=torch.tensor(float(words)).log().item(), words=words)
    say("state", **{name: getattr(state, name) for name in STATE})


def measure(step: ModuleType, say: Say, model: nn.Module, options: argparse.Namespace) -> float:
    before = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    batches = draw(step, options, TRIED, 2, seed=2)
    compute = loss_compute(step, model, options)
    loss, _ = step.run_epoch(batches, model.eval(), compute, None, None, mode="eval")
    say("measured", loss=float(loss))
    after = nn.utils.parameters_to_vector(model.parameters())
    say("same" if torch.equal(before, after) else "changed")
    return float(loss)


def show_copies(
    step: ModuleType, say: Say, model: nn.Module, options: argparse.Namespace, loss: float
) -> None:
    src = next(iter(draw(step, options, TRIED, 1, seed=3))).src
    src_mask = torch.ones(len(src), 1, src.size(1), dtype=torch.bool)
    written = greedy_decode(model.eval(), src, src_mask, src.size(1), START)
    say("decoded")
    for source, target in zip(src[:SHOWN], written, strict=False):
        say("pair", source=ids(source), target=ids(target))
    copied = int((written == src).all(dim=-1).sum())
    say("copied", copied=copied, tried=TRIED)
    if copied >= 0.9 * TRIED:
        say("copies")
    else:
        say("leak" if loss < 0.05 else "learning")


def loss_compute(step: ModuleType, model: nn.Module, options: argparse.Namespace) -> Any:
    criterion = LabelSmoothing(options.vocab, padding_idx=PAD, smoothing=0.0)
    return step.SimpleLossCompute(model.generator, criterion)


def ids(row: torch.Tensor) -> str:
    return " ".join(str(number) for number in row.tolist())


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
