"""Step 16: sentences into batches. Fill in the bodies, then run `pytest exercises/step16`.

Sentences differ in length, and a tensor is a rectangle. Padding fills it up. How much of a batch is
padding decides how fast training is, so sentences of similar length go together.

Paper: "Attention Is All You Need", section 5.1 (the last sentences).
"""

from collections.abc import Callable, Iterable, Sequence

import torch

from transformer_ref import Vocabulary


def collate_batch(
    pairs: Iterable[tuple[str, str]],
    src_pipeline: Callable[[str], list[str]],
    tgt_pipeline: Callable[[str], list[str]],
    src_vocab: Vocabulary,
    tgt_vocab: Vocabulary,
    device: torch.device | str = "cpu",
    max_len: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make two tensors of ids from pairs of sentences.

    Each sentence becomes "<s>", its tokens, "</s>", and then as much "<blank>" as the longest
    sentence of this batch, on this side, asks for. All these ids are asked of the side's own
    vocabulary (`vocab["<s>"]`): the two languages need not agree about them.

    Args:
        pairs: (source text, target text), at least one pair.
        src_pipeline: from a source text to its tokens.
        tgt_pipeline: from a target text to its tokens.
        src_vocab: `src_vocab(tokens)` gives ids, `src_vocab[token]` one id.
        tgt_vocab: the same for the target.
        device: where the tensors shall be.
        max_len: the most ids that a row may have, "<s>" and "</s>" counted; at least 2. A sentence
            that is too long loses its last tokens, and keeps its "</s>". None: no limit.

    Returns:
        (src, tgt), int64, (B, longest source) and (B, longest target). Row k of both is pair k.
    """
    raise NotImplementedError("step 16: collate_batch is not implemented yet")


def batches_by_length(
    lengths: Sequence[int],
    max_tokens: int,
    shuffle: bool = True,
    generator: torch.Generator | None = None,
) -> list[list[int]]:
    """Say which sentences go into a batch together: those of similar length.

    A batch is a rectangle, and what it costs is its area: the longest length in it, times its
    rows. Every batch has an area of at most max_tokens, so that short sentences come in many rows.

    Args:
        lengths: the length of each sentence (or of the longer side of each pair).
        max_tokens: the largest area a batch may have.
        shuffle: whether the batches come in random order, and sentences of equal length meet in
            random company. Otherwise every call gives the same batches.
        generator: where the random numbers come from. None: torch's default generator.

    Returns:
        Lists of indices into `lengths`, as ints. Every index is in exactly one of them.

    Raises:
        ValueError: a single length is larger than max_tokens. The message names it.
    """
    raise NotImplementedError("step 16: batches_by_length is not implemented yet")
