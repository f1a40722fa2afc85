"""Demo of step 16: a padded batch, a cut sentence, and how much of a batch is padding."""

import argparse
from types import ModuleType

import torch

from autograder.demo import Say, captions, run, words
from transformer_ref import Vocabulary, build_vocabulary

FULL = 72  # what the widely copied code trains with
ROWS = (17, 32, 35)

TEXTS = {
    "en": {
        "batch": "three pairs as a batch, source {src} and target {tgt}:",
        "row": "   {row}",
        "cut": "the same target with max_len={max_len}:",
        "cut_why": "   What was too long has lost its last words, and keeps its </s>.",
        "cut_off": "   Should it not be the first {max_len} ids at most, the last of them </s>?",
        "cut_lost": "   A sentence that was cut has lost its </s>.",
        "padding": "padding among all ids of the {count} English sentences:",
        "full": "   every batch {full} wide          {share:>6.1%}",
        "random": "   tight, sentences as they come {share:>6.1%}",
        "sorted": "   tight, sentences by length    {share:>6.1%}",
        "batches": "batches by length, of at most {max_tokens} ids (rows x longest = area):",
        "one": "   {rows:>2} x {longest:>2} = {area:>3}, {blank} of it padding",
        "too_large": "   Should any be larger than {max_tokens}?",
        "lost": "   Every sentence should be in exactly one batch; these are not: {wrong}",
        "shuffled": "with shuffle, the batches come in this order of lengths:\n   {order}",
        "unshuffled": "   Is that not their order without shuffle?",
    },
    "ko": {
        "batch": "문장 쌍 세 개로 만든 배치, 원문 {src}, 번역문 {tgt}:",
        "row": "   {row}",
        "cut": "max_len={max_len}일 때 같은 번역문:",
        "cut_why": "   너무 긴 문장은 마지막 단어들을 잃었지만 </s>는 그대로 있어요.",
        "cut_off": "   많아야 처음 id {max_len}개이고, 그 끝은 </s>여야 하지 않을까요?",
        "cut_lost": "   잘린 문장이 </s>를 잃었어요.",
        "padding": "영어 문장 {count}개의 모든 id 가운데 패딩의 비율:",
        "full": "   모든 배치를 너비 {full}에 맞출 때     {share:>6.1%}",
        "random": "   딱 맞게, 문장이 온 순서대로 모을 때 {share:>6.1%}",
        "sorted": "   딱 맞게, 비슷한 길이끼리 모을 때    {share:>6.1%}",
        "batches": "길이로 모은 배치, id는 많아야 {max_tokens}개 (행 x 가장 긴 길이 = 넓이):",
        "one": "   {rows:>2} x {longest:>2} = {area:>3}, 그중 패딩 {blank}",
        "too_large": "   {max_tokens}보다 큰 배치가 있어도 될까요?",
        "lost": "   문장마다 꼭 한 배치에 있어야 하는데 그렇지 않아요: {wrong}",
        "shuffled": "shuffle을 쓰면 배치가 오는 순서는 길이로 보아:\n   {order}",
        "unshuffled": "   shuffle을 쓰지 않을 때의 순서가 아닌가요?",
    },
}

SIZES = {"max_len": 9, "max_tokens": 120}


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    pairs = captions()
    vocabs = tuple(build_vocabulary(map(words, side)) for side in zip(*pairs, strict=True))
    show_a_batch(step, say, [pairs[row] for row in ROWS], vocabs, options.max_len)
    # The markers count: they take places in the batch too.
    lengths = [len(words(text)) + 2 for _, text in pairs]
    show_padding(step, say, lengths, options.max_tokens)


def show_a_batch(
    step: ModuleType,
    say: Say,
    pairs: list[tuple[str, str]],
    vocabs: tuple[Vocabulary, ...],
    max_len: int,
) -> None:
    src, tgt = step.collate_batch(pairs, words, words, *vocabs)
    say("batch", src=tuple(src.shape), tgt=tuple(tgt.shape))
    for batch, vocab in zip((src, tgt), vocabs, strict=True):
        show_rows(say, batch, vocab)

    _, cut = step.collate_batch(pairs, words, words, *vocabs, max_len=max_len)
    say("cut", max_len=max_len)
    show_rows(say, cut, vocabs[1])
    ends = (cut == vocabs[1]["</s>"]).sum(dim=1)
    if not ends.eq(1).all():
        say("cut_lost")
        return
    pad = vocabs[1]["<blank>"]
    wanted = [shortened(row, max_len) for row in unpadded(tgt, pad)]
    say("cut_why" if unpadded(cut, pad) == wanted else "cut_off", max_len=max_len)


def unpadded(batch: torch.Tensor, pad: int) -> list[list[int]]:
    return [[number for number in row if number != pad] for row in batch.tolist()]


def shortened(ids: list[int], max_len: int) -> list[int]:
    """Return at most so many ids, the last one kept."""
    return ids if len(ids) <= max_len else ids[: max_len - 1] + ids[-1:]


def show_rows(say: Say, batch: torch.Tensor, vocab: Vocabulary) -> None:
    for row in batch:
        say("row", row=" ".join(vocab.tokens(row)))


def show_padding(step: ModuleType, say: Say, lengths: list[int], max_tokens: int) -> None:
    plan = step.batches_by_length(lengths, max_tokens, shuffle=False)
    rows = max(map(len, plan))
    as_they_come = [
        list(range(first, min(first + rows, len(lengths))))
        for first in range(0, len(lengths), rows)
    ]
    say("padding", count=len(lengths))
    say("full", full=FULL, share=1 - sum(lengths) / (FULL * len(lengths)))
    say("random", share=padding(as_they_come, lengths))
    say("sorted", share=padding(plan, lengths))

    say("batches", max_tokens=max_tokens)
    for batch in plan:
        longest = max(lengths[index] for index in batch)
        blank = padding([batch], lengths)
        area = longest * len(batch)
        say("one", rows=len(batch), longest=longest, area=area, blank=f"{blank:.0%}")
    areas = [max(lengths[index] for index in batch) * len(batch) for batch in plan]
    if max(areas) > max(max_tokens, *lengths):
        say("too_large", max_tokens=max_tokens)
    seen = sorted(index for batch in plan for index in batch)
    if seen != list(range(len(lengths))):
        say("lost", wrong=[n for n in range(len(lengths)) if seen.count(n) != 1])

    generator = torch.Generator().manual_seed(0)
    shuffled = step.batches_by_length(lengths, max_tokens, generator=generator)
    order = " ".join(str(max(lengths[index] for index in batch)) for batch in shuffled)
    say("shuffled", order=order)
    if len(plan) > 2 and shuffled == plan:
        say("unshuffled")


def padding(batches: list[list[int]], lengths: list[int]) -> float:
    """Return the share of ids that are padding."""
    area = sum(len(batch) * max(lengths[index] for index in batch) for batch in batches)
    return 1 - sum(lengths[index] for batch in batches for index in batch) / area


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
