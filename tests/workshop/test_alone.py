"""One file made of all steps trains and translates where nothing else of the course is."""

import subprocess
import sys
from pathlib import Path

import pytest

from autograder.core.step import all_steps

PROGRAM = """\
import sys
from dataclasses import dataclass

import torch

import transformer as t


@dataclass
class Token:
    text: str


class Spaces:
    def __call__(self, text):
        return [Token(word) for word in text.split()]

    @property
    def tokenizer(self):
        return self


def cut(text):
    return t.tokenize(text, Spaces())


pairs = [("ein Hund", "a dog"), ("eine Katze schläft", "a cat sleeps"), ("ein Kind", "a child")]
source, target = (t.build_vocabulary(map(cut, side), 1) for side in zip(*pairs))
pad = source["<blank>"]


class Batches:
    def __iter__(self):
        for indices in t.batches_by_length([len(cut(one)) + 2 for one, _ in pairs], 10):
            chosen = [pairs[i] for i in indices]
            yield t.Batch(*t.collate_batch(chosen, cut, cut, source, target), pad)


torch.manual_seed(0)
model = t.make_model(len(source), len(target), N=1, d_model=16, d_ff=32, h=2, dropout=0.0)
loss = t.SimpleLossCompute(model.generator, t.LabelSmoothing(len(target), pad, 0.0))
optimizer, scheduler = t.make_optimizer(model, 16, 1.0, 20)
settings = (model, Batches(), Batches(), loss, optimizer, scheduler)
t.train_model(*settings, epochs=30, folder="run")
history = t.train_model(*settings, epochs=60, folder="run", resume=True)
assert len(history) == 60 and history[-1]["train_loss"] < 0.1, history[-1]
model.load_state_dict(t.load_checkpoint("run/best.pt")["model"])
for german, english in pairs:
    for beam in (1, 3):
        found = t.translate(model, german, cut, source, target, beam=beam)
        assert found == english, (german, beam, found)
assert not {"transformer_ref", "autograder"} & set(sys.modules)
print("done")
"""


@pytest.mark.parametrize("origin", ["solutions", "reference"])
def test_a_file_of_all_steps_trains_and_translates_alone(run, tmp_path: Path, origin: str):
    out = tmp_path / "transformer.py"
    last = all_steps()[-1].number
    made = run("assemble", "--upto", last, "--from", origin, "--out", out)
    assert (made.status, made.err) == (0, "")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
