"""Stubs: what a learner gets is the model answer without the marked regions."""

import ast
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.stubs import BEGIN, END, is_filled, regenerate, stale, stub_of

ROOT = Path(__file__).parents[2]
ANSWERS = sorted((ROOT / "solutions").glob("step*/*.py"))

ANSWER = '''\
"""A step."""

import math


class Layer:
    """A layer."""

    def __init__(self, size: int) -> None:
        """Make it."""
        super().__init__()
        ### BEGIN SOLUTION
        self.size = size
        ### END SOLUTION

    def forward(self, x: float) -> float:
        """Use it."""
        ### BEGIN SOLUTION
        y = math.sqrt(x)
        return y
        ### END SOLUTION
'''

STUB = '''\
"""A step."""

import math


class Layer:
    """A layer."""

    def __init__(self, size: int) -> None:
        """Make it."""
        super().__init__()
        raise NotImplementedError("step 07: Layer.__init__ is not implemented yet")

    def forward(self, x: float) -> float:
        """Use it."""
        raise NotImplementedError("step 07: Layer.forward is not implemented yet")
'''


def outline(source: str) -> list[str]:
    """What a stub must keep: imports, and each definition's head and docstring."""
    seen = []
    queue: list[ast.AST] = [ast.parse(source)]
    while queue:
        node = queue.pop(0)
        # What stands in a function's body, small functions of its own too, is the answer.
        if not isinstance(node, ast.FunctionDef):
            queue.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            seen.append(ast.unparse(node))
        elif isinstance(node, ast.FunctionDef):
            head = f"{node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"
            seen.append(f"{head}: {ast.get_docstring(node)}")
        elif isinstance(node, ast.ClassDef):
            bases = ", ".join(map(ast.unparse, node.bases))
            seen.append(f"{node.name}({bases}): {ast.get_docstring(node)}")
    return seen


def solution_lines(source: str) -> set[str]:
    """The lines of code between the marks that say something, unlike a closing bracket."""
    inside, lines = False, set()
    for line in map(str.strip, source.splitlines()):
        if line == BEGIN:
            inside = True
        elif line == END:
            inside = False
        elif inside and any(map(str.isalnum, line)):
            lines.add(line)
    return lines


def test_each_region_becomes_an_error_that_names_step_and_function():
    assert stub_of(ANSWER, 7) == STUB


def test_a_stub_is_its_own_stub():
    assert stub_of(STUB, 7) == STUB


def test_nested_functions_are_named_in_full():
    source = textwrap.dedent(
        """\
        def outer():
            def inner():
                ### BEGIN SOLUTION
                return 1
                ### END SOLUTION
            return inner
        """
    )
    assert 'NotImplementedError("step 03: outer.inner is not implemented yet")' in stub_of(
        source, 3
    )


def test_a_definition_inside_a_region_goes_with_it():
    source = textwrap.dedent(
        """\
        def outer():
            ### BEGIN SOLUTION
            def inner():
                return 1
            return inner
            ### END SOLUTION
        """
    )
    assert stub_of(source, 3).splitlines() == [
        "def outer():",
        '    raise NotImplementedError("step 03: outer is not implemented yet")',
    ]


@pytest.mark.parametrize(
    ("line", "source"),
    [
        pytest.param(2, "def f():\n    ### BEGIN SOLUTION\n    return 1\n", id="never ends"),
        pytest.param(3, "def f():\n    return 1\n    ### END SOLUTION\n", id="never began"),
        pytest.param(
            3,
            "def f():\n    ### BEGIN SOLUTION\n    ### BEGIN SOLUTION\n    return 1\n"
            "    ### END SOLUTION\n    ### END SOLUTION\n",
            id="begins twice",
        ),
        pytest.param(1, "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n", id="module level"),
        pytest.param(
            1, "### BEGIN SOLUTION\ndef f():\n    return 1\n### END SOLUTION\n", id="whole function"
        ),
        pytest.param(
            2,
            "class A:\n    ### BEGIN SOLUTION\n    size = 1\n    ### END SOLUTION\n",
            id="class level",
        ),
        pytest.param(
            2,
            "class A:\n    ### BEGIN SOLUTION\n    def f(self):\n        return 1\n"
            "    ### END SOLUTION\n",
            id="whole method",
        ),
        pytest.param(
            3, "def f():\n    pass\n    ### BEGIN SOLUTION\n    ### END SOLUTION\n", id="empty"
        ),
        pytest.param(
            6,
            "def f():\n    ### BEGIN SOLUTION\n    return 1\n\ndef g():\n"
            "    ### END SOLUTION\n    return 2\n",
            id="two functions",
        ),
        pytest.param(
            3,
            "def f(x):\n    y = (\n    ### BEGIN SOLUTION\n    x)\n    return y\n"
            "    ### END SOLUTION\n",
            id="half a statement",
        ),
    ],
)
def test_misplaced_marks_are_refused_with_their_line(line: int, source: str):
    with pytest.raises(ValueError, match=rf"^line {line}: "):
        stub_of(source, 1)


@given(
    names=st.lists(st.sampled_from("abcdefg"), min_size=1, unique=True),
    lines=st.integers(1, 4),
    number=st.integers(1, 18),
)
def test_however_many_regions_there_are_each_gives_one_error(
    names: list[str], lines: int, number: int
):
    body = "\n".join(f"    secret_{i} = {i}" for i in range(lines))
    source = "\n\n".join(f"def {name}():\n    {BEGIN}\n{body}\n    {END}" for name in names) + "\n"
    stub = stub_of(source, number)
    assert "secret" not in stub
    for name in names:
        assert stub.count(f'"step {number:02d}: {name} is not implemented yet"') == 1


def test_there_are_model_answers():
    assert len(ANSWERS) >= 4


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda path: path.stem)
def test_a_stub_keeps_all_that_is_told_and_nothing_that_is_asked(answer: Path):
    source = answer.read_text(encoding="utf-8")
    stub = stub_of(source, int(answer.parent.name.removeprefix("step")))
    assert outline(stub) == outline(source)
    assert BEGIN not in stub
    assert END not in stub
    leaked = solution_lines(source) & set(map(str.strip, stub.splitlines()))
    assert leaked == set()


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda path: path.stem)
def test_what_a_learner_reads_does_not_speak_of_solutions(answer: Path):
    stub = stub_of(answer.read_text(encoding="utf-8"), 1)
    assert "solution" not in stub.lower()


def test_nothing_generated_is_stale():
    assert stale(ROOT) == []


def test_regenerate_writes_what_is_stale_and_nothing_else(tmp_path: Path):
    folder = tmp_path / "solutions" / "step07"
    folder.mkdir(parents=True)
    (folder / "layer.py").write_text(ANSWER, encoding="utf-8")
    stub = tmp_path / "exercises" / "step07" / "layer.py"

    assert stale(tmp_path) == [stub]
    assert regenerate(tmp_path) == [stub]
    assert stub.read_text(encoding="utf-8") == STUB
    assert stale(tmp_path) == []
    assert regenerate(tmp_path) == []

    stub.write_text(STUB + "\n", encoding="utf-8")
    assert regenerate(tmp_path) == [stub]
    assert stub.read_text(encoding="utf-8") == STUB


def test_the_file_of_a_misplaced_mark_is_named(tmp_path: Path):
    folder = tmp_path / "solutions" / "step07"
    folder.mkdir(parents=True)
    (folder / "layer.py").write_text(f"{BEGIN}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"layer\.py: line 1: "):
        stale(tmp_path)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda path: path.stem)
def test_an_answer_is_a_filled_stub(answer: Path):
    source = answer.read_text(encoding="utf-8")
    stub = stub_of(source, int(answer.parent.name.removeprefix("step")))
    assert is_filled(source, stub)
    assert not is_filled(stub, stub)


REFUSALS = [line for line in STUB.splitlines(keepends=True) if "NotImplementedError" in line]


@given(st.lists(st.booleans(), min_size=len(REFUSALS), max_size=len(REFUSALS)))
def test_a_stub_is_filled_when_one_body_is(written: list[bool]):
    text = STUB
    for refusal, done in zip(REFUSALS, written, strict=True):
        text = text.replace(refusal, "        self.own = 1  # mine\n") if done else text
    assert is_filled(text, STUB) == any(written)


FILLED = ANSWER.replace("self.size = size", "self.mine = 2 * size")


@pytest.mark.parametrize(
    ("find", "replace"),
    [
        ("import math\n", "import math\nimport torch\n\nLIMIT = 3\n"),
        ("class Layer", "def helper():\n    return 1\n\n\nclass Layer"),
        (
            "        return y\n",
            "        return self.more(y)\n\n    def more(self, y):\n        ...\n",
        ),
    ],
)
def test_what_a_learner_adds_does_not_matter(find: str, replace: str):
    assert find in FILLED
    assert is_filled(FILLED.replace(find, replace), STUB)


@pytest.mark.parametrize(
    ("find", "replace"),
    [
        ("import math\n", ""),
        ("size: int", "size: float"),
        ("def forward", "def call"),
        ('"""Use it."""', '"""Use it well."""'),
        ('"""A layer."""', ""),
        ('"""A step."""', '"""Another step."""'),
        ("class Layer:", "class Layer(dict):"),
        ("class Layer:", "class Layer"),
    ],
)
def test_work_is_work_whatever_was_changed_around_it(find: str, replace: str):
    assert find in FILLED
    assert is_filled(FILLED.replace(find, replace), STUB)


@pytest.mark.parametrize(
    ("find", "replace"),
    [("size: int", "size: float"), ('"""Use it."""', '"""Use it well."""'), ("import math\n", "")],
)
def test_a_stub_of_before_is_no_work(find: str, replace: str):
    assert find in STUB
    assert not is_filled(STUB.replace(find, replace), STUB)


def test_a_filled_stub_is_not_written_over(tmp_path: Path):
    answer = tmp_path / "solutions" / "step07" / "layer.py"
    stub = tmp_path / "exercises" / "step07" / "layer.py"
    for path, text in ((answer, ANSWER), (stub, FILLED)):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    assert stale(tmp_path) == []
    assert regenerate(tmp_path) == []
    assert stub.read_text(encoding="utf-8") == FILLED
