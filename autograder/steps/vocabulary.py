"""Probes of step 15: how texts are cut into tokens, which tokens are listed, and by which ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, see
from autograder.core.probing import attempt
from autograder.core.subject import Subject
from autograder.toys.words import SPECIALS, Tokenizer, words

_NOBODY = ("qoq", "xyxxyx")  # words that are in no vocabulary


def tokens(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The tokens of sentences under two tokenizers that cut differently."""
    a, b, c, d = words(draw, "tokens", 4)
    text = f"{a.title()} {b}-{c}, {d.upper()}! {b}."
    found: dict[str, Value] = {}
    for name, alone in (("cut", "-,.!<>/"), ("kept", ",.!<>/")):
        found[name] = _texts(subject.tokenize(text, Tokenizer(alone)))
    empty = _texts(subject.tokenize("", Tokenizer(alone)))
    if isinstance(empty, list):
        empty = [token for token in empty if not str(token).isspace()]
    # A letter is one character, whatever it could be taken apart into.
    found["german"] = _texts(subject.tokenize(f"Ü{c} {d}ö.", Tokenizer(".")))
    return {**found, "empty": empty}


def stripped(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The tokens of a line as it comes out of a file."""
    a, b = words(draw, "line", 2)
    tokenizer = Tokenizer(".")
    return {
        "line": _texts(subject.tokenize(f"{a} {b}.\n", tokenizer)),
        "indented": _texts(subject.tokenize(f"  {b} {a} \n", tokenizer)),
        "blank_line": _texts(subject.tokenize(" \n", tokenizer)),
    }


def lookup(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which ids there are, and whether they lead back to their tokens, whichever are listed."""
    vocabulary, known = _some(subject, draw)
    ids = [int(vocabulary[token]) for token in known]
    return {
        "first_id": min(ids),
        "gaps": max(ids) - min(ids) + 1 - len(set(ids)),
        "size": len(vocabulary) - len(known),
        "back": _lost(known, lambda: vocabulary.tokens(ids)),
        "from_tensor": _lost(known, lambda: vocabulary.tokens(torch.tensor(ids))),
        "repeated": _lost(known[:1] * 2, lambda: vocabulary.tokens(ids[:1] * 2)),
        "nothing": _lost([], lambda: vocabulary.tokens([])),
    }


def sentence(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whose ids a sentence gets, and whether unknown words get there what they get alone."""
    vocabulary, known = _some(subject, draw)
    names = {int(vocabulary[token]): token for token in known}
    text = [known[-1], known[-2], known[-1], known[0], known[-3]]
    places = {token: f"token {i}" for i, token in enumerate(dict.fromkeys(text), 1)}
    seen = [_named(i, names) for i in vocabulary(text)]
    mixed = [known[-1], _NOBODY[0], known[-2], _NOBODY[1]]
    alone = _told(lambda: [int(vocabulary[token]) for token in mixed])
    return {
        "sentence": [places.get(token, token) for token in seen],
        "nothing": [_named(i, names) for i in vocabulary([])],
        "as_alone": _told(lambda: [int(i) for i in vocabulary(mixed)]) == alone,
    }


def token_lists(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the tokens of a text have a length."""
    text = " ".join(words(draw, "list", 2))
    return {"of_text": _has_length(lambda: subject.tokenize(text, Tokenizer(".")))}


def id_lists(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the ids of tokens, and the tokens of ids, have a length."""
    vocabulary, known = _some(subject, draw)
    ids = [int(vocabulary[known[0]])]
    return {
        "of_tokens": _has_length(lambda: vocabulary(known[:2])),
        "of_ids": _has_length(lambda: vocabulary.tokens(ids)),
    }


def unknown(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which token's id unknown words get, and whether the vocabulary grows by asking."""
    vocabulary, known = _some(subject, draw)
    names = {int(vocabulary[token]): token for token in known}
    before = len(vocabulary)
    seen = [_told(partial(_name_of, vocabulary, names, t), "an error") for t in _NOBODY]
    if "<unk>" not in known:  # what is listed is another check's matter
        seen = ["<unk>"] * len(seen)
    return {"unknown": seen, "grows": len(vocabulary) != before}


def without_unk(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What becomes of an unknown word where there is no '<unk>'."""
    text = [words(draw, "without", 3)] * 2
    own = ("<blank>", "<s>")
    vocabulary = subject.build_vocabulary(text, min_freq=1, specials=own)
    if "<unk>" in _listed(vocabulary, [*own, *text[0], "<unk>"]):  # another check's matter
        return {"refused": True, "only_alone": False}
    refused = attempt(lambda: vocabulary[_NOBODY[0]])
    in_sentence = attempt(lambda: list(vocabulary([_NOBODY[0], text[0][0]])))
    return {"refused": refused, "only_alone": refused and not in_sentence}


def specials(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What stands first, and whether a token that is spelt like a special adds to the list."""
    a, b, c = words(draw, "specials", 3)
    text, spelt_alike = [[a, b, a], [b, a, b]], [["<s>", "<unk>"], ["<s>"]]
    names = {c: "a new special", a: "a word", b: "a word"}
    own = _shuffled_specials(draw)
    found: dict[str, Value] = {}
    for name, first, count in (("usual", SPECIALS, 4), ("own", own, 4), ("added", (c,), 1)):
        asked = {} if name == "usual" else {"specials": first}
        vocabulary = subject.build_vocabulary(text, **asked)
        seen = _everything(vocabulary, [*first, *SPECIALS, a, b])[:count]
        found[name] = [names.get(token, token) for token in seen]
        if name == "added":
            found["unasked"] = "<unk>" in _told_back(vocabulary)
        else:
            more = subject.build_vocabulary(text + spelt_alike, **asked)
            found[f"{name}_twice"] = len(more) - len(vocabulary)
    return found


def kept(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How often the words occur that are listed."""
    counts = {word: 1 + i % 5 for i, word in enumerate(words(draw, "kept", 15))}
    counts |= {word.title(): 1 for word in list(counts)[:2]}  # another word than in lower case
    counts |= {".": 5, "n't": 2, "a": 3, "7": 4, "<": 2}  # tokens as well as words are
    counts |= {"für": 5, "Straße": 3}
    text = [[word] * count for word, count in counts.items()]
    found: dict[str, Value] = {}
    for name, asked in (("usual", {}), ("1", {"min_freq": 1}), ("4", {"min_freq": 4})):
        often = sorted(counts, key=counts.__getitem__, reverse=True)
        seen = _everything(subject.build_vocabulary(text, **asked), [*SPECIALS, *often])
        found[f"counts_{name}"] = sorted(counts[token] for token in seen if token in counts)
    found["others"] = len({t for t in seen if t.isalpha()} - counts.keys())
    return found


def order(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The counts of the words in the order in which they are listed."""
    counts = {word: 3 + i for i, word in enumerate(words(draw, "order", 7))}
    text = _corpus(draw, counts)
    seen = _listed(subject.build_vocabulary(text), [*SPECIALS, *counts])
    return {"order": [counts[token] for token in seen if token in counts]}


def ties(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The order of words that occur equally often: each told by its place in the alphabet."""
    names = words(draw, "ties", 16)
    # Some begin with a capital, which comes before all small letters, and some are longer.
    names = [*names[:8], *(n.title() for n in names[8:12]), *(n * 2 for n in names[12:])]
    counts = {word: 3 + i % 2 for i, word in enumerate(names)}
    seen = _listed(subject.build_vocabulary(_corpus(draw, counts)), [*SPECIALS, *counts])
    found: dict[str, Value] = {}
    for count, name in ((4, "four_times"), (3, "three_times")):
        alphabet = sorted(word for word in names if counts[word] == count)
        places = [alphabet.index(token) for token in seen if token in alphabet]
        come = iter(places)
        # What is not listed is another check's matter: it stands where it belongs.
        found[name] = [next(come) if i in places else i for i in range(len(alphabet))]
    return found


def generator(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is listed of sentences that can be read only once."""
    counts = {word: 3 for word in words(draw, "once", 5)}
    text = _corpus(draw, counts)
    from_list, once = (
        len(set(_listed(subject.build_vocabulary(read), [*SPECIALS, *counts])) & counts.keys())
        for read in (text, iter(text))
    )
    return {"missing": from_list - once}


def _texts(found: Any) -> Value:
    """A list of strings as it is; what is no string is told by its kind."""
    if found is None or isinstance(found, str):
        return see(found)
    try:
        return [t if isinstance(t, str) else f"a {type(t).__name__}" for t in found]
    except TypeError:
        return Odd(type(found).__qualname__)


def _some(subject: Subject, draw: Draw) -> tuple[Any, list[str]]:
    """A vocabulary of a few words, '<unk>' neither first nor last among its specials.

    Also all its tokens, whether or not everything is listed that should be.
    """
    counts = {word: 2 + i for i, word in enumerate(words(draw, "some", 6))}
    own = _shuffled_specials(draw)
    vocabulary = subject.build_vocabulary(_corpus(draw, counts), min_freq=1, specials=own)
    return vocabulary, _everything(vocabulary, [*own, *counts])


def _shuffled_specials(draw: Draw) -> tuple[str, ...]:
    orders = (
        ("</s>", "<unk>", "<s>", "<blank>"),
        ("<blank>", "<s>", "<unk>", "</s>"),
        ("<blank>", "</s>", "<unk>", "<s>"),
    )
    return draw.pick("specials", orders)


def _corpus(draw: Draw, counts: dict[str, int]) -> list[list[str]]:
    """Sentences of different words, in which each word occurs as often as told in all."""
    text: list[list[str]] = [[]]
    for already in range(max(counts.values())):
        again = [word for word, count in counts.items() if count > already]
        mixed = [again[i] for i in draw.permutation(f"corpus/{already}", len(again)).tolist()]
        text += [mixed[i : i + 3] for i in range(0, len(mixed), 3)]
    return [text[i] for i in draw.permutation("sentences", len(text)).tolist()]


def _listed(vocabulary: Any, candidates: Sequence[str]) -> list[str]:
    """Those of the candidates that have an id of their own, by id.

    Unknown words share theirs with a special, which comes first among the candidates.
    """
    size = len(vocabulary)
    one, two = (_told(partial(_id_of, vocabulary, t)) for t in _NOBODY)
    grows = isinstance(one, int) and isinstance(two, int) and one != two
    taken: dict[int, str] = {}
    for token in dict.fromkeys(candidates):
        try:
            taken.setdefault(int(vocabulary[token]), token)
        except Exception:  # what unknown words get is another check's matter
            continue
    return [token for i, token in sorted(taken.items()) if i < size or not grows]


def _id_of(vocabulary: Any, token: str) -> int:
    return int(vocabulary[token])


def _name_of(vocabulary: Any, names: dict[int, str], token: str) -> str:
    return _named(vocabulary[token], names)


def _everything(vocabulary: Any, candidates: Sequence[str]) -> list[str]:
    """The same, with whatever else the way back from ids tells of."""
    return _listed(vocabulary, [*candidates, *_told_back(vocabulary)])


def _told_back(vocabulary: Any) -> list[str]:
    """The strings that its ids lead to."""
    back = _told(lambda: list(vocabulary.tokens(range(len(vocabulary)))), [])
    return [token for token in back if isinstance(token, str)]


def _lost(asked: Sequence[str], came: Callable[[], Any]) -> Value:
    """How many of the tokens did not come back; what came instead of tokens, if it was none."""
    seen = _told(lambda: _texts(came()))
    if not isinstance(seen, list):
        return seen
    if len(seen) != len(asked):
        return f"{len(seen)} tokens for {len(asked)} ids"
    return sum(a != b for a, b in zip(asked, seen, strict=True))


def _has_length(say: Callable[[], Any]) -> bool:
    """Where nothing comes that can be gone through, it is another check's matter."""
    found = _told(say, [])
    return hasattr(found, "__len__") or not hasattr(found, "__iter__")


def _told(say: Callable[[], Any], instead: Any = None) -> Any:
    """What is said; where an exception comes, its kind, or what stands for it."""
    try:
        return say()
    except Exception as e:
        return type(e).__name__ if instead is None else instead


def _named(found: Any, names: dict[int, str]) -> str:
    """The token that has this id, or what was found instead of an id that a token has."""
    if isinstance(found, bool | str) or found is None:
        return f"{found!r}"
    return names.get(int(found), "an id that no token has")
