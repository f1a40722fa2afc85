"""Greedy decoding on models whose next ids are written down, and on one of the reference's own."""

import pytest
import torch
from torch import Tensor, nn

from transformer_ref import greedy_decode, make_model, subsequent_mask

START, END, VOCAB = 1, 9, 10


class Scripted(nn.Module):
    """Row b says script[b][i] after i + 1 ids, and keeps what it was called with."""

    def __init__(self, script: list[list[int]]) -> None:
        super().__init__()
        self.script = torch.tensor(script)
        self.encoded: list[Tensor] = []
        self.decoded: list[tuple[Tensor, Tensor]] = []
        self.grad_enabled: list[bool] = []

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        self.encoded.append(src_mask)
        return src.unsqueeze(-1).float()

    def decode(self, memory: Tensor, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor) -> Tensor:
        self.decoded.append((tgt.clone(), tgt_mask))
        self.grad_enabled.append(torch.is_grad_enabled())
        rows = memory[:, 0, 0].long()  # A row knows itself by its first source id.
        ids = self.script[rows, : tgt.size(1)]
        return nn.functional.one_hot(ids, VOCAB).float()

    def generator(self, x: Tensor) -> Tensor:
        return x.log_softmax(dim=-1)


def decode(script: list[list[int]], max_len: int, end: int | None = END) -> tuple[Tensor, Scripted]:
    model = Scripted(script)
    src = torch.arange(len(script)).unsqueeze(1).expand(-1, 3)
    return greedy_decode(model, src, torch.ones(len(script), 1, 3), max_len, START, end), model


def test_rows_end_on_their_own_and_are_filled_up():
    ys, model = decode([[4, END, 5, 6, 7, 8], [3, 4, 5, END, 2, 2], [END, 2, 2, 2, 2, 2]], 7)
    wanted = [[START, 4, END, END, END], [START, 3, 4, 5, END], [START, END, END, END, END]]
    assert ys.tolist() == wanted and ys.dtype == torch.int64
    assert len(model.encoded) == 1 and len(model.decoded) == 4


@pytest.mark.parametrize("max_len", [1, 2, 5])
def test_the_length_counts_the_start_symbol(max_len):
    ys, model = decode([[4, 5, 6, 7, 8, 2]], max_len)
    assert ys.tolist() == [[START, 4, 5, 6, 7, 8][:max_len]]
    assert len(model.decoded) == max_len - 1


def test_without_an_end_symbol_no_row_ends():
    ys, _ = decode([[END, 4, END, 5]], 4, end=None)
    assert ys.tolist() == [[START, END, 4, END]]


def test_a_start_symbol_that_is_the_end_symbol_ends_nothing():
    model = Scripted([[4, 5, 6]])
    ys = greedy_decode(model, torch.zeros(1, 2).long(), None, 3, END, END)
    assert ys.tolist() == [[END, 4, 5]]


def test_the_future_is_hidden_at_every_length():
    _, model = decode([[4, 5, 6, 7, 8, 2]], 5)
    for tgt, mask in model.decoded:
        assert torch.equal(mask, subsequent_mask(tgt.size(1)))


def test_no_row_means_no_step():
    model = Scripted([[4]])
    assert greedy_decode(model, torch.zeros(0, 3).long(), None, 4, START, END).shape == (0, 1)
    assert not model.decoded


def test_there_must_be_room_for_the_start_symbol():
    with pytest.raises(ValueError, match="max_len=0"):
        decode([[4]], 0)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    model = make_model(11, 13, N=2, d_model=12, d_ff=20, h=3)
    with torch.no_grad():  # Away from a model that says one thing always.
        for parameter in model.parameters():
            parameter.mul_(2)
    return model


def test_gradients_are_off_inside_only_and_the_mode_is_the_callers(model):
    _, scripted = decode([[4, 5, 6]], 3)
    assert scripted.grad_enabled == [False, False] and torch.is_grad_enabled()
    for training in (True, False):
        model.train(training)
        ys = greedy_decode(model, torch.ones(2, 3).long(), None, 5, START)
        assert all(m.training == training for m in model.modules()) and not ys.requires_grad


def test_rows_of_a_batch_do_not_meet(model):
    model.eval()
    src = torch.randint(1, 11, (5, 6), generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([6, 3, 5, 1, 4])
    mask = (torch.arange(6) < lengths.unsqueeze(1)).unsqueeze(1)
    together = greedy_decode(model, src, mask, 9, START, 2)
    for row, length in enumerate(lengths):
        alone = greedy_decode(model, src[row : row + 1, :length], None, 9, START, 2)[0]
        assert together[row, : len(alone)].tolist() == alone.tolist()
        assert (together[row, len(alone) :] == 2).all()


def test_each_id_is_the_most_probable_after_those_before_it(model):
    model.eval()
    src = torch.randint(1, 11, (3, 6), generator=torch.Generator().manual_seed(1))
    ys = greedy_decode(model, src, None, 8, START)
    with torch.no_grad():
        features = model(src, ys[:, :-1], None, subsequent_mask(7))
        assert torch.equal(model.generator(features).argmax(-1), ys[:, 1:])
