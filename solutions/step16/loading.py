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
    ### BEGIN SOLUTION

    def row(text: str, pipeline: Callable[[str], list[str]], vocab: Vocabulary) -> list[int]:
        ids = vocab(pipeline(text))
        if max_len is not None:
            # Two places are left for the markers.
            ids = ids[: max_len - 2]
        return [vocab["<s>"], *ids, vocab["</s>"]]

    def rectangle(rows: list[list[int]], pad: int) -> torch.Tensor:
        longest = max(len(ids) for ids in rows)
        filled = [ids + [pad] * (longest - len(ids)) for ids in rows]
        return torch.tensor(filled, dtype=torch.int64, device=device)

    src_rows = []
    tgt_rows = []
    for src_text, tgt_text in pairs:
        src_rows.append(row(src_text, src_pipeline, src_vocab))
        tgt_rows.append(row(tgt_text, tgt_pipeline, tgt_vocab))

    src = rectangle(src_rows, src_vocab["<blank>"])
    tgt = rectangle(tgt_rows, tgt_vocab["<blank>"])
    return src, tgt
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    for length in lengths:
        if length > max_tokens:
            raise ValueError(f"length {length} is more than max_tokens={max_tokens} allows")

    order = list(range(len(lengths)))
    if shuffle:
        order = torch.randperm(len(lengths), generator=generator).tolist()

    # Sorting leaves equal lengths in the order they had: the random one.
    order.sort(key=lambda index: lengths[index])

    batches: list[list[int]] = []
    batch: list[int] = []
    for index in order:
        # Lengths go up, so this one is the longest of the batch.
        area = lengths[index] * (len(batch) + 1)
        if area > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(index)
    if batch:
        batches.append(batch)

    if shuffle:
        places = torch.randperm(len(batches), generator=generator).tolist()
        batches = [batches[place] for place in places]
    return batches
    ### END SOLUTION
