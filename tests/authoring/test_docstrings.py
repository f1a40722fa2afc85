"""Docstrings put in the place of others: nothing else of a text changes."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.docstrings import MODULE, answer_in, docstrings_of, translated
from autograder.authoring.stubs import stub_of
from autograder.core.step import Step, all_steps

STEPS = all_steps()
TEXTS = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=' \n"\\')).filter(
    lambda text: '"""' not in text
)


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.name)
def test_a_texts_own_docstrings_change_nothing(step: Step) -> None:
    source = step.solution.read_text(encoding="utf-8")
    assert translated(source, docstrings_of(source)) == source
    assert translated(source, {}) == source == answer_in(step.solution, "en")


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.name)
def test_in_korean_the_code_is_the_same(step: Step) -> None:
    korean = answer_in(step.solution, "ko")
    source = step.solution.read_text(encoding="utf-8")
    assert without_docstrings(korean) == without_docstrings(source)
    assert docstrings_of(korean).keys() == docstrings_of(source).keys()
    for name, text in docstrings_of(korean).items():
        assert text != docstrings_of(source)[name], name
    assert "NotImplementedError" in stub_of(korean, step.number)
    assert max(map(len, korean.splitlines())) <= 100


@given(st.lists(TEXTS, min_size=4, max_size=4))
def test_whatever_is_put_there_is_read_again(texts: list[str]) -> None:
    source = '''"""Module."""


def one(x):
    """One."""
    return x  # """no docstring"""


class Two:
    """Two,

    in two lines.
    """

    async def three(self):
        """Three."""


def none():
    return "no docstring"
'''
    words = dict(zip((MODULE, "one", "Two", "Two.three"), ["ㄱ" + t for t in texts], strict=True))
    done = translated(source, words)
    assert without_docstrings(done) == without_docstrings(source)
    for name, text in docstrings_of(done).items():
        assert text.split() == words[name].split()
    assert docstrings_of(translated(done, docstrings_of(source))) == docstrings_of(source)


def without_docstrings(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body[0 : ast.get_docstring(node) is not None] = []
    return ast.dump(tree)
