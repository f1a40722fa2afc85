"""A text cut at its definitions: nothing is lost, and each piece holds one definition."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.pieces import Piece, pieces_of

ROOT = Path(__file__).parents[2]
ANSWERS = sorted((ROOT / "solutions").glob("step*/*.py"))

TEXT = '''\
"""A step."""

import math

LIMIT = 3


# About f.
@cached
def f():
    return math.pi  # the end


HALF = 0.5


@dataclass
class A:
    """A class."""

    def f(self):
        pass


# Behind it all.
'''


def test_what_stands_between_definitions_goes_with_the_one_that_follows():
    f = "# About f.\n@cached\ndef f():\n    return math.pi  # the end"
    a = 'HALF = 0.5\n\n\n@dataclass\nclass A:\n    """A class."""\n\n    def f(self):\n        pass'
    assert pieces_of(TEXT) == [
        Piece("", "import math\n\nLIMIT = 3"),
        Piece("f", f),
        Piece("A", a + "\n\n\n# Behind it all."),
    ]


@pytest.mark.parametrize("text", ["", "\n", '"""Only this."""\n'])
def test_where_there_is_nothing_there_is_no_piece(text: str):
    assert pieces_of(text) == []


def test_a_text_without_definitions_is_one_piece():
    assert pieces_of('"""A."""\nx = 1\n') == [Piece("", "x = 1")]


BLOCKS = {
    "import": "import math\n",
    "constant": "x = {i}\n",
    "marked": "def name_{i}():\n    ### BEGIN\n    return 1\n\n    ### END\n",
    "comment": "# a note\n",
    "function": "def name_{i}():\n    return 1\n",
    "decorated": "@property\n# why\n@staticmethod\nasync def name_{i}(self):\n    return 1\n",
    "class": "class name_{i}:\n    def f(self):\n        pass\n",
}


@given(st.lists(st.sampled_from(sorted(BLOCKS)), max_size=8), st.booleans(), st.booleans())
def test_the_pieces_together_are_the_text(blocks: list[str], told: bool, apart: bool):
    code = ("\n\n" if apart else "").join(BLOCKS[b].format(i=i) for i, b in enumerate(blocks))
    text = ('"""A step."""\n' if told else "") + code
    pieces = pieces_of(text)
    lines = [line for piece in pieces for line in piece.text.splitlines() if line.strip()]
    assert lines == [line for line in code.splitlines() if line.strip()]
    for piece in pieces:
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        defined = [node.name for node in ast.parse(piece.text).body if isinstance(node, kinds)]
        assert defined == ([piece.name] if piece.name else [])
        assert piece.text.count("### BEGIN") == piece.text.count("### END")


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda path: path.stem)
def test_a_model_answer_is_cut_into_imports_and_definitions(answer: Path):
    imports, *pieces = pieces_of(answer.read_text(encoding="utf-8"))
    assert imports.name == ""
    assert pieces
    assert all(piece.name for piece in pieces)
