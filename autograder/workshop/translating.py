"""Translating with what a training has made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from autograder.core.trouble import Trouble
from autograder.desk.sources import Origin
from autograder.workshop import pictures
from autograder.workshop.checkpoint import fill, read_checkpoint
from autograder.workshop.code import Code, load
from autograder.workshop.languages import Languages, remembered, unknown
from autograder.workshop.runfolder import RunFolder, read_card
from autograder.workshop.training import make_model

LAST_STEP = "translation"  # the slug of the last step, which a translator needs

_TABLE = 5000  # positions that the code's table has: step 5
_LONGER = 50  # a translation may be so much longer than its source: the paper, section 6.1


@dataclass(frozen=True)
class Translator:
    """A trained model with the code and the languages that belong to it."""

    code: Code
    languages: Languages
    model: nn.Module

    def unknown(self, sentence: str) -> tuple[list[str], bool]:
        """The words of a sentence that were never seen in training, and whether that is all."""
        words = unknown(self.languages.source, sentence)
        return words, len(words) == len(self.languages.source.pipeline(sentence))

    def translate(self, sentence: str, beam: int) -> str:
        """Translate a sentence.

        Raises:
            Trouble: there is nothing in it, it is too long for the model, or the code fails.
        """
        with self.code.watched():
            words = self.languages.source.pipeline(sentence)
        if not words:
            raise Trouble("sentence_empty")
        if len(words) + 2 > _TABLE:
            raise Trouble("sentence_long", words=len(words), most=_TABLE - 2)
        with self.code.watched():
            text: str = self.code.translate(
                self.model,
                sentence,
                self.languages.source.pipeline,
                self.languages.source.vocabulary,
                self.languages.target.vocabulary,
                max_len=min(len(words) + 2 + _LONGER, _TABLE),
                beam=beam,
            )
        return text

    def draw(self, sentence: str, translation: str, path: Path) -> None:
        """Draw where the decoder looked in the sentence at each word of the translation.

        Raises:
            Trouble: matplotlib is missing, the file cannot be written, or the code fails.
        """
        source, target = self.languages.source, self.languages.target
        looked_at = ["<s>", *source.pipeline(sentence), "</s>"]
        said = [word for word in translation.split(" ") if word]
        with self.code.watched():
            src = torch.tensor([source.vocabulary(looked_at)])
            tgt = torch.tensor([target.vocabulary(["<s>", *said])])
            weights = self.code.attention_maps(
                self.model,
                src,
                torch.ones(1, 1, src.size(1), dtype=torch.bool),
                tgt,
                self.code.subsequent_mask(tgt.size(1)),
            )["decoder_src"]
        # At each word the decoder had said those before it: row k says word k.
        pictures.maps(weights, looked_at, [*said, "</s>"], path)


def open_translator(root: Path, origin: Origin | None) -> Translator:
    """The best model of a training.

    Args:
        root: the training's folder.
        origin: whose code; None for that which was trained.

    Raises:
        Trouble: there is no training, its files are not whole, or the code is not.
    """
    folder = RunFolder(root)
    card = read_card(folder)
    if not folder.best.exists():
        raise Trouble("no_run", path=root)
    state = read_checkpoint(folder.best, "model")
    code = load(origin or card.origin, LAST_STEP)
    languages = remembered(code, card)
    with code.watched():
        model = make_model(code, languages, card.settings)
    fill(model, state["model"], folder.best)
    model.eval()
    return Translator(code, languages, model)
