"""`autograder train`: train the model put together from all steps."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.core.speech import Language
from autograder.core.trouble import Trouble
from autograder.desk.sources import Origin
from autograder.front.commands.data import DataDir
from autograder.front.commands.shared import INTERRUPTED, NOT_PASSED, PASSED, Lang
from autograder.front.commands.trainingbars import training_bars
from autograder.front.show import near
from autograder.front.troubles import complaint, language
from autograder.front.wording import say
from autograder.workshop.threads import let_waiting_threads_sleep

if TYPE_CHECKING:
    from autograder.workshop.copying import Copied
    from autograder.workshop.quality import Bleu
    from autograder.workshop.training import Outcome, Training

app = typer.Typer(help="Train the model put together from the steps.", rich_markup_mode=None)


class Precision(StrEnum):
    """In which numbers matrices are multiplied."""

    float32 = "float32"
    bfloat16 = "bfloat16"


Whose = Annotated[Origin, typer.Option("--from", help="whose code: your own, or another's")]
MaybeWhose = Annotated[
    Origin | None, typer.Option("--from", help="whose code: your own, or another's")
]
Seed = Annotated[int, typer.Option(help="what is drawn at random")]
Device = Annotated[str, typer.Option(metavar="DEVICE", help="cpu, cuda, cuda:1, mps ...")]
Preset = Annotated[
    str | None, typer.Option(metavar="NAME", help="tiny, base, or toy: seconds, no download")
]
Out = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="where to keep it; else ./translator")
]
Epochs = Annotated[int | None, typer.Option(min=1, help="how many in all")]
Resume = Annotated[bool, typer.Option("--resume", help="go on where it stopped")]
Accumulate = Annotated[int | None, typer.Option(min=1, help="batches for each update")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="positions in a batch")]


@app.command("copy")
def copy(origin: Whose = "mine", seed: Seed = 1, device: Device = "cpu", lang: Lang = None) -> int:
    """Teach a small model to repeat what it reads, with the code of steps 1 to 14. A minute.

    Exit status: 0 it copies unseen sequences without a mistake, 1 it does not.
    """
    speech = language(lang)
    let_waiting_threads_sleep()
    from autograder.workshop import copying
    from autograder.workshop.code import load
    from autograder.workshop.device import find_device

    place = find_device(device)
    code = load(origin, copying.LAST_STEP)
    with training_bars(speech) as bars:

        def told(so_far: Copied) -> None:
            bars.line(_copied("copying.epoch", so_far, speech))

        ended = copying.copy(code, bars, seed, place, told=told)
    print(_copied("copying.learnt" if ended.learnt else "copying.not_learnt", ended, speech))
    return PASSED if ended.learnt else NOT_PASSED


@app.command("translate")
def translate(
    preset: Preset = None,
    data_dir: DataDir = None,
    origin: MaybeWhose = None,
    out: Out = None,
    epochs: Epochs = None,
    resume: Resume = False,
    device: Device = "cpu",
    accumulate: Accumulate = None,
    max_tokens: MaxTokens = None,
    precision: Annotated[Precision, typer.Option()] = Precision.float32,
    seed: Seed = 1,
    lang: Lang = None,
) -> int:
    """Train a German-English translator with the code of all steps, and measure it.

    Ctrl-C once: finish the epoch and stop; --resume goes on. Exit status: 0 all epochs done, 1 not.
    """
    speech = language(lang)
    let_waiting_threads_sleep()
    from autograder.workshop.plan import Wishes, plan
    from autograder.workshop.runfolder import DEFAULT, RunFolder
    from autograder.workshop.training import train

    wishes = Wishes(
        folder=RunFolder(out or DEFAULT),
        preset=preset,
        data_dir=data_dir,
        origin=origin,
        epochs=epochs,
        accumulate=accumulate,
        max_tokens=max_tokens,
        device=device,
        precision=precision.value,
        resume=resume,
    )
    training = plan(wishes)
    _print_plan(training, speech)
    try:
        with training_bars(speech) as bars:
            outcome = train(training, bars, seed, resume)
    except KeyboardInterrupt:
        key = "stopped_at_once" if training.folder.last.exists() else "nothing_kept"
        print(say(f"training.{key}", speech, named=_named("--out", out)))
        return INTERRUPTED
    return _end(training, outcome, out, speech)


def _copied(key: str, copied: Copied, lang: Language) -> str:
    return say(
        key,
        lang,
        epoch=copied.epochs,
        updates=copied.updates,
        seconds=f"{copied.seconds:.0f}",
        loss=f"{copied.loss:.4f}",
        right=copied.right,
        unseen=copied.unseen,
    )


def _print_plan(training: Training, lang: Language) -> None:
    languages = training.languages
    print(
        say(
            "training.plan",
            lang,
            pairs=f"{len(training.corpus.train):,}",
            source=f"{len(languages.source.vocabulary):,}",
            target=f"{len(languages.target.vocabulary):,}",
            device=str(training.device),
            epochs=training.settings.epochs,
        ),
        flush=True,
    )


def _end(training: Training, outcome: Outcome, out: Path | None, lang: Language) -> int:
    """What was reached: curves, and either how to go on or how good it is."""
    folder = training.folder
    _draw_curves(training, outcome, lang)
    if outcome.stopped:
        facts = {"epoch": len(outcome.history), "named": _named("--out", out)}
        print(say("training.stopped", lang, **facts))
        return NOT_PASSED
    best = min(outcome.history, key=lambda entry: entry["valid_loss"])
    facts = {"epoch": best["epoch"], "loss": f"{best['valid_loss']:.3f}"}
    print(say("training.best", lang, path=near(folder.best), **facts))
    _print_bleu(training, outcome, lang)
    print(say("training.next", lang, run=_named("--run", out)))
    return PASSED


def _named(option: str, folder: Path | None) -> str:
    """A folder as it has to be named again in the next command."""
    return f" {option} {shlex.quote(str(folder))}" if folder else ""


def _draw_curves(training: Training, outcome: Outcome, lang: Language) -> None:
    from autograder.workshop.pictures import curves

    path = training.folder.curves
    try:
        curves(outcome.history, path)
    except Trouble as e:  # the training is worth more than its picture
        print(complaint(e, lang))
    else:
        print(say("made.wrote", lang, path=near(path)))


def _print_bleu(training: Training, outcome: Outcome, lang: Language) -> None:
    from autograder.workshop.quality import measure_best

    with training_bars(lang) as bars:
        what = say("training.measuring", lang)
        try:
            bleu: Bleu = measure_best(
                training, outcome.model, lambda done, of: bars.show(what, done, of)
            )
        except Trouble as e:
            if e.key != "needs_extra":
                raise
            print(complaint(e, lang))
            return
    for name, score, signature in (
        ("raw", bleu.raw, bleu.raw_signature),
        ("tokenized", bleu.tokenized, bleu.tokenized_signature),
    ):
        facts = {"score": f"{score:.1f}", "signature": signature}
        print(say(f"training.bleu_{name}", lang, sentences=len(training.corpus.test), **facts))
