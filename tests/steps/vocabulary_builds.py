"""Vocabularies built in more ways, all right: tries, heaps, arrays, defaults, runs."""

from __future__ import annotations

# The vocabulary is a list of its tokens. The most frequent one is taken from a heap,
# again and again.
HEAP = """
import heapq


def tokenize(text, tokenizer):
    return [*map(str, tokenizer(text.rstrip("\\n").strip()))]


class Vocabulary(list):
    def __getitem__(self, token):
        if not isinstance(token, str):
            return super().__getitem__(token)
        for i, known in enumerate(self):
            if known == token:
                return i
        if token == "<unk>":
            raise KeyError("no <unk> among the tokens")
        return self["<unk>"]

    def __call__(self, tokens):
        return [self[t] for t in tokens]

    def tokens(self, ids):
        return [list.__getitem__(self, i) for i in ids]


def build_vocabulary(sentences, min_freq=2, specials=("<s>", "</s>", "<blank>", "<unk>")):
    counts = {}
    for sentence in sentences:
        for token in sentence:
            counts.setdefault(token, [0])[0] += 1
    heap = [(-n, token) for token, (n,) in counts.items()]
    heapq.heapify(heap)
    found = Vocabulary(specials)
    while heap and -heap[0][0] >= min_freq:
        _, token = heapq.heappop(heap)
        if token not in found:
            found.append(token)
    return found
"""

# A trie of characters counts; read from its root on it gives the alphabet.
TRIE = """
from operator import attrgetter


def tokenize(text, tokenizer):
    return list(map(attrgetter("text"), tokenizer.tokenizer(text.strip())))


class Node:
    __slots__ = ("below", "count", "number")

    def __init__(self):
        self.below, self.count, self.number = {}, 0, None

    def at(self, token, grow=False):
        node = self
        for character in token:
            if character not in node.below:
                if not grow:
                    return None
                node.below[character] = Node()
            node = node.below[character]
        return node

    def walk(self, so_far=""):
        if self.count:
            yield so_far, self
        for character in sorted(self.below):
            yield from self.below[character].walk(so_far + character)


class Vocabulary:
    def __init__(self, root, names):
        self.root, self.names = root, names
        for number, name in enumerate(names):
            root.at(name, grow=True).number = number

    def __len__(self):
        return len(self.names)

    def _number(self, token):
        node = self.root.at(token)
        return None if node is None else node.number

    def __getitem__(self, token):
        number = self._number(token)
        if number is None:
            number = self._number("<unk>")
        if number is None:
            raise KeyError(token)
        return number

    def __call__(self, tokens):
        return tuple(self[token] for token in tokens)

    def tokens(self, ids):
        return [self.names[i] for i in ids]


def build_vocabulary(sentences, min_freq=2, specials=("<s>", "</s>", "<blank>", "<unk>")):
    root = Node()
    for sentence in sentences:
        for token in sentence:
            root.at(token, grow=True).count += 1
    often = [(node.count, name) for name, node in root.walk() if node.count >= min_freq]
    often.sort(key=lambda pair: pair[0], reverse=True)
    names = list(specials)
    names.extend(name for _, name in often if name not in set(specials))
    return Vocabulary(root, names)
"""

# Counted and sorted by numpy; the tokens are an array, in which a sorted copy is searched.
ARRAYS = """
import numpy as np
import torch


def tokenize(text, tokenizer):
    doc = tokenizer(text.strip())
    return [doc[i].text for i in range(len(doc))]


class Vocabulary:
    def __init__(self, names):
        self.names = np.array(names, dtype=object)
        self.order = np.argsort(self.names)
        self.sorted = self.names[self.order]
        self.unknown = self._find("<unk>")

    def __len__(self):
        return self.names.size

    def _find(self, token):
        at = np.searchsorted(self.sorted, token)
        found = at < self.sorted.size and self.sorted[at] == token
        return self.order[at] if found else None

    def __getitem__(self, token):
        i = self._find(token)
        if i is not None:
            return i
        if self.unknown is None:
            raise KeyError(token)
        return self.unknown

    def __call__(self, tokens):
        return np.array([self[token] for token in tokens], dtype=np.int64)

    def tokens(self, ids):
        return self.names[torch.as_tensor(ids, dtype=torch.int64).numpy()].tolist()


def build_vocabulary(sentences, min_freq=2, specials=("<s>", "</s>", "<blank>", "<unk>")):
    every = [token for sentence in sentences for token in sentence]
    tokens, counts = np.unique(np.array(every, dtype=object), return_counts=True)
    order = np.lexsort((np.arange(len(tokens)), -counts))
    order = order[counts[order] >= min_freq]
    return Vocabulary([*specials, *(t for t in tokens[order] if t not in specials)])
"""

# A dictionary that answers unknown words, and keeps them; its length is that of the other list.
DEFAULTS = """
from collections import Counter, defaultdict


def tokenize(text, tokenizer):
    text = text.strip()
    return [token.text for token in tokenizer(text)] if text else []


class Vocabulary:
    def __init__(self, itos):
        self.itos = dict(enumerate(itos))
        known = {token: i for i, token in self.itos.items()}
        unk = known.get("<unk>")
        self.stoi = known if unk is None else defaultdict(lambda: unk, known)

    __len__ = lambda self: len(self.itos)
    __getitem__ = lambda self, token: self.stoi[token]

    def __call__(self, tokens):
        return [*map(self.stoi.__getitem__, tokens)]

    def tokens(self, ids):
        return [self.itos[getattr(i, "item", lambda i=i: i)()] for i in ids]


def build_vocabulary(sentences, min_freq=2, specials=("<s>", "</s>", "<blank>", "<unk>")):
    counter = sum(map(Counter, sentences), Counter())
    for special in specials:
        counter.pop(special, None)
    by_count = defaultdict(list)
    for token, count in counter.items():
        by_count[count].append(token)
    itos = list(specials)
    for count in sorted(by_count)[::-1]:
        if count < min_freq:
            break
        itos += sorted(by_count[count])
    return Vocabulary(itos)
"""

# All tokens in one sorted list, in which equal ones stand together; a frozen record of two tuples.
RUNS = """
from bisect import insort
from dataclasses import dataclass, field
from itertools import groupby


def tokenize(text, tokenizer):
    def cut(line):
        for token in tokenizer.tokenizer(line):
            yield token.text

    return list(cut(text.strip()))


@dataclass(frozen=True)
class Vocabulary:
    names: tuple
    ids: dict = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "ids", dict(map(reversed, enumerate(self.names))))

    def __len__(self):
        return len(self.names)

    def __contains__(self, token):
        return token in self.ids

    def __iter__(self):
        return iter(self.names)

    def __getitem__(self, token):
        return self.ids[token if token in self else "<unk>"]

    def __call__(self, tokens):
        ids = []
        for token in tokens:
            ids.append(self[token])
        return ids

    def tokens(self, ids):
        return list(map(self.names.__getitem__, map(int, ids)))


def build_vocabulary(sentences, min_freq=2, specials=("<s>", "</s>", "<blank>", "<unk>")):
    every = sorted(sum((list(sentence) for sentence in sentences), []))
    runs = []
    for token, run in groupby(every):
        count = len(list(run))
        if count >= min_freq and token not in specials:
            insort(runs, (-count, token))
    return Vocabulary(tuple(specials) + tuple(token for _, token in runs))
"""

HONEST = {
    "heap": HEAP,
    "trie": TRIE,
    "arrays": ARRAYS,
    "defaults": DEFAULTS,
    "runs": RUNS,
}
