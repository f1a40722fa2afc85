"""The copy task's data, the loss of a batch, and the loop: what an update is made of."""

import math
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from transformer_ref import (
    Batch,
    LabelSmoothing,
    SimpleLossCompute,
    TrainState,
    data_gen,
    greedy_decode,
    make_model,
    make_optimizer,
    run_epoch,
)

VOCAB, PAD = 8, 0


def test_batches_are_sequences_to_copy():
    batches = list(data_gen(VOCAB, 30, 4, length=6, generator=torch.Generator().manual_seed(0)))
    assert len(batches) == 4
    for batch in batches:
        assert batch.src.shape == (30, 6) and batch.src.dtype == torch.int64
        assert (batch.src[:, 0] == 1).all() and batch.src_mask.all()
        assert torch.equal(batch.tgt, batch.src[:, :-1]) and torch.equal(
            batch.tgt_y, batch.src[:, 1:]
        )
        assert batch.ntokens == 30 * 5
    ids = torch.cat([batch.tgt_y for batch in batches])
    assert ids.unique().tolist() == list(range(1, VOCAB))


def test_source_and_target_share_no_storage():
    (batch,) = data_gen(VOCAB, 2, 1)
    before = batch.tgt_y.clone()
    batch.src.zero_()
    assert torch.equal(batch.tgt_y, before) and batch.tgt.size(1) == 9


def test_data_comes_from_the_generator_that_was_handed_in():
    def draw(seed: int | None) -> Tensor:
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        return torch.cat([b.src for b in data_gen(20, 3, 2, generator=generator)])

    assert torch.equal(draw(1), draw(1)) and not torch.equal(draw(1), draw(2))
    torch.manual_seed(5)
    first = draw(None)
    assert not torch.equal(first, draw(None))
    torch.manual_seed(5)
    draw(1)
    assert torch.equal(first, draw(None))


class Toy(nn.Module):
    """Features that look at the last target id and the source's mean; dropout where asked for."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.lut = nn.Embedding(VOCAB, 5)
        self.dropout = nn.Dropout(dropout)
        self.generator = nn.Sequential(nn.Linear(5, VOCAB), nn.LogSoftmax(-1))

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        mean = (self.lut(src) * src_mask.transpose(1, 2)).mean(1, keepdim=True)
        return self.dropout(self.lut(tgt) + mean)


def toy(dropout: float = 0.0) -> Toy:
    torch.manual_seed(0)
    return Toy(dropout).double()


def batches(n: int, pad: int = PAD) -> list[Batch]:
    """Batches of unequal sizes, lengths and paddings."""
    made = []
    for i in range(n):
        ids = torch.randint(
            1, VOCAB, (2 + i % 3, 4 + i), generator=torch.Generator().manual_seed(i)
        )
        ids[0, 3:] = pad
        made.append(Batch(ids, ids.flip(0), pad))
    return made


def loss_of(model: Toy) -> SimpleLossCompute:
    return SimpleLossCompute(model.generator, LabelSmoothing(VOCAB, PAD, 0.1))


def sgd(model: nn.Module, gamma: float = 0.5):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma)


def total_of(model: Toy, batch: Batch) -> Tensor:
    x = model(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
    return loss_of(model)(x, batch.tgt_y, 1)[1]


def test_the_loss_is_a_sum_to_report_and_a_mean_to_backpropagate():
    model, (batch,) = toy(), batches(1)
    x = model(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
    total, loss = loss_of(model)(x, batch.tgt_y, 7)
    assert not total.requires_grad and loss.requires_grad
    torch.testing.assert_close(total, 7 * loss.detach())
    rows = model.generator(x).flatten(0, 1)
    torch.testing.assert_close(total, LabelSmoothing(VOCAB, PAD, 0.1)(rows, batch.tgt_y.flatten()))


@pytest.mark.parametrize("accum_iter", [1, 2, 3, 7])
def test_updates_are_those_of_the_loop_written_out(accum_iter):
    ours, theirs, data = toy(), toy(), batches(5)
    optimizer, scheduler = sgd(ours)
    loss, state = run_epoch(data, ours, loss_of(ours), optimizer, scheduler, accum_iter=accum_iter)
    rate, sums = 0.1, 0.0
    for start in range(0, 5, accum_iter):
        group = data[start : start + accum_iter]
        totals = [total_of(theirs, batch) for batch in group]
        sums += float(sum(totals).detach())
        mean = sum(t / batch.ntokens for t, batch in zip(totals, group, strict=True))
        gradients = torch.autograd.grad(mean, list(theirs.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(theirs.parameters(), gradients, strict=True):
                parameter -= rate * gradient
        rate /= 2
    torch.testing.assert_close(dict(ours.named_parameters()), dict(theirs.named_parameters()))
    tokens = sum(batch.ntokens for batch in data)
    assert loss == pytest.approx(sums / tokens)
    updates = math.ceil(5 / accum_iter)
    assert state == TrainState(5, updates, sum(b.src.size(0) for b in data), tokens)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1 / 2**updates)


def test_gradients_that_were_there_before_do_not_count_and_none_are_left():
    ours, theirs = toy(), toy()
    for parameter in ours.parameters():
        parameter.grad = torch.ones_like(parameter)
    for model in (ours, theirs):
        run_epoch(batches(3), model, loss_of(model), *sgd(model), accum_iter=2)
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=0, atol=0)
    assert all(parameter.grad is None for parameter in ours.parameters())


def test_evaluation_changes_nothing():
    model = toy(dropout=0.5)
    optimizer, scheduler = sgd(model)
    run_epoch(batches(2), model, loss_of(model), optimizer, scheduler)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    before = deepcopy((model.state_dict(), optimizer.state_dict(), scheduler.state_dict()))
    given = TrainState(1, 2, 3, 4)
    loss, state = run_epoch(
        batches(3), model, loss_of(model), optimizer, scheduler, "eval", train_state=given
    )
    after = (model.state_dict(), optimizer.state_dict(), scheduler.state_dict())
    torch.testing.assert_close(after, before, rtol=0, atol=0)
    assert all((parameter.grad == 1).all() for parameter in model.parameters())
    assert state == TrainState(1, 2, 3, 4)
    sums = sum(float(total_of(model, batch).detach()) for batch in batches(3))
    assert loss == pytest.approx(sums / sum(batch.ntokens for batch in batches(3)))
    assert run_epoch(batches(3), model, loss_of(model), None, None, "eval")[0] == loss


def test_the_model_is_put_into_the_mode():
    model = toy(dropout=0.5)
    run_epoch(batches(1), model, loss_of(model), None, None, "eval")
    assert not model.dropout.training
    run_epoch(batches(1), model, loss_of(model), *sgd(model))
    assert model.dropout.training


def test_a_state_is_continued_and_a_fresh_one_is_fresh():
    model = toy()
    _, state = run_epoch(batches(2), model, loss_of(model), *sgd(model))
    _, again = run_epoch(batches(3), model, loss_of(model), *sgd(model), train_state=state)
    assert (again.step, again.accum_step) == (5, 5)
    _, fresh = run_epoch(batches(3), model, loss_of(model), *sgd(model))
    assert (fresh.step, fresh.accum_step) == (3, 3)


def test_batches_may_be_a_generator_and_are_drawn_one_at_a_time():
    drawn = []

    def stream():
        for batch in batches(4):
            drawn.append(batch)
            yield batch

    seen = []
    model = toy()
    inner = loss_of(model)

    def loss_compute(x, y, norm):
        seen.append(len(drawn))
        return inner(x, y, norm)

    run_epoch(stream(), model, loss_compute, *sgd(model), accum_iter=3)
    assert seen == [1, 2, 3, 4]


def test_a_constant_rate_needs_no_scheduler():
    model = toy()
    optimizer, _ = sgd(model)
    _, state = run_epoch(batches(2), model, loss_of(model), optimizer, None)
    assert state.accum_step == 2 and optimizer.param_groups[0]["lr"] == 0.1


def test_nothing_to_train_on_changes_nothing_and_has_no_loss():
    model = toy()
    before = deepcopy(model.state_dict())
    loss, state = run_epoch([], model, loss_of(model), *sgd(model))
    assert math.isnan(loss) and state == TrainState()
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)


@pytest.mark.parametrize("options", [{"mode": "test"}, {"accum_iter": 0}])
def test_what_makes_no_sense_is_refused(options):
    model = toy()
    with pytest.raises(ValueError):
        run_epoch(batches(1), model, loss_of(model), *sgd(model), **options)
    with pytest.raises(ValueError, match="optimizer"):
        run_epoch(batches(1), model, loss_of(model), None, None)


@pytest.mark.slow
def test_a_small_model_learns_to_copy():
    torch.manual_seed(0)
    model = make_model(11, 11, N=2, d_model=64, d_ff=128, h=4, dropout=0.0)
    optimizer, scheduler = make_optimizer(model, 64, warmup=200)
    loss_compute = SimpleLossCompute(model.generator, LabelSmoothing(11, PAD))
    (unseen,) = data_gen(11, 50, 1, generator=torch.Generator().manual_seed(99))
    for _ in range(15):
        run_epoch(data_gen(11, 64, 100), model, loss_compute, optimizer, scheduler)
        copies = greedy_decode(model.eval(), unseen.src, unseen.src_mask, 10, 1)
        if torch.equal(copies, unseen.src):
            return
    pytest.fail(f"{(copies != unseen.src).sum()} ids of {copies.numel()} are wrong")
