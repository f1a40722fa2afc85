"""Demo of step 15: sentences in tokens, tokens in numbers, and words that nobody has counted."""

import argparse
import importlib.util
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from autograder.demo import Say, captions, run, words

# As lines of a file: with spaces around, and a newline at the end.
GERMAN = "  Ein Mann fährt Fahrrad.\n"
ENGLISH = "A man rides a bicycle, doesn't he?\n"
UNSEEN = "Ein Elefant fährt Fahrrad."
SPECIALS = 4

TEXTS = {
    "en": {
        "no_spacy": (
            "(spaCy is not here: pip install 'transformer-by-building[translate]' brings it.\n"
            " A plain rule cuts the sentences instead.)"
        ),
        "tokens": "tokens of {text}:\n   {tokens}",
        "newline": "   A space or a newline has become a token. Is the text stripped first?",
        "sizes": (
            "{pairs} pairs of sentences, min_freq={min_freq}: "
            "{german} German tokens, {english} English ones"
        ),
        "first": "the first ids of English, and how often each token occurs:",
        "special": "   {number:>3}  {token}",
        "counted": "   {number:>3}  {token:<8} {count:>3}",
        "unseen": "a sentence with an unknown word: {text}\n   {ids}\n   {tokens}",
        "share": "share of the corpus's English tokens that are too rare to be known: {share}",
        "multi30k": "Multi30k, all three parts: {german:,} German, {english:,} English tokens",
        "no_multi30k": "(For the full corpus, let MULTI30K_DIR name the folder that holds it.)",
    },
    "ko": {
        "no_spacy": (
            "(spaCy가 없어요. 설치하려면: pip install 'transformer-by-building[translate]'\n"
            " 그 대신 단순한 규칙으로 문장을 자를게요.)"
        ),
        "tokens": "{text}의 토큰:\n   {tokens}",
        "newline": "   공백이나 줄바꿈이 토큰이 되었어요. 먼저 양끝을 다듬었나요?",
        "sizes": (
            "문장 쌍 {pairs}개, min_freq={min_freq}: 독일어 토큰 {german}개, 영어 토큰 {english}개"
        ),
        "first": "영어의 처음 id들과 토큰마다의 등장 횟수:",
        "special": "   {number:>3}  {token}",
        "counted": "   {number:>3}  {token:<8} {count:>3}",
        "unseen": "모르는 단어가 있는 문장: {text}\n   {ids}\n   {tokens}",
        "share": "작은 말뭉치의 영어 토큰 가운데 너무 드물어 모르는 것의 비율: {share}",
        "multi30k": "Multi30k의 세 부분 전체: 독일어 토큰 {german:,}개, 영어 토큰 {english:,}개",
        "no_multi30k": "(전체 말뭉치로 보려면 MULTI30K_DIR에 그 폴더를 적어 주세요.)",
    },
}

SIZES = {"min_freq": 2}

Tokenizer = Callable[[str], Iterable[Any]]


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    german, english = tokenizers(say)
    show_tokens(step, say, german, english)
    show_small(step, say, options.min_freq, german, english)
    show_multi30k(step, say, german, english)


def tokenizers(say: Say) -> tuple[Tokenizer, Tokenizer]:
    """Return spaCy's blank tokenizers for both languages, or a plain rule where spaCy is not."""
    if importlib.util.find_spec("spacy"):
        import spacy

        return spacy.blank("de"), spacy.blank("en")
    say("no_spacy")

    def plain(text: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(text=word) for word in words(text)]

    # Like spaCy's pipelines, it has a tokenizer of that name.
    plain.tokenizer = plain
    return plain, plain


def show_tokens(step: ModuleType, say: Say, german: Tokenizer, english: Tokenizer) -> None:
    for text, tokenizer in ((GERMAN, german), (ENGLISH, english)):
        tokens = step.tokenize(text, tokenizer)
        say("tokens", text=repr(text), tokens=tokens)
        if any(token != token.strip() or not token for token in tokens):
            say("newline")


def show_small(
    step: ModuleType, say: Say, min_freq: int, german: Tokenizer, english: Tokenizer
) -> None:
    pairs = captions()
    source = [step.tokenize(text, german) for text, _ in pairs]
    target = [step.tokenize(text, english) for _, text in pairs]
    src_vocab = step.build_vocabulary(source, min_freq=min_freq)
    tgt_vocab = step.build_vocabulary(target, min_freq=min_freq)
    sizes = {"german": len(src_vocab), "english": len(tgt_vocab)}
    say("sizes", pairs=len(pairs), min_freq=min_freq, **sizes)

    say("first")
    every = [token for sentence in target for token in sentence]
    for number, token in enumerate(tgt_vocab.tokens(range(min(12, len(tgt_vocab))))):
        kind = "special" if number < SPECIALS else "counted"
        say(kind, number=number, token=token, count=every.count(token))

    ids = src_vocab(step.tokenize(UNSEEN, german))
    say("unseen", text=UNSEEN, ids=ids, tokens=" ".join(src_vocab.tokens(ids)))

    unknown = sum(number == tgt_vocab["<unk>"] for number in tgt_vocab(every))
    say("share", share=f"{unknown / len(every):.1%}")


def show_multi30k(step: ModuleType, say: Say, german: Tokenizer, english: Tokenizer) -> None:
    folder = Path(os.environ.get("MULTI30K_DIR", ""))
    if not os.environ.get("MULTI30K_DIR") or not folder.is_dir():
        say("no_multi30k")
        return
    from autograder.workshop.corpus import read_corpus

    pairs = read_corpus(folder).all
    source = (step.tokenize(text, german) for text, _ in pairs)
    target = (step.tokenize(text, english) for _, text in pairs)
    sizes = (len(step.build_vocabulary(side, min_freq=2)) for side in (source, target))
    say("multi30k", **dict(zip(("german", "english"), sizes, strict=True)))


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
