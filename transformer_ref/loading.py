"""Step 16, the reference: from pairs of sentences to padded batches (paper, section 5.1)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

__all__ = ["batches_by_length", "collate_batch"]

Pipeline = Callable[[str], list[str]]


class _Vocabulary(Protocol):
    """What is asked of a vocabulary."""

    def __getitem__(self, token: str) -> int: ...

    def __call__(self, tokens: list[str]) -> list[int]: ...


def collate_batch(
    pairs: Iterable[tuple[str, str]],
    src_pipeline: Pipeline,
    tgt_pipeline: Pipeline,
    src_vocab: _Vocabulary,
    tgt_vocab: _Vocabulary,
    device: torch.device | str = "cpu",
    max_len: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Turn pairs of sentences into two tensors of ids, one row a sentence.

    Each row is <s>, the sentence, </s>, and then its own vocabulary's <blank> up to the length of
    the batch's longest row on that side.

    Args:
        pairs: (source text, target text), at least one.
        src_pipeline: cuts a source text into tokens.
        tgt_pipeline: likewise for a target text.
        src_vocab: numbers source tokens, e.g. a `Vocabulary`.
        tgt_vocab: likewise for target tokens.
        device: where the tensors are put.
        max_len: the length of the longest row allowed, both markers counted. Of a longer sentence
            the last tokens are left out; its </s> stays.

    Returns:
        src (B, S) and tgt (B, T), int64.

    Raises:
        ValueError: when there are no pairs, or max_len leaves no room for the markers.
        KeyError: from the vocabulary, when it knows neither a token nor "<unk>".
    """
    if max_len is not None and max_len < 2:
        raise ValueError(f"<s> and </s> alone make 2 positions, but {max_len=}")
    sources, targets = [], []
    for source, target in pairs:
        sources.append(_row(source, src_pipeline, src_vocab, max_len))
        targets.append(_row(target, tgt_pipeline, tgt_vocab, max_len))
    if not sources:
        raise ValueError("a batch needs at least one pair of sentences")
    src = pad_sequence(sources, batch_first=True, padding_value=src_vocab["<blank>"])
    tgt = pad_sequence(targets, batch_first=True, padding_value=tgt_vocab["<blank>"])
    return src.to(device), tgt.to(device)


def _row(text: str, pipeline: Pipeline, vocab: _Vocabulary, max_len: int | None) -> Tensor:
    """Number a sentence between its markers: (L,), int64, L <= max_len."""
    room = None if max_len is None else max_len - 2
    ids = vocab(list(pipeline(text))[:room])
    return torch.tensor([vocab["<s>"], *ids, vocab["</s>"]], dtype=torch.int64)


def batches_by_length(
    lengths: Sequence[int],
    max_tokens: int,
    shuffle: bool = True,
    generator: torch.Generator | None = None,
) -> list[list[int]]:
    """Group sentences of similar length, as many a batch as fit (section 5.1).

    A batch costs its longest sentence times its rows, padding counted; that is kept to max_tokens.

    Args:
        lengths: how many positions each sentence (or pair) takes.
        max_tokens: the largest cost of a batch.
        shuffle: draw the order of the batches, and which of equally long sentences come together.
            Otherwise the shortest come first, and equal lengths in the order given.
        generator: where the draws come from; None is torch's default one.

    Returns:
        Indices into lengths, a list for each batch; every index occurs exactly once.

    Raises:
        ValueError: when one sentence alone is longer than max_tokens.
    """
    lengths = [int(length) for length in lengths]
    order = list(range(len(lengths)))
    if shuffle:
        order = torch.randperm(len(lengths), generator=generator).tolist()
    order.sort(key=lengths.__getitem__)  # A stable sort: equal lengths keep the drawn order.
    batches: list[list[int]] = []
    for index in order:
        length = lengths[index]
        if length > max_tokens:
            raise ValueError(
                f"sentence {index} has length {length}, but a batch may only hold {max_tokens=}"
            )
        # In this order the newest sentence of a batch is also its longest.
        if batches and length * (len(batches[-1]) + 1) <= max_tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    if shuffle:
        batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
    return batches
