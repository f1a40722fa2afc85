"""spaCy's blank tokenizer of a language, with a memory that is kept from run to run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

from autograder.core.trouble import Trouble
from autograder.workshop.cache import cache_folder, whole_file


@dataclass(frozen=True, slots=True)
class Token:
    """As far as anybody asks: spaCy's tokens have much more."""

    text: str


class Tokenizer:
    """Cuts sentences of one language; those that it knows already cost nothing.

    It is called as spaCy's are, `tokenizer(text)` or `tokenizer.tokenizer(text)`, and what it says
    of a sentence is what spaCy says.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._known: dict[str, list[str]] = {}
        self._spacy: Callable[[str], Iterable[Token]] | None = None

    @property
    def tokenizer(self) -> Tokenizer:
        """Itself, where spaCy's whole pipelines have their tokenizer."""
        return self

    def __call__(self, text: str) -> list[Token]:
        words = self._known.get(text)
        return [Token(word) for word in (self._cut(text) if words is None else words)]

    def learn(self, sentences: Sequence[str]) -> None:
        """Know these sentences: from the cache, or cut now and put there.

        Raises:
            Trouble: spaCy is needed and not installed, or the cache cannot be written.
        """
        path = cache_folder() / "tokens" / f"{self._name(sentences)}.json"
        known = _read(path, len(sentences))
        if known is None:
            known = [self._cut(text) for text in sentences]
            with whole_file(path) as temporary:
                temporary.write_text(json.dumps(known, ensure_ascii=False), encoding="utf-8")
        self._known.update(zip(sentences, known, strict=True))

    def _cut(self, text: str) -> list[str]:
        if self._spacy is None:
            self._spacy = _blank(self.language)
        return [token.text for token in self._spacy(text)]

    def _name(self, sentences: Sequence[str]) -> str:
        """A name that only these sentences have, cut by this version."""
        digest = hashlib.sha256(f"{self.language} {_version()}".encode())
        for text in sentences:
            digest.update(f"\n{text}".encode())
        return f"{self.language}-{digest.hexdigest()[:32]}"


def _read(path: Path, count: int) -> list[list[str]] | None:
    """What the cache holds of `count` sentences; None if nothing, or nothing that can be used."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(known, list) or len(known) != count:
        return None
    good = all(isinstance(s, list) and all(isinstance(w, str) for w in s) for s in known)
    return known if good else None


def _version() -> str:
    try:
        return version("spacy")
    except PackageNotFoundError:
        raise Trouble("needs_extra", package="spacy", extra="translate") from None


def _blank(language: str) -> Callable[[str], Iterable[Token]]:
    try:
        import spacy
    except ImportError:
        raise Trouble("needs_extra", package="spacy", extra="translate") from None
    return cast(Callable[[str], Iterable[Token]], spacy.blank(language).tokenizer)
