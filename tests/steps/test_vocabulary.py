"""Step 15: vocabularies built in many ways, right and wrong, graded as learners' files are."""

from __future__ import annotations

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import harness, vocabulary_builds
from tests.steps.harness import changed, failed, named

STEP = find_step(15)

LISTS = """
from collections import defaultdict


def tokenize(text, tokenizer):
    found = []
    for token in tokenizer.tokenizer(text.strip("\\n ")):
        found.append(str(token.text))
    return found


class Vocabulary:
    def __init__(self, words):
        self.words = words

    def __len__(self):
        return len(self.words)

    def __getitem__(self, token):
        try:
            return self.words.index(token)
        except ValueError:
            pass
        if "<unk>" not in self.words:
            raise KeyError(token)
        return self.words.index("<unk>")

    def __call__(self, tokens):
        return list(map(self.__getitem__, tokens))

    def tokens(self, ids):
        return tuple(self.words[i] for i in ids)


def build_vocabulary(sentences, min_freq=2, specials=("<s>", "</s>", "<blank>", "<unk>")):
    often = defaultdict(int)
    for sentence in sentences:
        for token in sentence:
            often[token] += 1
    words = list(specials)
    for count in sorted(set(often.values()), reverse=True):
        if count >= min_freq:
            words += sorted(t for t in often if often[t] == count and t not in specials)
    return Vocabulary(words)
"""

COUNTS = """
import itertools
from collections import Counter

import torch


def tokenize(text, tokenizer):
    return [t.text for t in tokenizer(text.strip()) if not t.is_space]


class Vocabulary(dict):
    def __init__(self, counts, min_freq, specials):
        super().__init__()
        for special in specials:
            self.setdefault(special, len(self))
        ranked = sorted(sorted(counts), key=counts.get, reverse=True)
        for token in ranked:
            if counts[token] >= min_freq:
                self.setdefault(token, len(self))
        self.names = {i: token for token, i in self.items()}
        self.default = dict.get(self, "<unk>")

    def __missing__(self, token):
        if self.default is None:
            raise KeyError(token)
        return self.default

    def __call__(self, tokens):
        return torch.tensor([self[token] for token in tokens], dtype=torch.int64)

    def tokens(self, ids):
        if torch.is_tensor(ids):
            ids = ids.tolist()
        return [self.names[i] for i in ids]


def build_vocabulary(sentences, min_freq=2, specials=("<s>", "</s>", "<blank>", "<unk>")):
    counts = Counter(itertools.chain.from_iterable(sentences))
    return Vocabulary(counts, min_freq, specials)
"""

# In the manner of the libraries that the widely read code is built on.
LIBRARY = """
def tokenize(text, tokenizer):
    return [tok.text for tok in tokenizer.tokenizer(text)]


class Vocabulary:
    @classmethod
    def from_counts(cls, counts, min_freq, specials):
        made = cls()
        made.itos = list(specials)
        pairs = sorted(counts.items(), key=lambda pair: pair[0])
        pairs.sort(key=lambda pair: pair[1], reverse=True)
        made.itos += [w for w, c in pairs if c >= min_freq and w not in made.itos]
        made.stoi = dict(zip(made.itos, range(len(made.itos))))
        made.default_index = None
        if "<unk>" in made.stoi:
            made.set_default_index(made["<unk>"])
        return made

    def set_default_index(self, index):
        self.default_index = index

    def __len__(self):
        return len(self.itos)

    def __getitem__(self, token):
        if token in self.stoi:
            return self.stoi[token]
        if self.default_index is None:
            raise RuntimeError("no default index")
        return self.default_index

    def forward(self, tokens):
        return [self[token] for token in tokens]

    __call__ = forward

    def tokens(self, indices):
        return [self.itos[index] for index in indices]


def build_vocabulary(sentences, min_freq=2, specials=("<s>", "</s>", "<blank>", "<unk>")):
    counts = {}
    for sentence in sentences:
        for word in sentence:
            counts[word] = counts.get(word, 0) + 1
    return Vocabulary.from_counts(counts, min_freq, specials)
"""

HONEST = {"lists": LISTS, "counts": COUNTS, "library": LIBRARY} | vocabulary_builds.HONEST

# Mistakes in the builds above: what is replaced in which. Named as in the catalogue.
PLANTED: dict[str, list[tuple[str, str, str]]] = {
    "tokens-newline-kept": [
        (vocabulary_builds.HEAP, 'text.rstrip("\\n").strip()', "text"),
        (COUNTS, "text.strip()) if not t.is_space", "text)"),
    ],
    "tokens-lower-cased": [
        (LISTS, "str(token.text)", "str(token.text).lower()"),
        (LIBRARY, "tok.text for", "tok.lower_ for"),
        (COUNTS, "tokenizer(text.strip())", "tokenizer(text.strip().casefold())"),
    ],
    "tokens-letters-taken-apart": [
        (
            vocabulary_builds.TRIE,
            "tokenizer.tokenizer(text.strip())",
            "tokenizer(__import__('unicodedata').normalize('NFD', text.strip()))",
        )
    ],
    "unknown-refused-alone-only": [
        (
            vocabulary_builds.DEFAULTS,
            "map(self.stoi.__getitem__, tokens)",
            "map(lambda t: self.stoi.get(t, self.stoi.get('<unk>')), tokens)",
        ),
        (
            LIBRARY,
            "for token in tokens]",
            "for token in tokens if token in self.stoi or self.default_index]",
        ),
    ],
    "kept-ascii-only": [
        (COUNTS, "if counts[token] >=", "if max(token) <= 'z' and counts[token] >="),
        (
            vocabulary_builds.RUNS,
            "if count >= min_freq",
            "if token.isascii() and count >= min_freq",
        ),
    ],
    "tokens-tokenizer-unused": [(LISTS, "return found", "return text.split()")],
    "tokens-objects": [(LISTS, "str(token.text)", "token"), (LIBRARY, "tok.text for", "tok for")],
    "tokens-markers-as-text": [(LISTS, 'text.strip("\\n ")', '"<s>" + text.strip() + "</s>"')],
    "tokens-with-markers": [(LISTS, "return found", 'return ["<s>"] + found + ["</s>"]')],
    "tokens-one-string": [(LISTS, "return found", 'return " ".join(found)')],
    "tokens-characters": [
        (LISTS, "return found", "return [c for c in text]"),
    ],
    "unknown-is-zero": [(LISTS, 'return self.words.index("<unk>")', "return 0")],
    "unknown-is-three": [(COUNTS, 'dict.get(self, "<unk>")', '3 if "<unk>" in self else None')],
    "unknown-refused": [
        (LISTS, 'if "<unk>" not in self.words:', "if True:"),
        (COUNTS, 'self.default = dict.get(self, "<unk>")', "self.default = None"),
        (LIBRARY, 'made.set_default_index(made["<unk>"])', "pass"),
    ],
    "unknown-is-none": [(LISTS, 'return self.words.index("<unk>")', "return None")],
    "unknown-let-through": [
        (COUNTS, "        if self.default is None:\n            raise KeyError(token)\n", ""),
        (LISTS, "raise KeyError(token)", "return 0"),
    ],
    "unknown-left-out": [
        (LISTS, "self.__getitem__, tokens", "self.__getitem__, filter(self.words.count, tokens)"),
        (LIBRARY, "self[token] for token in tokens", "self[t] for t in tokens if t in self.stoi"),
    ],
    "ids-of-set": [(COUNTS, "token in tokens]", "token in dict.fromkeys(tokens)]")],
    "size-without-specials": [(LISTS, "len(self.words)", "len(self.words) - 4")],
    "back-joined": [(LISTS, "tuple(self", "' '.join(self")],
    "back-not-from-tensor": [
        (COUNTS, "        if torch.is_tensor(ids):\n            ids = ids.tolist()\n", ""),
    ],
    "specials-fixed": [
        (LISTS, "words = list(specials)", 'words = ["<s>", "</s>", "<blank>", "<unk>"]'),
        (LIBRARY, "list(specials)", '"<s> </s> <blank> <unk>".split()'),
    ],
    "specials-unk-first": [
        (COUNTS, '("<s>", "</s>", "<blank>", "<unk>")', '["<unk>", "<blank>", "<s>", "</s>"]'),
    ],
    "specials-last": [
        (LISTS, "Vocabulary(words)", "Vocabulary(words[len(specials) :] + words[: len(specials)])"),
    ],
    "specials-sorted": [(COUNTS, "in specials:", "in sorted(specials):")],
    "specials-twice": [
        (vocabulary_builds.RUNS, " and token not in specials", ""),
        (LISTS, " and t not in specials", ""),
    ],
    "kept-too-few": [
        (vocabulary_builds.TRIE, "count >= min_freq", "count > min_freq"),
        (LISTS, "count >= min_freq", "count > min_freq"),
        (COUNTS, ">= min_freq", "> min_freq"),
    ],
    "kept-all": [
        (vocabulary_builds.DEFAULTS, "count < min_freq", "not count"),
        (LISTS, "count >= min_freq", "count"),
        (LIBRARY, "c >= min_freq", "c > 0"),
    ],
    "kept-fixed": [(COUNTS, ">= min_freq", ">= 2")],
    "kept-other-default": [(COUNTS, "min_freq=2", "min_freq=1")],
    "counts-sentences": [(COUNTS, "iterable(sentences)", "iterable(map(set, sentences))")],
    "counts-characters": [(LISTS, "token in sentence:", "token in ''.join(sentence):")],
    "counts-last-sentence": [
        (
            LIBRARY,
            "    for sentence in sentences:\n",
            "    for sentence in sentences:\n        counts = {}\n",
        ),
    ],
    "counts-lower-cased": [(LISTS, "often[token] += 1", "often[token.lower()] += 1")],
    "order-rare-first": [
        (vocabulary_builds.ARRAYS, ", -counts", ", counts"),
        (LISTS, "values()), reverse=True)", "values()))"),
    ],
    "order-alphabetical": [
        (vocabulary_builds.TRIE, "often.sort(key=lambda pair: pair[0], reverse=True)", "pass"),
        (LIBRARY, "pairs.sort(key=lambda pair: pair[1], reverse=True)", "pass"),
    ],
    "order-first-seen": [
        (COUNTS, "sorted(sorted(counts), key=counts.get, reverse=True)", "counts")
    ],
    "ties-first-seen": [
        (vocabulary_builds.DEFAULTS, "sorted(by_count[count])", "by_count[count]"),
        (COUNTS, "sorted(sorted(counts), key", "sorted(counts, key"),
        (LISTS, "words += sorted(t for", "words += list(t for"),
    ],
    "ties-small-like-capital": [
        (
            LISTS,
            "words += sorted(t for t in often",
            "words += (t for t in sorted(often, key=str.lower)",
        ),
        (LIBRARY, "key=lambda pair: pair[0])", "key=lambda pair: pair[0].lower())"),
    ],
    "ties-backwards": [
        (vocabulary_builds.ARRAYS, "(np.arange", "(-np.arange"),
        (LISTS, "t not in specials)", "t not in specials)[::-1]"),
        (
            LIBRARY,
            "sorted(counts.items(), key=lambda pair: pair[0])",
            "sorted(counts.items())[::-1]",
        ),
    ],
    "sentences-read-twice": [
        (LIBRARY, "counts = {}", "counts = dict.fromkeys((w for s in sentences for w in s), 0)"),
    ],
    "sentences-counted": [(LISTS, "often = ", "assert len(sentences)\n    often = ")],
}
PLACES = [(slug, i) for slug, edits in PLANTED.items() for i in range(len(edits))]

# Wrong in ways that the catalogue does not hold: (build, what is replaced), and what it costs.
UNKNOWN: dict[str, tuple[str, str, str, set[str]]] = {
    "tokens backwards": (LISTS, "return found", "return found[::-1]", {"tokens"}),
    "no full stops": (
        LISTS,
        "return found",
        "return [t for t in found if t.isalnum()]",
        {"tokens"},
    ),
    "each token once": (
        LISTS,
        "return found",
        "return sorted(set(found), key=found.index)",
        {"tokens"},
    ),
    "the last token lost": (LISTS, "return found", "return found[:-1]", {"tokens"}),
    "tokens nothing": (LISTS, "    return found\n", "", {"tokens"}),
    "ids of tens": (
        LISTS,
        "self.words = words",
        "self.words = [w for w in words for _ in '01']",
        {"lookup"},
    ),
    "ids reversed": (
        LISTS,
        "map(self.__getitem__, tokens)",
        "map(self.__getitem__, tokens[::-1])",
        {"sentence"},
    ),
    "ids of the first": (
        LISTS,
        "map(self.__getitem__, tokens)",
        "map(self.__getitem__, tokens[:1])",
        {"sentence"},
    ),
    "one token more": (
        LISTS,
        "tuple(self.words[i] for i in ids)",
        "[*(self.words[i] for i in ids), '.']",
        {"lookup"},
    ),
    "unknown is the last": (
        LISTS,
        'return self.words.index("<unk>")',
        "return len(self) - 1",
        {"unknown"},
    ),
    "unknown by length": (
        LISTS,
        'return self.words.index("<unk>")',
        "return len(token) % 4",
        {"unknown"},
    ),
    "specials backwards": (
        LISTS,
        "words = list(specials)",
        "words = list(specials)[::-1]",
        {"specials"},
    ),
    "three specials": (LISTS, "words = list(specials)", "words = list(specials)[:3]", {"specials"}),
    "a fifth special": (
        LISTS,
        "words = list(specials)",
        "words = ['<cls>', *specials]",
        {"specials"},
    ),
    "three at least": (LISTS, "min_freq=2", "min_freq=3", {"kept"}),
    "not the most frequent": (
        LISTS,
        "reverse=True)",
        "reverse=True)[1:]",
        {"kept", "order"},
    ),
    "an <unk> of its own": (
        LISTS,
        "return Vocabulary(words)",
        "return Vocabulary([*dict.fromkeys([*words, '<unk>'])])",
        {"specials"},
    ),
    "letters only": (
        LISTS,
        "if count >= min_freq:",
        "often = {t: n for t, n in often.items() if t.isalpha()}\n        if count >= min_freq:",
        {"kept"},
    ),
    "long ones only": (LISTS, "t not in specials)", "t not in specials and t[2:])", {"kept"}),
    "short ones first": (
        LISTS,
        "sorted(t for t in often if often[t] == count and t not in specials)",
        "sorted((t for t in often if often[t] == count and t not in specials), key=len)",
        {"ties"},
    ),
    "by length": (
        LISTS,
        "t not in specials)",
        "t not in specials)\n    words.sort(key=len)",
        {"specials", "ties"},
    ),
    "by last letter": (LISTS, "t not in specials)", "t not in specials)[::2]", {"kept"}),
    "halves": (LISTS, "often[token] += 1", "often[token] += 0.5", {"kept", "order"}),
}


def graded(text: str, seed: int = 3) -> Verdict:
    return harness.graded(STEP, text, seed)


@pytest.mark.parametrize("name", HONEST)
def test_right_vocabularies_get_full_marks(name: str) -> None:
    verdict = graded(HONEST[name])
    assert failed(verdict) == set()
    assert verdict.points == 10


def test_space_around_a_line_is_a_remark_only() -> None:
    verdict = graded(LIBRARY)
    assert failed(verdict, advice=True) == {"stripped"}
    assert named(verdict) == {"tokens-newline-kept"}


@pytest.mark.parametrize(
    ("build", "find", "replace", "remark"),
    [
        (LISTS, "return found", "return iter(found)", "token_lists"),
        (LISTS, "return list(map(self", "return (map(self", "id_lists"),
        (LISTS, "tuple(self.words[i] for i in ids)", "(self.words[i] for i in ids)", "id_lists"),
    ],
)
def test_what_can_be_gone_through_once_is_a_remark(
    build: str, find: str, replace: str, remark: str
) -> None:
    verdict = graded(changed(build, find, replace))
    assert failed(verdict) == set()
    assert failed(verdict, advice=True) == {remark}


@pytest.mark.parametrize(("slug", "place"), PLACES)
def test_a_planted_mistake_is_named_and_nothing_else_is(slug: str, place: int) -> None:
    verdict = graded(changed(*PLANTED[slug][place]))
    assert named(verdict) - {"tokens-newline-kept"} == {slug} - {"tokens-newline-kept"}
    assert verdict.points < 10 or slug == "tokens-newline-kept"


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    build, find, replace, checks = UNKNOWN[name]
    verdict = graded(changed(build, find, replace))
    assert failed(verdict) == checks
    assert named(verdict) == set()


def test_a_mistake_in_one_export_costs_no_other() -> None:
    lost = changed(LISTS, "text.strip", "text.lower().strip")
    lost = changed(lost, 'return self.words.index("<unk>")', "return 0")
    lost = changed(lost, "count >= min_freq", "count > min_freq")
    assert failed(graded(lost)) == {"tokens", "unknown", "kept"}
