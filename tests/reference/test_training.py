"""Training over epochs: the files it leaves, and that an interruption cannot be told afterwards."""

import json
import os
import pickle
import resource
import signal
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

import transformer_ref
from transformer_ref import (
    Batch,
    LabelSmoothing,
    SimpleLossCompute,
    load_checkpoint,
    make_model,
    make_optimizer,
    save_checkpoint,
    train_model,
)

VOCAB = 11


class Shuffled:
    """Copying tasks in another order at each epoch, drawn from torch's default generator."""

    def __init__(self, number: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(1, VOCAB, (number, 3, 6), generator=generator)

    def __iter__(self) -> Iterator[Batch]:
        for i in torch.randperm(len(self.ids)).tolist():
            yield Batch(self.ids[i], self.ids[i], pad=0)


def parts(d_model: int = 8) -> dict:
    """A small model with dropout, and what else training it takes."""
    torch.manual_seed(1)
    model = make_model(VOCAB, VOCAB, N=1, d_model=d_model, d_ff=12, h=2, dropout=0.2)
    optimizer, scheduler = make_optimizer(model, d_model, warmup=20)
    loss_compute = SimpleLossCompute(model.generator, LabelSmoothing(VOCAB, 0, 0.1))
    return {
        "model": model,
        "loss_compute": loss_compute,
        "optimizer": optimizer,
        "scheduler": scheduler,
    }


def parts_that_turn_back() -> dict:
    """After three epochs of 5 updates it goes uphill, so that the third is the best."""
    training = parts()
    optimizer = torch.optim.Adam(training["model"].parameters(), lr=0.01)
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 if n < 15 else -1)
    return {**training, "optimizer": optimizer, "scheduler": rate}


def train(folder: Path, epochs: int, training: dict | None = None, **options) -> list[dict]:
    return train_model(
        **(training or parts()),
        train_batches=Shuffled(5, seed=0),
        valid_batches=Shuffled(2, seed=1),
        epochs=epochs,
        folder=folder,
        **options,
    )


@pytest.mark.parametrize("accum_iter", [1, 2])
def test_an_interrupted_training_is_bit_equal_to_one_that_was_not(tmp_path, accum_iter):
    straight, resumed = parts(), parts()
    whole = train(tmp_path / "straight", 3, straight, accum_iter=accum_iter)
    random = torch.rand(5)
    train(tmp_path / "parts", 1, parts(), accum_iter=accum_iter)
    torch.manual_seed(99)
    again = train(tmp_path / "parts", 3, resumed, accum_iter=accum_iter, resume=True)
    assert again == whole and [entry["epoch"] for entry in whole] == [1, 2, 3]
    assert torch.equal(torch.rand(5), random)
    for name in ("model", "optimizer", "scheduler"):
        assert_same(resumed[name].state_dict(), straight[name].state_dict())
    for name in ("last.pt", "best.pt"):
        here, there = (load_checkpoint(tmp_path / way / name) for way in ("parts", "straight"))
        assert_same(here, there)


def assert_same(one, other) -> None:
    """To the last bit, through dicts and lists."""
    if isinstance(one, Tensor):
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert one == other


def test_dropout_and_order_do_make_a_difference(tmp_path):
    """Otherwise the test above would not see that their random numbers are taken up."""
    train(tmp_path, 1)
    state = load_checkpoint(tmp_path / "last.pt")
    save_checkpoint(tmp_path / "last.pt", **{**state, "rng": torch.Generator().get_state()})
    assert train(tmp_path, 2, resume=True) != train(tmp_path / "straight", 2)


def test_the_folder_holds_the_newest_and_the_best_and_nothing_else(tmp_path):
    folder = tmp_path / "new" / "run"
    training = parts_that_turn_back()
    history = train(folder, 6, training)
    losses = [entry["valid_loss"] for entry in history]
    assert min(losses) == losses[2]
    assert sorted(path.name for path in folder.iterdir()) == ["best.pt", "last.pt"]
    last = load_checkpoint(folder / "last.pt")
    assert {"model", "optimizer", "scheduler", "epoch", "history", "rng"} <= last.keys()
    assert last["epoch"] == 6 and last["history"] == history
    assert_same(last["model"], training["model"].state_dict())
    train(tmp_path / "short", 3, parts_that_turn_back())
    at_best = load_checkpoint(tmp_path / "short" / "last.pt")["model"]
    assert_same(load_checkpoint(folder / "best.pt")["model"], at_best)


def test_the_best_of_before_counts_after_a_resumption(tmp_path):
    train(tmp_path, 1)
    state = load_checkpoint(tmp_path / "last.pt")
    state["history"][0]["valid_loss"] = 0.0
    save_checkpoint(tmp_path / "last.pt", **state)
    best = (tmp_path / "best.pt").read_bytes()
    train(tmp_path, 3, resume=True)
    assert (tmp_path / "best.pt").read_bytes() == best


def test_losses_are_those_of_run_epoch_and_fall(tmp_path):
    history = train(tmp_path, 8)
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert history[-1]["valid_loss"] < history[0]["valid_loss"]
    training = parts()
    rest = {name: training[name] for name in ("optimizer", "scheduler")}
    train_loss, _ = transformer_ref.run_epoch(
        Shuffled(5, 0), training["model"], training["loss_compute"], **rest
    )
    assert train_loss == history[0]["train_loss"]


def test_nothing_is_left_to_do(tmp_path):
    history = train(tmp_path, 2)
    before = (tmp_path / "last.pt").read_bytes()
    assert train(tmp_path, 2, resume=True) == history
    assert (tmp_path / "last.pt").read_bytes() == before


def test_without_a_checkpoint_resuming_is_beginning(tmp_path):
    assert train(tmp_path / "a", 1, resume=True) == train(tmp_path / "b", 1)


def test_not_resuming_begins_anew(tmp_path):
    train(tmp_path, 2)
    assert [entry["epoch"] for entry in train(tmp_path, 1)] == [1]
    assert load_checkpoint(tmp_path / "last.pt")["epoch"] == 1


def test_a_loss_that_is_no_number_stops_and_leaves_the_last_good_files(tmp_path):
    train(tmp_path, 1)
    before = (tmp_path / "last.pt").read_bytes()
    training = parts()
    plain_loss = training["loss_compute"]
    training["loss_compute"] = lambda x, y, norm: plain_loss(x / 0, y, norm)
    with pytest.raises(FloatingPointError, match="epoch 2 is nan"):
        train(tmp_path, 3, training, resume=True)
    assert (tmp_path / "last.pt").read_bytes() == before


def test_batches_for_one_epoch_only_are_refused(tmp_path):
    with pytest.raises(TypeError, match="iterator"):
        train_model(
            **parts(),
            train_batches=iter(Shuffled(2, 0)),
            valid_batches=Shuffled(1, 0),
            epochs=2,
            folder=tmp_path,
        )


def test_a_checkpoint_comes_back_as_it_was(tmp_path):
    state = {"model": {"w": torch.randn(3)}, "epoch": 3, "history": [{"loss": 0.5}], "note": None}
    save_checkpoint(tmp_path / "a.pt", **state)
    save_checkpoint(str(tmp_path / "a.pt"), **state)
    assert_same(load_checkpoint(tmp_path / "a.pt"), state)
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]


def in_a_child(function) -> int:
    """Fork, call the function, and return the child's process id."""
    child = os.fork()
    if child == 0:
        try:
            function()
        finally:
            os._exit(1)
    return child


def test_a_full_disk_leaves_the_old_file_and_no_debris(tmp_path):
    path = tmp_path / "last.pt"
    save_checkpoint(path, epoch=1)

    def save_too_much() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            save_checkpoint(path, epoch=2, model=torch.randn(100_000))
        except (OSError, RuntimeError):
            os._exit(7)

    assert os.waitstatus_to_exitcode(os.waitpid(in_a_child(save_too_much), 0)[1]) == 7
    assert load_checkpoint(path) == {"epoch": 1}
    assert [found.name for found in tmp_path.iterdir()] == ["last.pt"]


def test_a_crash_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "last.pt"
    save_checkpoint(path, numbers=torch.zeros(300_000))

    def save_for_ever() -> None:
        for n in range(1_000_000):
            save_checkpoint(path, numbers=torch.full((300_000,), float(n)))

    for attempt in range(8):
        child = in_a_child(save_for_ever)
        time.sleep(0.02 + 0.005 * attempt)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        numbers = load_checkpoint(path)["numbers"]
        assert (numbers == numbers[0]).all()
    save_checkpoint(path, epoch=1)
    assert [found.name for found in tmp_path.iterdir()] == ["last.pt"]


class Executes:
    """Unpickling it makes a folder."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_a_checkpoint_that_would_execute_something_is_refused(tmp_path):
    marker = tmp_path / "executed"
    torch.save({"model": Executes(marker)}, tmp_path / "zip.pt")
    torch.save(
        {"model": Executes(marker)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False
    )
    (tmp_path / "plain.pt").write_bytes(pickle.dumps({"model": Executes(marker)}))
    for name in ("zip.pt", "old.pt", "plain.pt"):
        with pytest.raises(ValueError, match=name):
            load_checkpoint(tmp_path / name)
    assert not marker.exists()
    pickle.loads((tmp_path / "plain.pt").read_bytes())
    assert marker.exists()  # So the files were dangerous.


def test_files_of_other_programs_are_refused(tmp_path):
    (tmp_path / "text.pt").write_text(json.dumps({"model": 1}))
    (tmp_path / "empty.pt").touch()
    with zipfile.ZipFile(tmp_path / "zip.pt", "w") as archive:
        archive.writestr("model", "weights")
    torch.save([torch.zeros(2)], tmp_path / "list.pt")
    for path in tmp_path.iterdir():
        with pytest.raises(ValueError, match=path.name):
            load_checkpoint(path)


def test_a_truncated_file_is_refused_wherever_it_ends(tmp_path):
    save_checkpoint(tmp_path / "a.pt", numbers=torch.randn(500), text="x" * 50)
    whole = (tmp_path / "a.pt").read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "cut.pt").write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut\.pt is not a whole checkpoint"):
            load_checkpoint(tmp_path / "cut.pt")


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "none.pt")
    with pytest.raises(FileNotFoundError):
        save_checkpoint(tmp_path / "no folder" / "a.pt", epoch=1)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: {**state, "model": parts(d_model=12)["model"].state_dict()},
        lambda state: {**state, "optimizer": {"state": {}, "param_groups": []}},
        lambda state: {**state, "rng": torch.zeros(3)},
        lambda state: {"weights": state["model"]},
    ],
    ids=["other sizes", "other optimizer", "no random numbers", "other names"],
)
def test_a_checkpoint_of_another_training_is_not_taken_up(tmp_path, change):
    train(tmp_path, 1)
    save_checkpoint(tmp_path / "last.pt", **change(load_checkpoint(tmp_path / "last.pt")))
    before = (tmp_path / "last.pt").read_bytes()
    with pytest.raises(ValueError, match=r"last\.pt is not a checkpoint of this training"):
        train(tmp_path, 2, resume=True)
    assert (tmp_path / "last.pt").read_bytes() == before
