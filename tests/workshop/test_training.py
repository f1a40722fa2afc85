"""`autograder train translate` and `translate` on our own captions: what is made, what stops it."""

import os
import pickle
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from autograder.core.trouble import Trouble
from autograder.workshop.plan import Wishes, plan
from autograder.workshop.runfolder import RunFolder
from autograder.workshop.training import train
from autograder.workshop.watch import Running

pytest.importorskip("spacy", reason="needs the extra [translate]")
pytest.importorskip("sacrebleu", reason="needs the extra [translate]")

CODE = ("reference", "solutions")


class Silent:
    """A listener that says nothing; `at` is called after each batch of a training."""

    def __init__(self, at=lambda running: None) -> None:
        self.at = at
        self.told_to_stop = 0
        self.phases: list[Running] = []

    def batch(self, running: Running) -> None:
        self.at(running)

    def ended(self, running: Running) -> None:
        self.phases.append(running)

    def stopping(self) -> None:
        self.told_to_stop += 1


@pytest.fixture
def toy(run, tmp_path: Path):
    """Trains the toy in a folder `run` with the command line."""

    def call(*arguments: object, origin: str = "reference", epochs: int = 1, folder: str = "run"):
        command = ["train", "translate", "--from", origin, "--out", tmp_path / folder]
        preset = [] if "--resume" in arguments else ["--preset", "toy"]
        return run(*command, *preset, "--epochs", epochs, *arguments)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run")


def weights(path: Path) -> dict[str, torch.Tensor]:
    return torch.load(path, weights_only=True)["model"]


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


def complaint(result) -> str:
    assert result.status == 2
    assert result.err.count("\n") == 1, result.err
    return result.err


# ---------------------------------------------------------------- what is made


@pytest.mark.parametrize("origin", CODE)
def test_a_training_leaves_a_translator(run, toy, folder, tmp_path, origin):
    pytest.importorskip("matplotlib", reason="needs the extra [plots]")
    result = toy(origin=origin, epochs=2)
    assert (result.status, result.err) == (0, "")
    assert "48 sentence pairs" in result.out
    assert "epoch 2" in result.out and "tokens a second" in result.out
    assert "tok:13a" in result.out and "tok:none" in result.out
    assert folder.curves.read_bytes().startswith(b"\x89PNG")
    assert not [path for path in folder.root.iterdir() if path.name.startswith(".")]
    picture = tmp_path / "maps.svg"
    translated = run(
        "translate", "Ein Mann fährt Fahrrad.", "--run", folder.root, "--maps", picture
    )
    assert (translated.status, translated.err) == (0, "")
    assert "<svg" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize("origin", CODE)
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_training_that_was_gone_on_with_ends_as_one_that_was_not(
    toy, tmp_path, origin, accumulate
):
    more = ("--accumulate", accumulate)
    toy(*more, origin=origin, epochs=3, folder="whole")
    toy(*more, origin=origin, epochs=1, folder="parts")
    result = toy("--resume", origin=origin, epochs=3, folder="parts")
    assert result.status == 0
    assert "epoch 1" not in result.out.split("curves")[0]
    last = [weights(tmp_path / name / "last.pt") for name in ("whole", "parts")]
    assert same(*last)


def test_accumulation_and_the_size_of_batches_matter(toy, tmp_path):
    kinds = {"plain": (), "accumulated": ("--accumulate", 3), "small": ("--max-tokens", 40)}
    made = []
    for name, more in kinds.items():
        assert toy(*more, folder=name).status == 0
        made.append(weights(tmp_path / name / "last.pt"))
    assert not same(made[0], made[1]) and not same(made[0], made[2])


def test_batches_of_one_are_trained_on(toy):
    # No two of our captions fit into so little.
    assert toy("--max-tokens", 18).status == 0


def test_half_as_many_digits_are_enough_to_learn(toy, folder, tmp_path):
    assert toy("--precision", "bfloat16", epochs=3).status == 0
    first, _, last = torch.load(folder.last, weights_only=True)["history"]
    assert last["train_loss"] < first["train_loss"]
    toy(epochs=3, folder="whole")
    assert not same(weights(folder.last), weights(tmp_path / "whole" / "last.pt"))


def test_without_matplotlib_it_is_said_and_the_training_counts(run, toy, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = toy()
    assert result.status == 0 and "-c constraints.txt -e '.[plots]'" in result.out
    assert folder.best.exists()
    translated = run("translate", "Ein Hund.", "--run", folder.root)
    assert translated.status == 0 and ".[plots]" in translated.out
    asked = run("translate", "Ein Hund.", "--run", folder.root, "--maps", "maps.png")
    assert asked.status == 2 and ".[plots]" in asked.err


def test_without_sacrebleu_it_is_said_and_the_training_counts(toy, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    result = toy()
    assert result.status == 0 and ".[translate]" in result.out and folder.best.exists()


def test_without_spacy_one_line_says_what_to_install(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert ".[translate]" in complaint(toy())


def test_what_was_cut_once_is_not_cut_again(toy, monkeypatch):
    assert toy(folder="one").status == 0
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert toy(folder="two").status == 0


# ---------------------------------------------------------------- what stops it


def wishes(folder: RunFolder, epochs: int, **more) -> Wishes:
    return Wishes(folder, preset="toy", origin="reference", epochs=epochs, **more)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_one_interruption_lets_the_epoch_end(run, folder):
    def at(running: Running) -> None:
        if running.phase == "train" and running.epoch == 2 and running.done == 1:
            interrupt()

    listener = Silent(at)
    before = signal.getsignal(signal.SIGINT)
    outcome = train(plan(wishes(folder, 5)), listener, seed=1)
    assert outcome.stopped and listener.told_to_stop == 1
    assert [entry["epoch"] for entry in outcome.history] == [1, 2]
    assert [(r.phase, r.epoch) for r in listener.phases][-1] == ("valid", 2)
    assert signal.getsignal(signal.SIGINT) is before
    again = train(plan(wishes(folder, 5, resume=True)), Silent(), seed=7, resume=True)
    other = RunFolder(folder.root.with_name("other"))
    straight = train(plan(wishes(other, 5)), Silent(), seed=1)
    assert again.history == straight.history
    assert same(weights(folder.last), weights(other.last))


def test_a_second_interruption_stops_at_once_and_keeps_the_last_whole_epoch(run, folder):
    def at(running: Running) -> None:
        if running.phase == "train" and running.epoch == 2 and running.done in (1, 2):
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        train(plan(wishes(folder, 5)), Silent(at), seed=1)
    assert torch.load(folder.last, weights_only=True)["epoch"] == 1


def test_the_command_line_says_how_to_go_on(toy, folder):
    def stop_after_an_epoch() -> None:
        while not folder.last.exists():
            time.sleep(0.01)
        interrupt()

    thread = threading.Thread(target=stop_after_an_epoch)
    thread.start()
    result = toy(epochs=2000)
    thread.join()
    assert (result.status, result.err) == (1, "")
    assert "Ctrl-C once more" in result.out
    assert f"autograder train translate --resume --out {folder.root}" in result.out


def test_another_training_is_not_written_over(toy, folder):
    toy()
    before = folder.last.read_bytes()
    told = complaint(toy())
    assert "--resume" in told and "--out" in told
    assert folder.last.read_bytes() == before


def test_going_on_with_other_sizes_is_refused(toy, folder, multi30k_like):
    toy()
    before = folder.last.read_bytes()
    told = complaint(toy("--resume", "--preset", "tiny", "--data-dir", multi30k_like))
    assert "N = 2" in told and "3" in told
    assert "vocabulary" in complaint(toy("--resume", "--data-dir", multi30k_like))
    assert folder.last.read_bytes() == before


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Inside, no file of this process gets larger, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("origin", CODE)
def test_a_full_disk_leaves_the_last_good_checkpoint(toy, folder, origin):
    toy(origin=origin)
    before = {path.name: path.read_bytes() for path in folder.root.glob("*.pt")}
    with files_up_to(100_000):
        told = complaint(toy("--resume", origin=origin, epochs=2))
    assert "could not be saved: File too large" in told and "--resume" in told
    after = {path.name: path.read_bytes() for path in folder.root.iterdir() if "pt" in path.name}
    assert after == before
    assert toy("--resume", origin=origin, epochs=2).status == 0


def test_a_device_that_is_not_there_is_told_with_those_that_are(toy):
    for name in ("cuda:77", "nonsense", "meta"):
        told = complaint(toy("--device", name))
        assert name in told and "cpu" in told


def test_too_small_batches_are_told(toy):
    assert "--max-tokens" in complaint(toy("--max-tokens", 5))


def test_no_data_names_the_command_that_gets_it(run, tmp_path):
    told = complaint(run("train", "translate", "--from", "reference", "--out", tmp_path / "run"))
    assert "autograder data multi30k" in told and "--data-dir" in told and "MULTI30K_DIR" in told


@pytest.fixture
def multi30k_like(tmp_path: Path) -> Path:
    """A folder laid out as Multi30k's, with a few pairs of another kind."""
    folder = tmp_path / "data"
    folder.mkdir()
    for split in ("train", "val", "test_2016_flickr"):
        (folder / f"{split}.de").write_text("ja nein ja\nnein ja\n" * 3, encoding="utf-8")
        (folder / f"{split}.en").write_text("yes no yes\nno yes\n" * 3, encoding="utf-8")
    return folder


def test_a_folder_of_ones_own_is_trained_on(toy, folder, multi30k_like):
    result = toy("--data-dir", multi30k_like)
    assert result.status == 0 and "6 sentence pairs, 6 German and 6 English" in result.out


def test_sides_of_different_length_are_told_at_the_command_line(toy, multi30k_like):
    with (multi30k_like / "val.en").open("a", encoding="utf-8") as file:
        file.write("one more\n")
    assert "line 6" in complaint(toy("--data-dir", multi30k_like))


# ---------------------------------------------------------------- checkpoints


class Foreign:
    """Executes something when it is unpickled by a reader that allows it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def spoil(path: Path, way: str, marker: Path) -> None:
    data = path.read_bytes()
    if way == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif way == "empty":
        path.write_bytes(b"")
    elif way == "noise":
        path.write_bytes(b"no checkpoint" * 100)
    elif way == "pickle":
        path.write_bytes(pickle.dumps(Foreign(marker)))
    elif way == "torch":
        torch.save({"model": Foreign(marker), "epoch": 1}, path)
    elif way == "other":
        torch.save([1, 2, 3], path)
    elif way == "shape":
        state = torch.load(path, weights_only=True)
        name = next(iter(state["model"]))
        state["model"][name] = torch.zeros(2, 3)
        torch.save(state, path)


@pytest.mark.parametrize("way", ["cut", "empty", "noise", "pickle", "torch", "other", "shape"])
def test_a_checkpoint_that_is_none_is_told_and_nothing_in_it_runs(run, toy, folder, tmp_path, way):
    toy()
    marker = tmp_path / "executed"
    for path in (folder.last, folder.best):
        spoil(path, way, marker)
    before = folder.last.read_bytes()
    assert "last.pt" in complaint(toy("--resume", epochs=2))
    assert "best.pt" in complaint(run("translate", "Ein Hund.", "--run", folder.root))
    assert not marker.exists()
    assert folder.last.read_bytes() == before


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": 2}', '{"schema": 1}'])
def test_a_card_that_is_none_is_told(run, toy, folder, text):
    toy()
    folder.card.write_text(text, encoding="utf-8")
    assert "run.json" in complaint(run("translate", "Ein Hund.", "--run", folder.root))
    assert "run.json" in complaint(toy("--resume"))


# ---------------------------------------------------------------- sentences


def test_sentences_that_cannot_be_translated_are_told(run, toy, folder):
    toy()
    for nothing in ("", " ", "\n"):
        told = complaint(run("translate", nothing, "--run", folder.root))
        assert "nothing to translate" in told
    told = complaint(run("translate", "ein " * 4999, "--run", folder.root))
    assert "4999" in told and "4998" in told


def test_unknown_words_are_translated_and_told(run, toy, folder, tmp_path):
    toy()
    picture = ("--maps", tmp_path / "maps.png")
    some = run("translate", "Ein Quastenflosser \x1b[2J.", "--run", folder.root, *picture)
    assert some.status == 0 and "Quastenflosser" in some.out and "Mann" not in some.out
    assert "\x1b" not in some.out
    all_of_it = run("translate", "Quastenflosser", "--run", folder.root, *picture)
    assert all_of_it.status == 0 and "made up" in all_of_it.out


def test_nothing_trained_names_the_command_that_trains(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "autograder train translate" in complaint(run("translate", "Ein Hund."))


@pytest.mark.slow
def test_a_long_sentence_is_drawn_too(run, toy, folder, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra [plots]")
    toy()
    picture = tmp_path / "maps.png"
    result = run(
        "translate", "ein Mann " * 40, "--run", folder.root, "--beam", 1, "--maps", picture
    )
    assert (result.status, result.err) == (0, "")
    assert picture.stat().st_size > 10_000


def test_a_picture_that_cannot_be_written_is_told(run, toy, folder, tmp_path):
    toy()
    command = ("translate", "Ein Hund.", "--run", folder.root, "--maps")
    assert ".docx" in run(*command, tmp_path / "maps.docx").err
    assert run(*command, folder.card / "maps.png").status == 2


def test_trouble_is_what_stops_a_plan(run, folder):
    with pytest.raises(Trouble) as told:
        plan(Wishes(folder, preset="huge"))
    assert told.value.key == "no_preset" and "tiny" in told.value.facts["presets"]
