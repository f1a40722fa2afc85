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
    raise NotImplementedError("step 15: tokenize is not implemented yet")


class Vocabulary:
    """The tokens of a language, each with its id: 0, 1, 2, ...

    A token that the vocabulary does not have gets the id of "<unk>", wherever that one stands.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        """Number the tokens. (You may choose another constructor.)

        Args:
            tokens: different tokens, in the order of their ids, specials included.
        """
        raise NotImplementedError("step 15: Vocabulary.__init__ is not implemented yet")

    def __len__(self) -> int:
        """Return how many tokens there are, specials included."""
        raise NotImplementedError("step 15: Vocabulary.__len__ is not implemented yet")

    def __getitem__(self, token: str) -> int:
        """Return the id of one token, `vocabulary["dog"]`.

        Raises:
            KeyError: the token is unknown, and the vocabulary has no "<unk>".
        """
        raise NotImplementedError("step 15: Vocabulary.__getitem__ is not implemented yet")

    def __call__(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of several tokens, `vocabulary(["a", "dog"])`, in their order.

        Raises:
            KeyError: as above.
        """
        raise NotImplementedError("step 15: Vocabulary.__call__ is not implemented yet")

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of several ids, in their order.

        Args:
            ids: numbers, or a tensor of one dimension. Specials come back like other tokens.
        """
        raise NotImplementedError("step 15: Vocabulary.tokens is not implemented yet")


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
    raise NotImplementedError("step 15: build_vocabulary is not implemented yet")
