"""Pairs of sentences in two made-up languages, and what the cells of a batch of them mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Value, see
from autograder.core.subject import Subject
from autograder.toys.words import SPECIALS, Words, words


@dataclass(frozen=True)
class Side:
    """One language: what joins its words, its vocabulary, and its sentences as texts."""

    joint: str
    vocabulary: Words
    texts: list[str]

    def pipeline(self, text: str) -> list[str]:
        """The words of a text."""
        return [word for word in text.split(self.joint) if word]

    def name(self, i: int) -> str:
        """A special by its name, a word of the sentences as 'word', anything else as it is."""
        if not 0 <= i < len(self.vocabulary):
            return f"the id {i}"
        token = self.vocabulary.tokens([i])[0]
        return "word" if any(token in self.pipeline(text) for text in self.texts) else token

    def behind(self, row: list[int]) -> str:
        """What comes after the last word of a row; padding is nothing."""
        tokens = self._tokens(row)
        behind = [*tokens, "<blank>"][_last_word(tokens) + 1]
        return "nothing" if behind == "<blank>" else behind

    def sentence(self, row: list[int]) -> str:
        """The tokens of a row up to the one behind the last word, without padding in front."""
        tokens = self._tokens(row)
        while tokens[:1] == ["<blank>"]:
            tokens = tokens[1:]
        return " ".join(tokens[: _last_word(tokens) + 2])

    def words(self, row: list[int]) -> str:
        """The words of a row, unknown ones too."""
        return " ".join(filter(_is_word, self._tokens(row)))

    def _tokens(self, row: list[int]) -> list[str]:
        known = range(len(self.vocabulary))
        return [self.vocabulary.tokens([i])[0] if i in known else f"#{i}" for i in row]


def _is_word(token: str) -> bool:
    """Unknown ones are words, too."""
    return token not in SPECIALS or token == "<unk>"


def _last_word(tokens: list[str]) -> int:
    """Its place; that of the first marker where there is none."""
    return max((i for i, token in enumerate(tokens) if _is_word(token)), default=0)


class Sides:
    """Source and target sentences of these lengths, in words.

    Args:
        draw: where words and numbering come from.
        name: of this draw.
        lengths: of each pair's source and target.
        usual: whether the specials have the ids 0 to 3. If not, the two vocabularies differ, and
            words of no sentence stand there.
    """

    def __init__(
        self, draw: Draw, name: str, lengths: list[tuple[int, int]], usual: bool = True
    ) -> None:
        self.both = tuple(
            _side(draw, f"{name}/{i}", joint, [pair[i] for pair in lengths], usual)
            for i, joint in enumerate((" _ ", " + "))
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of texts."""
        source, target = self.both
        return list(zip(source.texts, target.texts, strict=True))


def _side(draw: Draw, name: str, joint: str, lengths: list[int], usual: bool) -> Side:
    every = words(draw, name, sum(lengths) + 12)
    every = [word if i % 3 else word.title() for i, word in enumerate(every)]
    spare, known = every[:12], every[12:]
    rest = iter(known)
    texts = [joint.join(next(rest) for _ in range(n)) for n in lengths]
    if usual:
        # The first word of the first sentence is in no vocabulary.
        return Side(joint, Words([*SPECIALS, *spare, *known[1:]]), texts)
    order = [SPECIALS[i] for i in draw.permutation(f"{name}/specials", 4).tolist()]
    # The two sides have their specials in different places.
    at = 4 if joint == " _ " else 8
    return Side(joint, Words([*spare[:at], *order, *spare[at:], *known]), texts)


def batch_of(subject: Subject, sides: Sides, *more: Any) -> list[Any]:
    """What the subject makes of the pairs: the two tensors, or what came in their place."""
    return [see(side) for side in sides_made(subject, sides, *more)]


def sides_made(subject: Subject, sides: Sides, *more: Any) -> tuple[Any, Any]:
    """The same as it came, wherever it lies."""
    source, target = sides.both
    src, tgt = subject.collate_batch(
        sides.pairs,
        source.pipeline,
        target.pipeline,
        source.vocabulary,
        target.vocabulary,
        *(more or ("cpu",)),
    )
    return src, tgt


def rows_of(ids: Value) -> Value:
    """The rows as lists of ids; what is no table of ids as it is."""
    if not isinstance(ids, Tensor):
        return ids
    if ids.dim() != 2:
        return f"a tensor of {ids.dim()} dimensions"
    return ids.round().to(torch.int64).tolist() if ids.is_floating_point() else ids.tolist()
