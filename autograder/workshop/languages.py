"""The two languages of a translator: tokenizers and vocabularies, in the hands of the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.core.trouble import Trouble
from autograder.workshop.code import Code
from autograder.workshop.corpus import SOURCE, TARGET, Corpus, Pair
from autograder.workshop.runfolder import Card
from autograder.workshop.tokens import Tokenizer

Pipeline = Callable[[str], list[str]]

SPECIALS = ("<s>", "</s>", "<blank>", "<unk>")


class Side:
    """One language: `pipeline` is the code's `tokenize`, `vocabulary` the code's vocabulary."""

    def __init__(self, language: str, code: Code) -> None:
        self.tokenizer = Tokenizer(language)
        self.vocabulary: Any = None
        self._tokenize = code.tokenize
        self._cut: dict[str, list[str]] = {}

    def pipeline(self, text: str) -> list[str]:
        """The tokens of a text; each text is cut once."""
        if text not in self._cut:
            self._cut[text] = self._tokenize(text, self.tokenizer)
        return list(self._cut[text])


@dataclass(frozen=True)
class Languages:
    """Both sides."""

    source: Side
    target: Side

    @property
    def pad(self) -> int:
        """The id of padding, which `Batch` wants one of."""
        return int(self.source.vocabulary["<blank>"])

    def length(self, pair: Pair) -> int:
        """How many ids a pair takes: those of its longer side, both markers counted."""
        sides = zip((self.source, self.target), pair, strict=True)
        return max(len(side.pipeline(text)) for side, text in sides) + 2

    def words(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tokens of both vocabularies, by id."""
        source, target = (s.vocabulary for s in (self.source, self.target))
        return tuple(source.tokens(range(len(source)))), tuple(target.tokens(range(len(target))))


def learnt(code: Code, corpus: Corpus, min_freq: int) -> Languages:
    """Tokenizers that know a corpus, and vocabularies counted on all of it.

    Raises:
        Trouble: spaCy is missing; or the code's vocabulary lacks a special.
    """
    languages = Languages(Side(SOURCE, code), Side(TARGET, code))
    for i, side in enumerate((languages.source, languages.target)):
        sentences = [pair[i] for pair in corpus.all]
        side.tokenizer.learn(sentences)
        with code.watched():
            tokens = [side.pipeline(text) for text in sentences]
            side.vocabulary = code.build_vocabulary(tokens, min_freq)
    _have_specials(languages)
    return languages


def remembered(code: Code, card: Card) -> Languages:
    """The languages of a training that was done before.

    The code's vocabularies have a constructor of their own choice: a vocabulary of nothing but
    specials has every token where it was.

    Raises:
        Trouble: the vocabulary lacks a special, or the code numbers tokens otherwise.
    """
    languages = Languages(Side(SOURCE, code), Side(TARGET, code))
    for side, words in ((languages.source, card.source), (languages.target, card.target)):
        with code.watched():
            side.vocabulary = code.build_vocabulary([], 1, words)
    _have_specials(languages)
    if languages.words() != (card.source, card.target):
        raise Trouble("other_words")
    return languages


def unknown(side: Side, text: str) -> list[str]:
    """The tokens of a text that the vocabulary does not have."""
    vocabulary = side.vocabulary
    nothing = vocabulary["<unk>"]
    return [t for t in side.pipeline(text) if t != "<unk>" and vocabulary[t] == nothing]


def _have_specials(languages: Languages) -> None:
    for side in (languages.source, languages.target):
        ids: Sequence[int] = [_id(side, special) for special in SPECIALS]
        if len(set(ids)) < len(ids):
            lost = next(s for s in SPECIALS if _id(side, s) == _id(side, "<unk>") and s != "<unk>")
            raise Trouble("no_special", name=lost, language=side.tokenizer.language)


def _id(side: Side, special: str) -> int:
    try:
        return int(side.vocabulary[special])
    except KeyError:
        raise Trouble("no_special", name=special, language=side.tokenizer.language) from None
