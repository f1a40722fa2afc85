"""Batches: what is shifted, what is hidden, what is counted."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_ref import Batch, make_std_mask

SRC = torch.tensor([[0, 5, 6, 1, 2], [0, 7, 1, 2, 2]])
TGT = torch.tensor([[0, 8, 9, 4, 1], [0, 3, 1, 2, 2]])


def test_the_target_is_shifted_by_one():
    batch = Batch(SRC, TGT)
    assert batch.tgt.tolist() == [[0, 8, 9, 4], [0, 3, 1, 2]]
    assert batch.tgt_y.tolist() == [[8, 9, 4, 1], [3, 1, 2, 2]]
    assert batch.ntokens == 6


def test_padding_and_the_future_are_hidden():
    batch = Batch(SRC, TGT)
    assert batch.src_mask.dtype == batch.tgt_mask.dtype == torch.bool
    assert batch.src_mask.int().tolist() == [[[1, 1, 1, 1, 0]], [[1, 1, 1, 0, 0]]]
    triangle = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    padded = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]
    assert batch.tgt_mask.int().tolist() == [triangle, padded]


@pytest.mark.parametrize("pad", [0, 2, 5])
def test_padding_is_what_it_is_told_to_be(pad):
    batch = Batch(SRC, TGT, pad)
    assert torch.equal(batch.src_mask.squeeze(1), pad != SRC)
    assert torch.equal(batch.tgt_mask, make_std_mask(TGT[:, :-1], pad))
    assert batch.ntokens == (TGT[:, 1:] != pad).sum()


def test_padding_is_two_unless_told():
    assert torch.equal(Batch(SRC).src_mask, Batch(SRC, pad=2).src_mask)


def test_without_a_target_there_is_the_source_only():
    batch = Batch(SRC)
    assert torch.equal(batch.src, SRC) and batch.src_mask.shape == (2, 1, 5)
    assert not any(hasattr(batch, name) for name in ("tgt", "tgt_y", "tgt_mask", "ntokens"))


def test_one_row_and_one_id():
    batch = Batch(SRC[:1, :1], TGT[:1, :1])
    assert batch.tgt.shape == (1, 0) and batch.tgt_mask.shape == (1, 0, 0) and batch.ntokens == 0


def test_masks_are_made_where_the_ids_are():
    batch = Batch(SRC.to("meta"))
    assert batch.src_mask.device.type == "meta"
    assert make_std_mask(TGT.to("meta"), 2).device.type == "meta"


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(1, 4), length=st.integers(1, 7), seed=st.integers(0, 2**16))
def test_a_position_sees_what_is_real_and_not_later(rows, length, seed):
    ids = torch.randint(4, (rows, length), generator=torch.Generator().manual_seed(seed))
    mask = make_std_mask(ids, 2)
    for b in range(rows):
        for i in range(length):
            assert mask[b, i].tolist() == [j <= i and ids[b, j] != 2 for j in range(length)]
