"""Given pieces from the learner's own files, in the place of the reference's."""

from __future__ import annotations

import pytest

import transformer_ref.scaled_dot_product
from autograder.core.grading import grade
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict

ATTENTION = find_step(1).solution.read_text(encoding="utf-8")
REFERENCE = transformer_ref.scaled_dot_product.__file__
HEADS = find_step(3).solution.read_text(encoding="utf-8")


def graded(number: int, own: dict[str, str], in_process: bool = False) -> Verdict:
    step = find_step(number)
    sources = {slug: Source(text, f"{slug}.py") for slug, text in own.items()}
    return grade(step, Source.read(step.solution), own=sources, in_process=in_process)


@pytest.mark.parametrize("in_process", [False, True], ids=["child", "in process"])
def test_they_are_the_ones_that_are_used(in_process: bool) -> None:
    said = f"{ATTENTION}\nprint('mine:', __name__)\n"
    unlike = ATTENTION.replace("scores / math.sqrt(d_k)", "scores / d_k")
    right = graded(3, {"scaled_dot_product": said}, in_process)
    assert right.passed
    if not in_process:
        assert "mine: transformer_ref.scaled_dot_product" in right.printed
    assert not graded(3, {"scaled_dot_product": unlike}, in_process).passed
    assert graded(3, {}, in_process).passed
    assert transformer_ref.scaled_dot_product.__file__ == REFERENCE


def test_a_piece_is_given_the_own_pieces_before_it() -> None:
    told = ATTENTION.replace("    output = p_attn", "    print('mine')\n    output = p_attn")
    spy = HEADS + "\nprint('attention of', attention.__code__.co_filename)\n"
    seen = graded(7, {"scaled_dot_product": told, "multi_head": spy})
    assert seen.passed
    assert "attention of scaled_dot_product.py" in seen.printed


@pytest.mark.parametrize("text", ["1 / 0\n", "def f(:\n", "x = 1\n"])
def test_an_own_piece_that_fails_is_told_and_no_fault_of_the_kit(text: str) -> None:
    for in_process in (False, True):
        verdict = graded(3, {"scaled_dot_product": text}, in_process)
        assert not verdict.passed
        assert verdict.checks[0].state == "error"
        assert verdict.checks[0].findings[0].text.startswith("load.")
