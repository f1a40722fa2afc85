"""A toy model between two made-up languages: what it read, and whether what was said is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value
from autograder.core.subject import Subject
from autograder.toys.pairs import Side, Sides
from autograder.toys.table import Table, Tree
from autograder.toys.words import Words

_LETTERS = "abcdefghij"
_MARKS = (",", "<")  # tokens that are no special, though one of them looks like the begin of one


class Bilingual:
    """A model of that tree, whose letters are words of the second language, and both languages."""

    def __init__(self, draw: Draw, tree: Tree) -> None:
        sides = Sides(draw, "translate", [(4, 12), (12, 4)], usual=False).both
        self.source, self.target = (_with_marks(side) for side in sides)
        vocabulary = self.target.vocabulary
        own = zip(_LETTERS, self.target.pipeline(self.target.texts[0]), strict=False)
        ids = {letter: vocabulary[word] for letter, word in own}
        ids |= {token: vocabulary[token] for token in ("<unk>", "<blank>", *_MARKS)}
        self.ends = vocabulary["<s>"], vocabulary["</s>"]
        self.table = Table(draw, *self.ends, tree, ids, len(vocabulary)).eval()

    def translate(self, subject: Subject, *more: int, sentence: str | None = None) -> Any:
        """What the subject makes of a sentence; of the first one if none is given."""
        text = self.source.texts[0] if sentence is None else sentence
        ends = self.source.pipeline, self.source.vocabulary, self.target.vocabulary
        return subject.translate(self.table, text, *ends, *more)

    def as_found(
        self, subject: Subject, right: str, *more: int, sentence: str | None = None
    ) -> Value:
        """What is said; what the subject's own search finds counts as right, whatever it is.

        `right` is what should be said, in the tree's letters.
        """
        said = self.translate(subject, *more, sentence=sentence)
        vocabulary = self.target.vocabulary
        asked = " ".join(vocabulary.tokens([self.table.ids[letter] for letter in right.split()]))
        try:
            max_len, beam = more or (72, 1)
            src = self.table.sources[-1]
            mask = torch.ones(1, 1, src.size(1)) > 0
            found = subject.beam_search(self.table, src, mask, max_len, *self.ends, beam)
            ids = [int(i) for i in found[0][0]]
            own = self.target.words([i for i in ids if i != vocabulary["<unk>"]])
        except Exception:  # the search is looked at elsewhere
            own = None
        return asked if said == own else said if isinstance(said, str) else Odd(type(said).__name__)

    def read(self) -> str:
        """The first sentence that was read."""
        return self.source.sentence(self.table.sources[0].flatten().tolist())

    def all_visible(self) -> bool:
        """Whether the mask hides nothing of the first sentence that was read, but for padding."""
        read, mask = self.table.sources[0], self.table.masks[0]
        word = read.flatten() != self.source.vocabulary["<blank>"]
        if mask is None:
            return bool(word.all())
        fits = mask.numel() == mask.size(-1) == read.size(-1)
        return fits and torch.equal(mask.flatten() != 0, word)


def _with_marks(side: Side) -> Side:
    every = side.vocabulary.tokens(range(len(side.vocabulary)))
    return replace(side, vocabulary=Words([*every, *_MARKS]))
