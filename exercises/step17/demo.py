"""Demo of step 17: training that stops in the middle, and goes on as if it had not."""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn

from autograder.demo import Say, run
from transformer_ref import (
    Batch,
    LabelSmoothing,
    SimpleLossCompute,
    data_gen,
    make_model,
    make_optimizer,
)

VOCAB = 11

TEXTS = {
    "en": {
        "task": "a small model learns to copy {length} ids: {epochs} epochs of {batches} batches",
        "whole": "without interruption:",
        "epoch": "   epoch {epoch}: train {train:.4f}, valid {valid:.4f}",
        "crash": "again, and the power fails in the middle of epoch {epoch}. In the folder:",
        "file": "   {name} holds {keys}",
        "no_file": "   no {name}",
        "resumed": "a new process with resume=True goes on:",
        "same": "Losses and weights are the same, bit for bit.",
        "other": (
            "The losses differ by {losses:.4f}, the weights by {weights:.4f}: something that the\n"
            "next step depends on is not in the checkpoint, or does not come back from it."
        ),
        "full": "the disk is full while a checkpoint is being written over another ({error}):",
        "kept": "   the old one is whole, and nothing lies beside it",
        "lost": "   the old one cannot be read any more",
        "debris": "   beside it lies {names}",
    },
    "ko": {
        "task": (
            "작은 모델이 id {length}개를 베끼는 법을 배워요: 에포크 {epochs}번, 배치 {batches}개씩"
        ),
        "whole": "중단 없이 학습하면:",
        "epoch": "   에포크 {epoch}: 학습 {train:.4f}, 검증 {valid:.4f}",
        "crash": "다시 학습하는데 에포크 {epoch} 도중에 전기가 나가요. 폴더에 남은 것:",
        "file": "   {name}에 든 것: {keys}",
        "no_file": "   {name} 없음",
        "resumed": "새 프로세스가 resume=True로 이어 가면:",
        "same": "손실도 가중치도 비트 하나까지 같아요.",
        "other": (
            "손실이 {losses:.4f}, 가중치가 {weights:.4f}만큼 달라요. 다음 갱신에 필요한 무언가가\n"
            "체크포인트에 없거나, 있어도 되돌아오지 않아요."
        ),
        "full": "체크포인트를 덮어쓰는 동안 디스크가 가득 차면 ({error}):",
        "kept": "   옛 체크포인트가 온전하고, 옆에 남은 것도 없어요",
        "lost": "   옛 체크포인트를 더는 읽을 수 없어요",
        "debris": "   옆에 남은 것: {names}",
    },
}

SIZES = {"epochs": 4, "batches": 20, "length": 6}


class PowerFailure(Exception):
    """What stops the training."""


class DiskFull(Exception):
    """What stops a checkpoint half-way."""


class Batches:
    """Fresh batches for each epoch, drawn from torch's default generator."""

    def __init__(self, count: int, length: int, fail_in: int | None = None) -> None:
        self.count = count
        self.length = length
        self.fail_in = fail_in
        self.epoch = 0

    def __iter__(self) -> Iterator[Batch]:
        self.epoch += 1
        for number, batch in enumerate(data_gen(VOCAB, 16, self.count, length=self.length)):
            if self.epoch == self.fail_in and number == self.count // 2:
                raise PowerFailure
            yield batch


class Unwritable:
    """Something that a checkpoint cannot hold: writing fails in its middle."""

    def __reduce__(self) -> Any:
        raise DiskFull


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    epochs, count, length = options.epochs, options.batches, options.length
    fail_in = epochs // 2 + 1
    say("task", length=length, epochs=epochs, batches=count)
    with tempfile.TemporaryDirectory() as place:
        whole = train(step, Path(place, "whole"), options, Batches(count, length))
        say("whole")
        show_history(say, whole.history)

        folder = Path(place, "again")
        try:
            train(step, folder, options, Batches(count, length, fail_in))
        except PowerFailure:
            say("crash", epoch=fail_in)
            show_files(step, say, folder)

        # Another seed: what a new process has drawn must not matter.
        again = train(step, folder, options, Batches(count, length), resume=True, seed=1)
        say("resumed")
        show_history(say, again.history)
        compare(say, whole, again)
        show_full_disk(step, say, Path(place))


def train(
    step: ModuleType,
    folder: Path,
    options: argparse.Namespace,
    batches: Batches,
    resume: bool = False,
    seed: int = 0,
) -> SimpleNamespace:
    """Build everything anew, as a new process would, and train."""
    torch.manual_seed(seed)
    model = make_model(VOCAB, VOCAB, N=1, d_model=32, d_ff=64, h=4)
    optimizer, scheduler = make_optimizer(model, 32, warmup=40)
    generator = torch.Generator().manual_seed(2)
    valid = list(data_gen(VOCAB, 16, 2, length=options.length, generator=generator))
    compute = SimpleLossCompute(model.generator, LabelSmoothing(VOCAB, padding_idx=0))
    # Keyword arguments would hide whose order of arguments is another.
    parts = (model, batches, valid, compute, optimizer, scheduler)
    history = step.train_model(*parts, options.epochs, folder, resume=resume)
    return SimpleNamespace(history=history, model=model)


def show_history(say: Say, history: list[dict[str, Any]]) -> None:
    for entry in history:
        losses = {"train": entry["train_loss"], "valid": entry["valid_loss"]}
        say("epoch", epoch=entry["epoch"], **losses)


def show_files(step: ModuleType, say: Say, folder: Path) -> None:
    for name in ("last.pt", "best.pt"):
        if (folder / name).is_file():
            say("file", name=name, keys=", ".join(sorted(step.load_checkpoint(folder / name))))
        else:
            say("no_file", name=name)


def compare(say: Say, whole: SimpleNamespace, again: SimpleNamespace) -> None:
    pairs = zip(whole.history, again.history, strict=False)
    losses = max(abs(one["valid_loss"] - other["valid_loss"]) for one, other in pairs)
    weights = distance(whole.model, again.model)
    if whole.history == again.history and weights == 0:
        say("same")
    else:
        say("other", losses=losses, weights=weights)


def distance(model: nn.Module, other: nn.Module) -> float:
    """Return the largest difference between weights of the same name."""
    state = other.state_dict()
    return max(
        (tensor - state[name]).abs().max().item() for name, tensor in model.state_dict().items()
    )


def show_full_disk(step: ModuleType, say: Say, place: Path) -> None:
    folder = place / "disk"
    folder.mkdir()
    path = folder / "last.pt"
    step.save_checkpoint(path, epoch=1)
    try:
        step.save_checkpoint(path, weights=torch.zeros(1000), more=Unwritable())
    except Exception as error:
        say("full", error=type(error).__name__)
    try:
        whole = step.load_checkpoint(path) == {"epoch": 1}
    except Exception:
        whole = False
    debris = sorted(other.name for other in folder.iterdir() if other != path)
    if debris:
        say("debris", names=", ".join(debris))
    if not whole:
        say("lost")
    elif not debris:
        say("kept")


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
