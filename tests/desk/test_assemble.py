"""One file made of several: every definition still means what it meant in its own file."""

import ast
from textwrap import dedent
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.desk.assemble import Part, assemble

EXPORTS = ("one", "two", "three", "four")


def parts(*texts: str) -> list[Part]:
    """Files of steps that ask for `one`, `two` and so on."""
    title = {"en": "Title", "ko": "제목"}
    return [
        Part(Step(i, f"slug{i}", title, (export,), (), ()), t, "f")
        for i, (export, t) in enumerate(zip(EXPORTS, map(dedent, texts), strict=False), start=1)
    ]


def run(text: str) -> SimpleNamespace:
    namespace: dict[str, object] = {"__name__": "transformer"}
    exec(compile(text, "transformer.py", "exec"), namespace)
    return SimpleNamespace(**namespace)


def together(*texts: str) -> SimpleNamespace:
    return run(assemble(parts(*texts)))


ONE = "def one(): return 1\n"


@pytest.mark.parametrize(
    "second",
    [
        pytest.param("from transformer_ref import one\ndef two(): return one() + 1", id="plain"),
        pytest.param("from transformer_ref.slug1 import one\ndef two(): return one() + 1", id="of"),
        pytest.param(
            "from transformer_ref import one as first\ndef two(): return first() + 1", id="alias"
        ),
        pytest.param("from transformer_ref import *\ndef two(): return one() + 1", id="star"),
        pytest.param(
            "def two():\n    from transformer_ref import one\n    return one() + 1", id="inside"
        ),
        pytest.param(
            "def two():\n    from transformer_ref import one as first; return first() + 1",
            id="inside and alias",
        ),
        pytest.param(
            "import math; from transformer_ref import (\n    one,\n)\n"
            "def two(): return math.floor(one() + 1.5)",
            id="many lines and a neighbour",
        ),
    ],
)
def test_given_pieces_are_the_ones_defined_before(second: str):
    text = assemble(parts(ONE, second))
    assert "transformer_ref" not in text
    assert run(text).two() == 2


@pytest.mark.parametrize(
    "second",
    [
        "import transformer_ref",
        "from transformer_ref import slug1",
        "try:\n    from transformer_ref import one\nexcept ImportError:\n    one = None\n",
    ],
)
def test_given_pieces_that_are_not_imported_by_name_are_refused(second: str):
    with pytest.raises(Trouble) as told:
        assemble(parts(ONE, f"x = 1\n{second}\n"))
    assert (told.value.key, told.value.facts["line"]) == ("assemble_import", 2)


def test_helpers_of_one_name_keep_their_meanings():
    whole = together(
        "def helper(): return 'first'\nWIDTH = 1\ndef one(): return helper(), WIDTH\n",
        "WIDTH = 2\nclass helper:\n    def __str__(self): return 'second'\n"
        "def two(): return str(helper()), WIDTH\n",
        "from transformer_ref import one, two\nWIDTH = 3\n"
        "def three(): return one(), two(), WIDTH\n",
    )
    assert whole.three() == (("first", 1), ("second", 2), 3)


def test_what_is_the_same_stands_there_once():
    helper = "import math\n\ndef helper(x):\n    return math.floor(x)\n\nLIMIT = 3\n"
    text = assemble(
        parts(
            helper + "def one(): return helper(1.5)\n",
            helper + "def two(): return helper(2.5) + LIMIT\n",
        )
    )
    assert text.count("def helper") == text.count("LIMIT = 3") == text.count("import math") == 1
    assert run(text).two() == 5


def test_files_that_hold_all_that_came_before_are_merged():
    first = "def helper(): return 1\n\ndef one(): return helper()\n"
    second = f"{first}\ndef two(): return one() + helper()\n"
    third = f"{second}\ndef three(): return two() + one()\n"
    text = assemble(parts(first, second, third))
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert names == ["helper", "one", "two", "three"]
    assert run(text).three() == 3


def test_the_same_text_means_something_else_when_what_it_uses_does():
    text = "def helper(): return inner()\ndef {name}(): return helper()\n"
    whole = together(
        "def inner(): return 'first'\n" + text.format(name="one"),
        "def inner(): return 'second'\n" + text.format(name="two"),
    )
    assert (whole.one(), whole.two()) == ("first", "second")


def test_imports_of_one_name_keep_their_meanings():
    text = assemble(
        parts(
            "import math as m\nfrom math import floor as f\ndef one(): return m.sqrt(4), f(1.5)\n",
            "import cmath as m\nfrom math import ceil as f\ndef two(): return m.sqrt(-4), f(1.5)\n",
        )
    )
    assert run(text).one() == (2, 1)
    assert run(text).two() == (2j, 2)


def test_imports_are_merged_and_come_first():
    text = assemble(
        parts(
            "from __future__ import annotations\nfrom os import path\nimport sys\n" + ONE,
            "from os import sep, path\nimport sys, json\ndef two(): return sep\n",
        )
    )
    head = text.split("# ----")[0]
    assert head.split("\n\n")[1:3] == [
        "from __future__ import annotations",
        "import json\nimport sys\nfrom os import path, sep",
    ]
    assert text.count("import ") == 4


def test_a_helper_with_a_builtin_name_is_nobody_elses():
    whole = together(
        "def max(*x): return 'mine'\ndef one(): return max(1, 2)\n",
        "def two(): return max(1, 2)\n",
    )
    assert (whole.one(), whole.two()) == ("mine", 2)


def test_a_helper_with_the_name_of_a_later_piece_makes_room_for_it():
    whole = together(
        "def two(): return 'helper'\ndef one(): return two()\n",
        "def two(): return 'piece'\n",
    )
    assert (whole.one(), whole.two()) == ("helper", "piece")


@pytest.mark.parametrize(
    "second",
    [
        pytest.param("x = 2\ndef two(x=x): return x\n", id="parameter"),
        pytest.param("x = 2\nclass two:\n    x = x\n", id="attribute"),
        pytest.param("x = 2\ndef two():\n    global x\n    x = 3\n", id="global"),
        pytest.param("import os.path\ndef two(): return os\n", id="package"),
    ],
)
def test_a_name_that_cannot_safely_be_changed_is_refused(second: str):
    with pytest.raises(Trouble) as told:
        assemble(parts("x = 1\nos = 1\n" + ONE, second))
    assert told.value.key == "assemble_clash"
    assert told.value.facts["name"] in ("x", "os")


def test_names_are_changed_wherever_they_stand_for_the_helper():
    whole = together(
        "def helper(): return 1\ndef one(): return helper()\n",
        """
        def helper(n): return "도우미", n
        def two():
            누구 = "é"; found = [helper(i) for i in range(2)]
            words = f"{누구} helper {helper(3)[1]:>3} {'helper'}"
            def inner(): return helper(4)
            return found, words, inner(), (lambda: helper(5))()
        """,
    )
    found, words, inner, last = whole.two()
    assert found == [("도우미", 0), ("도우미", 1)]
    assert words == "é helper   3 helper"
    assert (inner, last) == (("도우미", 4), ("도우미", 5))


def test_comments_and_strings_stay_and_what_only_runs_goes():
    text = assemble(
        parts(
            '''
            #!/usr/bin/env python
            """The docstring of the file."""
            # About the import.
            import math  # used below

            # About the constant.
            WIDTH = 3  # wide


            # About one.
            @staticmethod
            def one():
                """Keep



                these lines."""
                return WIDTH  # back


            print(one())
            __all__ = ["one"]
            if __name__ == "__main__":
                print(one())
            '''
        )
    )
    body = text.partition("-\n\n\n")[2]
    assert body == dedent(
        '''\
        # About the constant.
        WIDTH = 3  # wide


        # About one.
        @staticmethod
        def one():
            """Keep



            these lines."""
            return WIDTH  # back
        '''
    )


def test_what_is_no_python_is_told_with_its_line():
    with pytest.raises(Trouble) as told:
        assemble(parts(ONE, "x = 1\ndef two(:\n"))
    assert told.value.key == "assemble_syntax"
    assert told.value.facts == {"file": "f", "line": 2, "step": 2}


HELPERS = ("a", "b", "c")
helpers = st.dictionaries(
    st.sampled_from(HELPERS), st.tuples(st.integers(0, 2), st.sampled_from(("", *HELPERS)))
)


@given(st.lists(helpers, min_size=1, max_size=4))
def test_whatever_helpers_are_called_each_piece_computes_the_same(files: list[dict]):
    """Each file has helpers that give a number and may call a helper that stands above."""
    texts, apart = [], {}
    for export, own in zip(EXPORTS, files, strict=False):
        lines = []
        for i, (name, (number, other)) in enumerate(own.items()):
            called = f", {other}()" if other in list(own)[:i] else ""
            lines.append(f"def {name}(): return ({number}{called},)")
        calls = [f"{name}()" for name in (*own, *apart)]
        lines.append(f"def {export}(): return [{', '.join(calls)}]")
        texts.append("\n".join(lines) + "\n")
        apart[export] = getattr(run_with(apart, texts[-1]), export)
    whole = run(assemble(parts(*texts)))
    for export, piece in apart.items():
        assert getattr(whole, export)() == piece()


def run_with(given_pieces: dict, text: str) -> SimpleNamespace:
    """The file by itself, with the earlier files' pieces given."""
    namespace = dict(given_pieces)
    exec(text, namespace)
    return SimpleNamespace(**namespace)
