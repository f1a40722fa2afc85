"""Step 15: words into numbers. Fill in the bodies, then run `pytest exercises/step15`.

A model knows ids, and a sentence is text. A tokenizer cuts the text into tokens, and a vocabulary
gives each token its number, and back.

Paper: "Attention Is All You Need", section 5.1. (There the tokens are pieces of words; here they
are words.)
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any


def tokenize(text: str, tokenizer: Callable[[str], Iterable[Any]]) -> list[str]:
    """Cut a sentence into tokens.

    Args:
        text: one sentence. Spaces and a newline before or behind it are not part of it: they are
            stripped first. Upper and lower case stay as they are.
        tokenizer: as spaCy's: `tokenizer(text)` gives tokens, and each token has its text in
            `.text`. (`tokenizer.tokenizer(text)` gives the same tokens, since spaCy's whole
            pipelines begin with a tokenizer of that name.)

    Returns:
        The texts of the tokens, in their order. For an empty sentence an empty list.
    """
    ### BEGIN SOLUTION
    # A file's lines end with a newline. It would become a token of its own.
    text = text.strip()
    tokens = tokenizer(text)
    return [token.text for token in tokens]
    ### END SOLUTION


class Vocabulary:
    """The tokens of a language, each with its id: 0, 1, 2, ...

    A token that the vocabulary does not have gets the id of "<unk>", wherever that one stands.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        """Number the tokens. (You may choose another constructor.)

        Args:
            tokens: different tokens, in the order of their ids, specials included.
        """
        ### BEGIN SOLUTION
        self._tokens = list(tokens)
        self._ids = {token: number for number, token in enumerate(self._tokens)}
        ### END SOLUTION

    def __len__(self) -> int:
        """Return how many tokens there are, specials included."""
        ### BEGIN SOLUTION
        return len(self._tokens)
        ### END SOLUTION

    def __getitem__(self, token: str) -> int:
        """Return the id of one token, `vocabulary["dog"]`.

        Raises:
            KeyError: the token is unknown, and the vocabulary has no "<unk>".
        """
        ### BEGIN SOLUTION
        if token in self._ids:
            return self._ids[token]
        return self._ids["<unk>"]
        ### END SOLUTION

    def __call__(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of several tokens, `vocabulary(["a", "dog"])`, in their order.

        Raises:
            KeyError: as above.
        """
        ### BEGIN SOLUTION
        return [self[token] for token in tokens]
        ### END SOLUTION

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of several ids, in their order.

        Args:
            ids: numbers, or a tensor of one dimension. Specials come back like other tokens.
        """
        ### BEGIN SOLUTION
        # int() takes a number as it is, and a tensor's elements too.
        return [self._tokens[int(number)] for number in ids]
        ### END SOLUTION


def build_vocabulary(
    sentences: Iterable[list[str]],
    min_freq: int = 2,
    specials: Iterable[str] = ("<s>", "</s>", "<blank>", "<unk>"),
) -> Vocabulary:
    """Count the tokens of a text and number those that are frequent enough.

    Args:
        sentences: lists of tokens. They are gone through once, so a generator will do.
        min_freq: how often a token must occur at least.
        specials: start, end, padding, unknown: tokens that have ids though no text holds them.

    Returns:
        A vocabulary of the specials, in the given order, from id 0 on; then of the tokens, the
        most frequent first, and among equally frequent ones in the order of their characters
        ("a" before "b"). A token spelt like a special is not listed a second time.
    """
    ### BEGIN SOLUTION
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)

    specials = list(specials)
    frequent = [token for token, count in counts.items() if count >= min_freq]
    words = [token for token in frequent if token not in specials]

    # Minus, since large counts come first while characters go up.
    words.sort(key=lambda token: (-counts[token], token))
    return Vocabulary([*specials, *words])
    ### END SOLUTION
