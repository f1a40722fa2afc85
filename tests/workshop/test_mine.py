"""The learner's own code in training: put together, watched, and told where it stops."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.core.step import all_steps, find_step

LAST = all_steps()[-1].number


@pytest.fixture
def mine(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes the model answers, one of them changed, into a folder that becomes the current one."""
    folder = tmp_path / "course"

    def write(step: int = 0, old: str = "", new: str = "") -> Path:
        for one in all_steps():
            text = one.solution.read_text(encoding="utf-8")
            if one.number == step:
                assert text.count(old) == 1
                text = text.replace(old, new)
            path = folder / "exercises" / one.name / f"{one.slug}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        monkeypatch.chdir(folder)
        return folder

    return write


def complaint(result) -> str:
    assert (result.status, result.err.count("\n")) == (2, 1), result.err
    return result.err


def test_a_step_that_is_missing_or_unfinished_is_named_with_the_next_command(run, mine):
    folder = mine()
    (folder / "exercises/step12/schedule.py").unlink()
    assert "autograder reset 12" in complaint(run("train", "copy"))
    mine()
    stub = find_step(13).stub.read_text(encoding="utf-8")
    (folder / "exercises/step13/smoothing.py").write_text(stub, encoding="utf-8")
    assert "autograder check 13" in complaint(run("train", "copy"))


@pytest.mark.parametrize(
    ("step", "old", "new", "words"),
    [
        (4, "return self.w_2(hidden)", "return self.w_3(hidden)", "'w_3'"),
        (12, "def rate(", "raise RuntimeError('at loading')\n\n\ndef rate(", "at loading"),
        (14, "loss = total / norm", "loss = total / norm[0, 0]", "norm[0, 0]"),
    ],
)
def test_an_error_of_the_code_is_told_with_its_step(run, mine, step, old, new, words):
    mine(step, old, new)
    told = complaint(run("train", "copy"))
    assert f"step {step} " in told and words in told and f"autograder check {step}" in told


def test_a_name_that_is_missing_is_told_with_its_step(run, mine):
    mine(14, "def data_gen(", "def data_generator(")
    assert "data_gen" in (told := complaint(run("train", "copy"))) and "check 14" in told


def test_a_loss_that_is_no_number_stops_it(run, mine):
    mine(14, "total = self.criterion(flat, target)", "total = self.criterion(flat, target) * 1e39")
    told = complaint(run("train", "copy"))
    assert "epoch 1, batch 1" in told and "warm-up" in told


def test_what_learners_print_or_raise_does_not_act_on_the_terminal(run, mine):
    mine(14, "loss = total / norm", "raise ValueError('\\x1b[2J[red]')")
    told = complaint(run("train", "copy"))
    assert "\x1b" not in told and "[red]" in told


def test_a_vocabulary_without_specials_is_told(run, mine, tmp_path):
    pytest.importorskip("spacy", reason="needs the extra [translate]")
    mine(15, "return Vocabulary([*specials, *words])", "return Vocabulary([specials[-1], *words])")
    toy = ("train", "translate", "--preset", "toy", "--out", tmp_path / "run")
    told = complaint(run(*toy))
    assert "<s>" in told and "check 15" in told


def test_the_learners_own_translator(run, mine, tmp_path):
    pytest.importorskip("sacrebleu", reason="needs the extra [translate]")
    mine()
    trained = run("train", "translate", "--preset", "toy", "--epochs", "1")
    assert (trained.status, trained.err) == (0, "")
    translated = run("translate", "Ein Mann fährt Fahrrad.", "--beam", "2")
    assert (translated.status, translated.err) == (0, "")
    # Whose code it was is remembered; another's reads the same checkpoint.
    other = run("translate", "Ein Mann fährt Fahrrad.", "--from", "reference")
    assert other.status == 0
