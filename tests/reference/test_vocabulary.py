"""Tokens and their numbers: by hand, by law, and on Multi30k where it is at hand."""

import gzip
import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_ref import Vocabulary, build_vocabulary, tokenize

SPECIALS = ["<s>", "</s>", "<blank>", "<unk>"]
# Few letters, so that tokens meet and counts are equal; a special may occur as a word, too.
WORDS = st.sampled_from(["a", "b", "aa", "B", "ä", ".", "<unk>", "<s>"])
SENTENCES = st.lists(st.lists(WORDS))


def words(text: str) -> list[SimpleNamespace]:
    """A tokenizer as spaCy's are called: tokens have a text."""
    return [SimpleNamespace(text=word) for word in text.split(" ")]


def test_the_line_is_stripped_and_its_case_kept():
    assert tokenize("  Ein Mann .\n", words) == ["Ein", "Mann", "."]


def test_of_a_pipeline_only_the_tokenizer_runs():
    class Pipeline:
        tokenizer = staticmethod(words)

        def __call__(self, text: str) -> None:
            raise AssertionError("the rest of the pipeline is slow")

    assert tokenize("ein Mann", Pipeline()) == ["ein", "Mann"]


def test_spacy_cuts_punctuation_off():
    spacy = pytest.importorskip("spacy", reason="spaCy comes with the extra [translate]")
    german = spacy.blank("de")
    for tokenizer in (german, german.tokenizer):
        assert tokenize("Ein Mann schläft.\n", tokenizer) == ["Ein", "Mann", "schläft", "."]
        assert tokenize("\n", tokenizer) == []


def test_a_small_corpus_by_hand():
    sentences = [["b", "a", "c"], ["b", "a", "<s>", "d"], ["b", "e", "<s>", "e"]]
    vocabulary = build_vocabulary(iter(sentences))
    assert list(vocabulary) == [*SPECIALS, "b", "a", "e"] and len(vocabulary) == 7
    assert vocabulary["b"] == 4 and vocabulary["c"] == 3
    assert vocabulary(["a", "zebra", "</s>"]) == [5, 3, 1]
    assert vocabulary.tokens(torch.tensor([0, 6, 3])) == ["<s>", "e", "<unk>"]
    assert "a" in vocabulary and "c" not in vocabulary


@given(sentences=SENTENCES, min_freq=st.integers(1, 4))
def test_what_is_frequent_is_listed_once_and_in_order(sentences, min_freq):
    tokens = list(build_vocabulary(sentences, min_freq))
    counts = Counter(token for sentence in sentences for token in sentence)
    listed = tokens[4:]
    assert tokens[:4] == SPECIALS
    assert set(listed) == {t for t, n in counts.items() if n >= min_freq} - set(SPECIALS)
    assert listed == sorted(listed, key=lambda token: (-counts[token], token))
    assert len(set(tokens)) == len(tokens)


@given(sentences=SENTENCES, asked=st.lists(WORDS))
def test_there_and_back_again(sentences, asked):
    vocabulary = build_vocabulary(sentences, min_freq=1)
    known = [token if token in vocabulary else "<unk>" for token in asked]
    assert vocabulary.tokens(vocabulary(asked)) == known
    everything = vocabulary.tokens(range(len(vocabulary)))
    assert vocabulary(everything) == list(range(len(vocabulary)))
    assert list(Vocabulary(everything)) == everything


def test_without_specials_an_unknown_word_is_an_error():
    vocabulary = build_vocabulary([["a", "a"]], specials=())
    assert vocabulary(["a"]) == [0]
    with pytest.raises(KeyError, match="zebra"):
        vocabulary(["a", "zebra"])


def test_a_token_has_one_number():
    with pytest.raises(ValueError, match="'b'"):
        Vocabulary(["a", "b", "c", "b"])


@pytest.mark.parametrize("index", [-1, 2])
def test_an_id_that_is_not_there_is_an_error(index):
    with pytest.raises(IndexError, match=f"no id {index}"):
        Vocabulary(["a", "b"]).tokens([0, index])


@pytest.mark.skipif("MULTI30K_DIR" not in os.environ, reason="MULTI30K_DIR names no folder")
@pytest.mark.parametrize(("language", "size"), [("de", 8316), ("en", 6384)])
def test_the_sizes_on_multi30k(language, size):
    spacy = pytest.importorskip("spacy", reason="spaCy comes with the extra [translate]")
    tokenizer = spacy.blank(language)

    def sentences():
        for split in ("train", "val", "test_2016_flickr"):
            path = Path(os.environ["MULTI30K_DIR"]) / f"{split}.{language}"
            packed = path.with_name(path.name + ".gz")
            with (
                gzip.open(packed, "rt", encoding="utf-8")
                if packed.exists()
                else open(path, encoding="utf-8") as lines
            ):
                yield from (tokenize(line, tokenizer) for line in lines)

    assert len(build_vocabulary(sentences())) == size
