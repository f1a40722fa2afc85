"""Training a translator: what the code is given to work with, and the folder that it works in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from autograder.core.trouble import Trouble
from autograder.workshop.checkpoint import fill, read_checkpoint
from autograder.workshop.code import Code
from autograder.workshop.corpus import Corpus, Pair
from autograder.workshop.languages import Languages
from autograder.workshop.runfolder import Card, RunFolder, read_card
from autograder.workshop.settings import SIZES, Settings
from autograder.workshop.watch import Listener, StopAfterEpoch, Watch

History = list[dict[str, Any]]

_LAST = ("model", "optimizer", "scheduler", "epoch", "history", "rng")


@dataclass(frozen=True)
class Training:
    """All that a training needs."""

    code: Code
    languages: Languages
    corpus: Corpus
    settings: Settings
    folder: RunFolder
    device: torch.device
    precision: str = "float32"


@dataclass(frozen=True)
class Outcome:
    """How it ended; `stopped` if the user wanted it to before the last epoch."""

    model: nn.Module
    history: History
    stopped: bool


def make_model(code: Code, languages: Languages, settings: Settings) -> nn.Module:
    """A fresh model of the code's own, for these vocabularies."""
    sizes = [len(side.vocabulary) for side in (languages.source, languages.target)]
    model: nn.Module = code.make_model(*sizes, **settings.sizes)
    return model


def prepare(folder: RunFolder, card: Card, resume: bool) -> None:
    """Make the folder ready: a new card, or a training to go on with.

    Raises:
        Trouble: there is another training in it, or one that this would not go on with.
    """
    if resume and folder.card.exists():
        _compare(read_card(folder), card)
    elif resume and folder.last.exists():
        raise Trouble("no_run", path=folder.root)
    elif folder.last.exists():
        raise Trouble("run_exists", path=folder.root)
    card.write(folder.card)


def _compare(saved: Card, asked: Card) -> None:
    for name in SIZES:
        one, other = getattr(saved.settings, name), getattr(asked.settings, name)
        if one != other:
            raise Trouble("resume_sizes", name=name, saved=one, asked=other)
    if (saved.source, saved.target) != (asked.source, asked.target):
        raise Trouble("resume_words")


def train(training: Training, listener: Listener, seed: int, resume: bool = False) -> Outcome:
    """Train, or go on with it, until the last epoch is done or the user stops it.

    Raises:
        Trouble: the code fails, the loss is no number, a checkpoint cannot be read or written.
    """
    code, settings = training.code, training.settings
    torch.manual_seed(seed)
    with code.watched():
        model = make_model(code, training.languages, settings)
    epoch = _epochs_done(training.folder, model) if resume else 0
    with code.watched():
        model.to(training.device)
        words = len(training.languages.target.vocabulary)
        criterion = code.LabelSmoothing(words, training.languages.pad, settings.smoothing)
        loss_compute = code.SimpleLossCompute(model.generator, criterion.to(training.device))
        optimizer, scheduler = code.make_optimizer(
            model, settings.d_model, settings.factor, settings.warmup
        )
    watch = Watch(loss_compute, listener, epoch)
    stopped = False
    try:
        with watch.stoppable(), _saving(training.folder), code.watched(), _autocast(training):
            code.train_model(
                model,
                watch.batches("train", lambda: _batches(training, training.corpus.train, True)),
                watch.batches("valid", lambda: _batches(training, training.corpus.val, False)),
                watch,
                optimizer,
                scheduler,
                settings.epochs,
                training.folder.root,
                accum_iter=settings.accumulate,
                resume=resume,
            )
    except StopAfterEpoch:
        stopped = True
    history = read_checkpoint(training.folder.last, *_LAST)["history"]
    return Outcome(model, history, stopped)


def _batches(
    training: Training, pairs: tuple[Pair, ...], shuffle: bool
) -> tuple[int, Iterator[Any]]:
    """Batches of one epoch. Their order is drawn from torch's default generator."""
    settings, languages, code = training.settings, training.languages, training.code
    lengths = [min(languages.length(pair), settings.max_len) for pair in pairs]
    chosen = code.batches_by_length(lengths, settings.max_tokens, shuffle)

    def batches() -> Iterator[Any]:
        for indices in chosen:
            yield collated(code, languages, [pairs[i] for i in indices], training)

    return len(chosen), batches()


def collated(code: Code, languages: Languages, pairs: list[Pair], training: Training) -> Any:
    """One batch, as the code makes it."""
    source, target = languages.source, languages.target
    src, tgt = code.collate_batch(
        pairs,
        source.pipeline,
        target.pipeline,
        source.vocabulary,
        target.vocabulary,
        training.device,
        training.settings.max_len,
    )
    return code.Batch(src, tgt, languages.pad)


def _epochs_done(folder: RunFolder, model: nn.Module) -> int:
    """How many epochs a checkpoint to go on from has; it is looked into before the code does."""
    if not folder.last.exists():
        return 0
    state = read_checkpoint(folder.last, *_LAST)
    fill(model, state["model"], folder.last)
    return int(state["epoch"])


@contextmanager
def _saving(folder: RunFolder) -> Iterator[None]:
    """A checkpoint that cannot be written is no fault of the code's."""
    try:
        yield
    except OSError as e:
        raise Trouble("not_saved", path=folder.root, reason=e.strerror or str(e)) from None
    except (Trouble, RuntimeError) as e:
        # torch notices that its file has not become what it wrote, and says so in its own way.
        if "inline_container" not in f"{e} {e.__cause__}":
            raise
        raise Trouble("not_saved", path=folder.root, reason=_system_reason(e)) from None


def _system_reason(error: BaseException | None) -> str:
    """What the system said, below the errors that came of it."""
    while error is not None:
        if isinstance(error, OSError):
            return error.strerror or str(error)
        error = error.__cause__ or error.__context__
    return "-"


def _autocast(training: Training) -> Any:
    if training.precision == "float32":
        return nullcontext()
    return torch.autocast(training.device.type, getattr(torch, training.precision))
