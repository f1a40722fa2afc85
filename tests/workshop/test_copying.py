"""`autograder train copy`: it learns, says so in numbers, and tells when it does not."""

import re

import pytest
import torch

from autograder.workshop.code import load
from autograder.workshop.copying import copy

CPU = torch.device("cpu")


class Silent:
    def __init__(self) -> None:
        self.batches = 0

    def batch(self, running) -> None:
        self.batches += running.done > 0

    def ended(self, running) -> None:
        pass

    def stopping(self) -> None:
        pass


@pytest.mark.parametrize("origin", ["reference", "solutions"])
def test_it_begins_to_learn_the_same_way_each_time(origin):
    code, listener = load(origin, "copy_task"), Silent()
    losses = []
    few = {"epochs": 2, "batches": 5, "told": lambda so_far: losses.append(so_far.loss)}
    one = copy(code, listener, 3, CPU, **few)
    assert listener.batches == one.updates == 10
    assert losses[1] < losses[0]
    assert not one.learnt and one.right < one.unseen == 100
    assert copy(code, Silent(), 3, CPU, epochs=1, batches=5).loss == losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["reference", "solutions"])
def test_it_copies_unseen_sequences_without_a_mistake(run, origin):
    result = run("train", "copy", "--from", origin)
    assert (result.status, result.err) == (0, "")
    said = re.search(r"100 of 100 unseen .* after (\d+) updates in (\d+) s", result.out)
    assert said and int(said[1]) < 1200


def test_a_device_that_is_not_there_is_told(run):
    result = run("train", "copy", "--from", "reference", "--device", "cuda:77")
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert "cpu" in result.err
