"""Words out of nowhere, a tokenizer in spaCy's manner, and a vocabulary to look them up in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from torch import Tensor

from autograder.core.draw import Draw

SPECIALS = ("<s>", "</s>", "<blank>", "<unk>")

_SYLLABLES = tuple(c + v for c in "bdfgklmnprstvz" for v in "aeiou")


def words(draw: Draw, name: str, count: int) -> list[str]:
    """Distinct words of two syllables, in no order."""
    n = len(_SYLLABLES)
    pairs = draw.permutation(name, n * n)[:count].tolist()
    return [_SYLLABLES[pair // n] + _SYLLABLES[pair % n] for pair in pairs]


class Token:
    """What a tokenizer gives for a word: its `text`, and a little of what else spaCy's have."""

    def __init__(self, text: str) -> None:
        self.text = self.orth_ = text
        self.lower_ = text.lower()
        self.is_space = text.isspace()

    def __str__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return len(self.text)


class Tokenizer:
    """Called itself or through `.tokenizer`, it cuts a text into tokens, as spaCy's would.

    A single space between words belongs to no token; any other white space is a token. The
    characters in `alone` are tokens by themselves.
    """

    def __init__(self, alone: str) -> None:
        marks = re.escape(alone)
        self._pattern = re.compile(rf"^ +|(?<= ) +|\n+|[{marks}]|[^\s{marks}]+")

    def __call__(self, text: str) -> list[Token]:
        """The tokens of a text."""
        return [Token(part) for part in self._pattern.findall(text)]

    @property
    def tokenizer(self) -> Callable[[str], list[Token]]:
        """The part that cuts, without what else a pipeline may hold."""
        return self.__call__

    make_doc = __call__


class Words:
    """A vocabulary as the course asks for it, of these tokens in this order."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._tokens = list(tokens)
        self._ids = {token: i for i, token in enumerate(self._tokens)}

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __getitem__(self, token: str) -> int:
        return self._ids.get(token, self._ids["<unk>"])

    def __call__(self, tokens: Iterable[str]) -> list[int]:
        """The ids of tokens."""
        return [self[token] for token in tokens]

    def tokens(self, ids: Sequence[int] | Tensor) -> list[str]:
        """The tokens of ids."""
        return [self._tokens[int(i)] for i in ids]
