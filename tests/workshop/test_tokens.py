"""Tokenizers with a memory, and the vocabularies that come of them."""

from pathlib import Path

import pytest

from autograder.workshop.code import load
from autograder.workshop.corpus import read_corpus
from autograder.workshop.languages import SPECIALS, learnt
from autograder.workshop.plan import own_corpus
from autograder.workshop.tokens import Tokenizer

spacy = pytest.importorskip("spacy", reason="needs the extra [translate]")

SENTENCES = ("Ein Mann, der z.B. läuft.", "Zwei  Hunde", "", "Straßenbahn-Haltestelle (blau)")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def cut(tokenizer, text: str) -> list[str]:
    return [token.text for token in tokenizer(text)]


def test_what_is_remembered_is_what_spacy_says(cache):
    blank = spacy.blank("de")
    for _ in ("cut now", "from the cache"):
        tokenizer = Tokenizer("de")
        tokenizer.learn(SENTENCES)
        for text in (*SENTENCES, "etwas Neues, nicht gelernt"):
            assert cut(tokenizer, text) == cut(tokenizer.tokenizer, text) == cut(blank, text)
    assert len(list(cache.rglob("*.json"))) == 1


@pytest.mark.parametrize("text", ["", "{}", '[["damaged"]]', "[1, 2, 3, 4]", "\xff"])
def test_a_damaged_cache_is_made_anew(cache, text):
    Tokenizer("de").learn(SENTENCES)
    (file,) = cache.rglob("*.json")
    whole = file.read_bytes()
    file.write_text(text, encoding="latin-1")
    tokenizer = Tokenizer("de")
    tokenizer.learn(SENTENCES)
    assert cut(tokenizer, SENTENCES[1]) == cut(spacy.blank("de"), SENTENCES[1])
    assert file.read_bytes() == whole


def test_other_sentences_and_other_languages_have_a_memory_of_their_own(cache):
    for language, sentences in (("de", SENTENCES), ("en", SENTENCES), ("de", SENTENCES[:2])):
        Tokenizer(language).learn(sentences)
    assert len(list(cache.rglob("*.json"))) == 3


def test_our_own_captions_are_known_on_both_sides():
    languages = learnt(load("reference", "translation"), own_corpus(), 1)
    source, target = languages.words()
    assert source[:4] == target[:4] == SPECIALS
    assert "Fahrrad" in source and "bicycle" in target
    assert languages.length(("Ein Hund.", "A dog.")) == 5


@pytest.mark.slow
def test_multi30k_has_the_vocabularies_of_the_course(multi30k):
    corpus = read_corpus(multi30k)
    source, target = learnt(load("reference", "translation"), corpus, 2).words()
    assert (len(source), len(target)) == (8_316, 6_384)
