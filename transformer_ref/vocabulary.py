"""Step 15, the reference: from text to tokens, and from tokens to ids (paper, section 5.1)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import Tensor

__all__ = ["Vocabulary", "build_vocabulary", "tokenize"]


def tokenize(text: str, tokenizer: Callable[[str], Iterable[Any]]) -> list[str]:
    """Cut a line of text into words and punctuation marks.

    Whitespace around the line, such as its newline, is dropped; upper and lower case are kept.

    Args:
        text: one sentence.
        tokenizer: a spaCy pipeline, or any callable whose tokens have a `.text`. Where it has a
            `.tokenizer` of its own, only that part of it runs.

    Returns:
        The tokens, in order; none for an empty line.
    """
    cut = getattr(tokenizer, "tokenizer", tokenizer)  # The rest of a pipeline is slow, unused.
    return [token.text for token in cut(text.strip())]


class Vocabulary:
    """A numbering of tokens, to be read both ways.

    `v[token]` is a token's id, `v(tokens)` their list, and `v.tokens(ids)` the way back. A token
    that is not in it counts as "<unk>".

    Args:
        tokens: the tokens, in the order of their ids 0, 1, ...

    Raises:
        ValueError: when a token occurs twice.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._tokens = list(tokens)
        self._ids = {token: index for index, token in enumerate(self._tokens)}
        if len(self._ids) < len(self._tokens):
            twice = next(token for token, n in Counter(self._tokens).items() if n > 1)
            raise ValueError(f"a token may stand in a vocabulary only once: {twice!r}")

    def __len__(self) -> int:
        return len(self._tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __getitem__(self, token: str) -> int:
        """Find the id of a token, or of "<unk>" where the token is not known.

        Raises:
            KeyError: when neither is in the vocabulary.
        """
        found = self._ids.get(token, self._ids.get("<unk>"))
        if found is None:
            raise KeyError(f"{token!r} is not in the vocabulary, and neither is '<unk>'")
        return found

    def __call__(self, tokens: Iterable[str]) -> list[int]:
        """Find the ids of several tokens, see `__getitem__`."""
        return [self[token] for token in tokens]

    def tokens(self, ids: Iterable[int] | Tensor) -> list[str]:
        """Find the tokens of ids.

        Args:
            ids: ints, or a tensor (L,) of them.

        Raises:
            IndexError: when an id is not in 0 ... len - 1.
        """
        numbers = ids.tolist() if isinstance(ids, Tensor) else [int(index) for index in ids]
        for index in numbers:
            if not 0 <= index < len(self):
                raise IndexError(f"the vocabulary has no id {index}, only 0 to {len(self) - 1}")
        return [self._tokens[index] for index in numbers]


def build_vocabulary(
    sentences: Iterable[Iterable[str]],
    min_freq: int = 2,
    specials: tuple[str, ...] = ("<s>", "</s>", "<blank>", "<unk>"),
) -> Vocabulary:
    """Number the special tokens, then all that are frequent enough, the most frequent first.

    Args:
        sentences: lists of tokens; read once, so that a generator will do.
        min_freq: how often a token must occur to be listed.
        specials: what comes first, in this order. A token spelt like one of them is that one.

    Returns:
        The vocabulary; tokens of equal frequency stand in alphabetical order (by code point).
    """
    counts = Counter(token for sentence in sentences for token in sentence)
    frequent = [token for token, n in counts.items() if n >= min_freq and token not in specials]
    frequent.sort(key=lambda token: (-counts[token], token))
    return Vocabulary([*specials, *frequent])
