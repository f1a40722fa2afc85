"""Notebooks: cell by cell as Jupyter runs them, magics left out, failures told by cell and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.cells import Cell, NoNotebook, cell_of, code_cells, filename, plain
from autograder.core.grading import grade
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict
from autograder.front.show import message

Graded = Callable[..., Verdict]
STEP = find_step(4)
NAME = "work.ipynb"
RIGHT = STEP.solution.read_text(encoding="utf-8")


def cell(text: str | list[str], kind: str = "code", **metadata: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": text, "metadata": metadata, "outputs": []}


def book(*cells: str | dict[str, Any]) -> str:
    made = [cell(c) if isinstance(c, str) else c for c in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def messages(verdict: Verdict) -> list[tuple[str, Any, Any]]:
    findings = [f for c in verdict.checks for f in c.findings]
    return [(f.text, f.facts.get("cell"), f.facts.get("line")) for f in findings]


def test_a_right_notebook_has_full_marks_beside_all_that_fails(graded: Graded) -> None:
    text = book(
        cell("# The network", "markdown"),
        "%matplotlib inline\nimport torch\n!pip install nothing-of-the-kind",
        "1 / 0",
        "def broken(:",
        RIGHT,
        "",
        "raise SystemExit",
        "display(PositionwiseFeedForward(4, 8)(torch.zeros(1, 2, 4)))",
    )
    verdict = graded(text, NAME)
    assert verdict.points == 10
    assert "[2] ZeroDivisionError: division by zero" in verdict.printed
    assert "[3] SyntaxError" in verdict.printed
    assert "tensor" in verdict.printed


def test_cells_share_their_names_and_run_in_order(graded: Graded) -> None:
    lines = RIGHT.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("class "))
    assert graded(book("".join(lines[:at]), cell(lines[at:])), NAME).points == 10


def test_a_failure_is_told_with_its_cell_and_line(graded: Graded) -> None:
    inner = "import torch\n\nclass PositionwiseFeedForward(torch.nn.Module):\n    x = 1 / 0\n"
    verdict = graded(book("import torch", "", inner), NAME)
    assert set(messages(verdict)) == {("difference.raised", 2, 4)}
    called = RIGHT.replace("        super().__init__()", "        super().__init__(); 1 / 0")
    verdict = graded(book("import torch\n", "", called), NAME)
    line = next(i for i, text in enumerate(called.splitlines(), 1) if "1 / 0" in text)
    assert set(messages(verdict)) == {("difference.raised", 2, line)}
    facts = verdict.checks[0].findings[0].facts
    assert (facts["function"], facts["kind"]) == ("__init__", "ZeroDivisionError")


def test_a_syntax_error_is_told_with_its_cell_and_line(graded: Graded) -> None:
    verdict = graded(book("x = 1", "y = 1\nclass PositionwiseFeedForward(:\n"), NAME)
    assert set(messages(verdict)) == {("load.syntax", 2, 2)}
    assert verdict.points == 0 and {c.state for c in verdict.checks} == {"error"}


@pytest.mark.parametrize(
    ("text", "en", "ko"),
    [
        (
            "class PositionwiseFeedForward:\n    x = (1,\n",
            "work.ipynb, cell 2, line 2: Python cannot read this yet: '(' was never closed",
            "work.ipynb의 2번째 셀 2번째 줄: 파이썬이 읽을 수 없는 문장이에요. '(' was",
        ),
        (
            "class PositionwiseFeedForward:\nx = 1\n",
            "work.ipynb, cell 2, line 2: Python cannot read this yet: expected an indented block",
            "work.ipynb의 2번째 셀 2번째 줄: 파이썬이 읽을 수 없는 문장이에요. expected",
        ),
        (
            "1 / 0\nPositionwiseFeedForward = 3\n",
            "work.ipynb, cell 2, line 1: your code stopped here.",
            "work.ipynb의 2번째 셀 1번째 줄: 코드가 여기서 멈췄어요.",
        ),
        (
            RIGHT.replace("hidden.relu()", "compile('(', 'x', 'eval')"),
            "in forward: your code stopped here.",
            "forward: 코드가 여기서 멈췄어요.",
        ),
    ],
    ids=["syntax", "indentation", "at the top", "of its own"],
)
def test_what_stopped_a_cell_is_told_as_a_sentence(
    graded: Graded, text: str, en: str, ko: str
) -> None:
    verdict = graded(book("x = 1", text), NAME)
    check = next(c for c in verdict.checks if c.check == "output")
    for lang, words in (("en", en), ("ko", ko)):
        told = message(check, STEP, lang, f"/somewhere/{NAME}")
        assert words in told and ", in :" not in told and ", :" not in told
        assert len(told.splitlines()) > 1


def test_a_missing_name_is_missing_when_another_cell_failed(graded: Graded) -> None:
    verdict = graded(book("1 / 0", "PositionwiseFeedForward(1, 2)"), NAME)
    assert {text for text, _, _ in messages(verdict)} == {"unusable.missing"}


def test_cells_that_check_are_not_run(graded: Graded) -> None:
    tests = {"grade": True, "locked": True, "solution": False, "points": 3}
    spoiling = cell("PositionwiseFeedForward = None", nbgrader=tests)
    own = {"grade": True, "solution": True, "locked": False}
    assert graded(book(cell(RIGHT, nbgrader=own), spoiling), NAME).points == 10
    given = cell("import torch", nbgrader={"grade": False, "locked": True, "solution": False})
    rest = RIGHT.replace("import torch\n", "")
    assert graded(book(given, rest), NAME).points == 10


def test_the_kit_does_nothing_in_a_notebook(graded: Graded) -> None:
    asks = "import autograder, math\nfrom autograder.notebook import check as ask\n"
    asks += "import autograder.core.grading as g\nask(4).anything[1:2]\nraise SystemError"
    asks = asks.replace("[1:2]", "(1, a=2)")
    verdict = graded(book(asks, "from autograder import *\n" + RIGHT, "math.pi"), NAME)
    assert verdict.points == 10
    assert "[1] SystemError" in verdict.printed
    assert "[3]" not in verdict.printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"cells": 5}',
        '{"cells": [5]}',
        '{"cells": [{"cell_type": "code"}]}',
        '{"cells": [{"cell_type": "code", "source": [1]}]}',
        '{"cells": [{"cell_type": "code", "source": "x", "metadata": 7}]}',
        "[" * 100_000,
        '{"cells": [',
    ],
)
def test_what_is_no_notebook_is_told_so(graded: Graded, text: str) -> None:
    verdict = graded(text, NAME)
    assert verdict.checks[0].findings[0].text == "load.notebook"
    assert verdict.points == 0
    with pytest.raises(NoNotebook):
        list(code_cells(text))


def test_format_3_is_read() -> None:
    cells = [{"cell_type": "code", "input": ["a = 1\n", "b = 2"]}]
    text = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3})
    assert list(code_cells(text)) == [Cell(1, "a = 1\nb = 2")]


def test_cells_have_the_numbers_that_jupyter_gives_them() -> None:
    checks = {"grade": True, "solution": False}
    text = book("a", " \n", cell("b", "markdown"), cell("c", nbgrader=checks), "d")
    assert list(code_cells(text)) == [Cell(1, "a"), Cell(3, "d")]


MAGIC = {
    "%matplotlib inline\nx = 1": "pass\nx = 1",
    "x = 1\n!ls 'it\nif x:\n    !rm -rf /tmp/x (": "x = 1\npass\nif x:\n    pass",
    "?print\nprint??\nx.y?\nx": "pass\npass\npass\nx",
    "files = !ls\na, b = %sql select": "files = None\na, b = None",
    "%time x = f(1)\n%timeit f(1)": "x = f(1)\npass",
    "%%time\nx = 1": "\nx = 1",
    "\n%%capture out\nx = 1": "\n\nx = 1",
    "%%bash\nls": "",
    "%%writefile a.py\nx = 1": "",
    "!pip install \\\n  torch\nx = 1": "pass\n\nx = 1",
    "x = (7\n% 4)": "x = (7\n% 4)",
    'x = """\n%time y\n!ls\n"""': 'x = """\n%time y\n!ls\n"""',
    "x = 5 \\\n% 3": "x = 5 \\\n% 3",
    "def f(:\n%time": "def f(:\n%time",
    "": "",
}


@pytest.mark.parametrize("text", MAGIC)
def test_magics_become_nothing_and_lines_keep_their_numbers(text: str) -> None:
    assert plain(text) == MAGIC[text]


@given(st.lists(st.sampled_from(["%a", "!b (", "c?", "x = 1", "if x:", "  y = 2", "'''", ")"])))
def test_any_cell_comes_to_an_end(lines: list[str]) -> None:
    assert len(plain("\n".join(lines)).splitlines()) <= len(lines)


@pytest.mark.parametrize(
    ("code", "cell"),
    [
        (filename(NAME, 3), 3),
        (NAME, None),
        ("other.ipynb#3", None),
        (f"{NAME}#{'9' * 5000}", None),
        (f"{NAME}#x", None),
        (f"{NAME}#", None),
    ],
)
def test_a_cell_is_known_by_what_it_is_compiled_under(code: str, cell: int | None) -> None:
    assert cell_of(code, NAME) == cell


def test_in_this_process_too() -> None:
    verdict = grade(STEP, Source(book("1 / 0", RIGHT), NAME), in_process=True)
    assert verdict.points == 10


def test_main_guards_run_as_in_jupyter(graded: Graded) -> None:
    verdict = graded(book(RIGHT, "if __name__ == '__main__':\n    print('here')"), NAME)
    assert "here" in verdict.printed


def test_what_is_imported_from_the_future_holds_for_later_cells(graded: Graded) -> None:
    later = "from __future__ import annotations"
    unknown = RIGHT.replace(
        "def forward(self, ", "def unused(self, x: Unknown): ...\n\n    def forward(self, "
    )
    assert graded(book(later, unknown), NAME).points == 10
    assert graded(book(unknown, later), NAME).points == 0


def test_a_cell_may_await(graded: Graded) -> None:
    waits = "\nimport asyncio\nawait asyncio.sleep(0)\nprint('went on')"
    loops = (
        "async def two():\n    yield 1\n    yield 2\nasync for i in two():\n    print('loop', i)"
    )
    verdict = graded(book(RIGHT + waits, loops, "await 3", "await asyncio.sleep(9)"), NAME)
    assert verdict.points == 10
    assert "went on" in verdict.printed and "loop 1" in verdict.printed
    assert "[3] TypeError" in verdict.printed and "[4] RuntimeError" in verdict.printed
