"""Rows of a batch and their markers; batches under a budget, whatever the lengths."""

import time
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_ref import Vocabulary, batches_by_length, collate_batch

# The four specials have other numbers on the two sides.
SRC = Vocabulary(["<s>", "</s>", "<blank>", "<unk>", "ein", "Mann"])
TGT = Vocabulary(["a", "man", "<blank>", "<unk>", "<s>", "</s>"][::-1])
S, E, PAD, UNK = (TGT[token] for token in ("<s>", "</s>", "<blank>", "<unk>"))


def collate(pairs, **options):
    return collate_batch(pairs, str.split, str.split, SRC, TGT, **options)


def test_markers_and_padding_are_each_sides_own():
    src, tgt = collate([("ein Mann ein", "a"), ("Hund", "a man")])
    assert src.tolist() == [[0, 4, 5, 4, 1], [0, 3, 1, 2, 2]]
    assert tgt.tolist() == [[S, TGT["a"], E, PAD], [S, TGT["a"], TGT["man"], E]]
    assert src.dtype == tgt.dtype == torch.int64


@pytest.mark.parametrize(("max_len", "kept"), [(2, 0), (3, 1), (4, 2), (5, 3), (6, 3)])
def test_a_cut_sentence_keeps_its_end(max_len, kept):
    src, tgt = collate(iter([("ein ein Mann", "man man a"), ("", "")]), max_len=max_len)
    assert src.tolist()[0] == [0, *[4, 4, 5][:kept], 1]
    assert tgt.tolist()[0] == [S, *TGT(["man", "man", "a"][:kept]), E]
    assert src.tolist()[1] == [0, 1, *[2] * kept]


def test_a_pipeline_may_be_a_generator():
    src, _ = collate_batch([("ein Mann", "a")], lambda t: iter(t.split()), str.split, SRC, TGT)
    assert src.tolist() == [[0, 4, 5, 1]]


def test_the_batch_goes_to_the_device():
    src, tgt = collate([("ein", "a")], device=torch.device("meta"))
    assert src.device.type == tgt.device.type == "meta"


def test_what_cannot_be_a_batch_is_refused():
    with pytest.raises(ValueError, match="at least one pair"):
        collate([])
    with pytest.raises(ValueError, match="max_len=1"):
        collate([("ein", "a")], max_len=1)
    with pytest.raises(KeyError, match="<unk>"):
        collate_batch([("ein", "a")], str.split, str.split, Vocabulary(["ein"]), TGT)


LENGTHS = st.lists(st.integers(1, 12), max_size=40)


@given(lengths=LENGTHS, room=st.integers(0, 60), shuffle=st.booleans())
def test_every_sentence_once_and_no_batch_above_its_budget(lengths, room, shuffle):
    max_tokens = max(lengths, default=1) + room
    batches = batches_by_length(lengths, max_tokens, shuffle)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(batches)
    for batch in batches:
        assert max(lengths[i] for i in batch) * len(batch) <= max_tokens
    # Similar lengths are together: what two batches span may meet, but not overlap.
    spans = sorted(sorted(lengths[i] for i in batch) for batch in batches)
    assert all(low[-1] <= high[0] for low, high in pairwise(spans))


@given(lengths=LENGTHS)
def test_two_neighbours_would_not_fit_into_one_batch(lengths):
    batches = batches_by_length(lengths, 24, shuffle=False)
    for batch, following in pairwise(batches):
        assert (len(batch) + 1) * lengths[following[0]] > 24


def test_the_order_is_the_generators():
    lengths = [3] * 20 + [5] * 20

    def draw(seed: int) -> list[list[int]]:
        return batches_by_length(lengths, 15, generator=torch.Generator().manual_seed(seed))

    assert draw(0) == draw(0) != draw(1)
    assert {frozenset(batch) for batch in draw(0)} != {frozenset(batch) for batch in draw(1)}
    assert sorted(map(len, draw(0))) == sorted(map(len, draw(1)))
    torch.manual_seed(5)
    first, state = batches_by_length(lengths, 15), torch.get_rng_state()
    draw(0)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(5)
    assert batches_by_length(lengths, 15) == first


def test_without_shuffling_the_shortest_come_first_as_given():
    assert batches_by_length([4, 2, 4, 2, 9], 9, shuffle=False) == [[1, 3], [0, 2], [4]]


def test_lengths_may_be_a_tensor():
    assert batches_by_length(torch.tensor([4, 2, 4]), 8, shuffle=False) == [[1, 0], [2]]


def test_a_sentence_too_long_for_any_batch_is_named():
    with pytest.raises(ValueError, match="sentence 1 has length 11"):
        batches_by_length([3, 11, 4], 10)


def test_all_of_multi30k_takes_a_moment():
    lengths = torch.normal(14.0, 4.0, (29_000,)).round().clamp(3, 40).int().tolist()
    start = time.process_time()
    batches = batches_by_length(lengths, 2000)
    assert time.process_time() - start < 1  # It takes hundredths; a pass over all a batch, minutes.
    padded = sum(max(lengths[i] for i in batch) * len(batch) for batch in batches)
    assert sum(lengths) / padded > 0.95
