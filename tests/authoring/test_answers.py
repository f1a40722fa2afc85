"""An answer is seen in whatever file it is, and a stub is none, whatever else has become of it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.answers import has_answer, is_given
from autograder.authoring.docstrings import answer_in
from autograder.authoring.notebooks import notebook_of
from autograder.authoring.stubs import stub_of
from autograder.core.step import Step, all_steps, find_step

STEPS = all_steps()
STEP = find_step(4)


def notebook(*cells: str) -> bytes:
    kind = {"cell_type": "code", "metadata": {}}
    return json.dumps({"cells": [{**kind, "source": text} for text in cells]}).encode()


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.name)
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_stubs_are_given_and_answers_are_answers(step: Step, lang: str) -> None:
    answer = answer_in(step.solution, lang)
    stub = stub_of(answer, step.number).encode()
    assert is_given("x.py", stub, step) and not has_answer("x.py", stub, step)
    assert has_answer("x.py", answer.encode(), step)
    assert not is_given("x.py", answer.encode(), step)
    book = notebook_of(step, lang).encode()
    assert is_given("x.ipynb", book, step) and not has_answer("x.ipynb", book, step)
    solved = notebook_of(step, lang, solved=True).encode()
    assert has_answer("x.ipynb", solved, step) and not is_given("x.ipynb", solved, step)


def test_a_stub_among_other_cells_is_no_answer() -> None:
    stub = stub_of(STEP.solution.read_text(encoding="utf-8"), 4)
    book = notebook("%matplotlib inline\n" + stub, "!ls\nx = 1", "def helper(): return 1")
    assert not has_answer("x.ipynb", book, STEP) and not is_given("x.ipynb", book, STEP)
    assert has_answer("x.ipynb", notebook(stub, "class PositionwiseFeedForward: pass"), STEP)
    assert has_answer("x.py", b"PositionwiseFeedForward = make()", STEP)
    assert has_answer("x.py", b"class PositionwiseFeedForward(", STEP)  # being written


@given(st.binary(max_size=200))
def test_whatever_it_is_there_is_an_answer_to_the_question(data: bytes) -> None:
    for name in ("x.py", "x.ipynb"):
        assert has_answer(name, data, STEP) in (True, False)
        assert is_given(name, data, STEP) in (True, False)


@pytest.mark.parametrize(
    "more", ["(" * 100_000, "-" * 100_000 + "1", "x = 1\n" * 300_000, "\0", "%%time\n" * 100_000]
)
def test_what_is_made_to_take_long_takes_none(more: str) -> None:
    stub = stub_of(STEP.solution.read_text(encoding="utf-8"), 4)
    begun = time.process_time()
    has_answer("x.py", (stub + more).encode(), STEP)
    has_answer("x.ipynb", notebook(stub + more), STEP)
    assert time.process_time() - begun < 20  # not a measure: without a limit it is minutes
