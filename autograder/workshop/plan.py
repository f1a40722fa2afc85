"""From what a user wishes to a training that can begin: settings, code, data, folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autograder.core.trouble import Trouble
from autograder.desk.sources import Origin
from autograder.workshop import multi30k
from autograder.workshop.code import load
from autograder.workshop.corpus import Corpus, captions, read_corpus
from autograder.workshop.device import find_device
from autograder.workshop.languages import learnt
from autograder.workshop.runfolder import Card, RunFolder, read_card
from autograder.workshop.settings import preset
from autograder.workshop.training import Training, prepare
from autograder.workshop.translating import LAST_STEP

_OWN = "toy"  # the preset that needs no data but our own
_HELD_BACK = 6  # of our own pairs, for validation, and as many for the test


@dataclass(frozen=True)
class Wishes:
    """What the user says; None is left to the preset, or to the training that is gone on with."""

    folder: RunFolder
    preset: str | None = None
    data_dir: Path | None = None
    origin: Origin | None = None
    epochs: int | None = None
    accumulate: int | None = None
    max_tokens: int | None = None
    device: str = "cpu"
    precision: str = "float32"
    resume: bool = False


def plan(wishes: Wishes) -> Training:
    """Make everything ready; the folder gets its card.

    Raises:
        Trouble: something wished for is not there, or does not fit.
    """
    folder = wishes.folder
    device = find_device(wishes.device)
    saved = read_card(folder) if wishes.resume and folder.card.exists() else None
    name = wishes.preset or (saved.preset if saved else "tiny")
    settings = preset(name) if wishes.preset or not saved else saved.settings
    settings = settings.changed(
        epochs=wishes.epochs, accumulate=wishes.accumulate, max_tokens=wishes.max_tokens
    )
    origin: Origin = wishes.origin or (saved.origin if saved else "mine")
    code = load(origin, LAST_STEP)
    corpus = _corpus(name, wishes.data_dir)
    languages = learnt(code, corpus, settings.min_freq)
    longest = max(map(languages.length, corpus.all))
    if min(longest, settings.max_len) > settings.max_tokens:
        raise Trouble("max_tokens_small", most=settings.max_tokens, longest=longest)
    prepare(folder, Card(origin, name, settings, *languages.words()), wishes.resume)
    return Training(code, languages, corpus, settings, folder, device, wishes.precision)


def own_corpus() -> Corpus:
    """The few captions that come with the kit; the last of them are not trained on."""
    pairs = captions()
    ends = -2 * _HELD_BACK, -_HELD_BACK
    return Corpus(pairs[: ends[0]], pairs[ends[0] : ends[1]], pairs[ends[1] :])


def _corpus(name: str, data_dir: Path | None) -> Corpus:
    if data_dir is None and name == _OWN:
        return own_corpus()
    folder = multi30k.own_folder(data_dir)
    if folder is None:
        folder = multi30k.kept_folder()
        if not folder.is_dir():
            raise Trouble("no_data")
    return read_corpus(folder)
