"""check and watch in real kernels: cells run as Jupyter runs them, and what they put out."""

from collections.abc import Callable
from typing import Any

import pytest

from autograder.authoring.stubs import stub_of
from autograder.core.step import find_step

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

SOLUTION = find_step(4).solution.read_text(encoding="utf-8")
RELU = "hidden = hidden.relu()"
NO_RELU = SOLUTION.replace(RELU, "hidden = hidden")
IMPORT = "from autograder import check, watch"

Outputs = list[list[Any]]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outputs]:
    """Runs cells in a new kernel; of each what it put out."""
    monkeypatch.setenv("AUTOGRADER_LANG", "en")

    def run(*cells: str) -> Outputs:
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
        client = nbclient.NotebookClient(
            book, timeout=60, kernel_name="python3", allow_errors=True, store_widget_state=False
        )
        client.execute()
        return [cell.outputs for cell in book.cells]

    return run


def table(outputs: list[Any]) -> dict[str, str]:
    """The one table among them; there is nothing else."""
    (only,) = outputs
    assert only.output_type == "display_data"
    return dict(only.data)


def words(outputs: list[Any]) -> str:
    """The words of an error, which is all that is shown."""
    error = outputs[-1]
    assert error.output_type == "error" and error.ename == "NotPassed"
    assert "\n".join(error.traceback) == error.evalue
    return str(error.evalue)


def points(outputs: list[Any]) -> str:
    """What a grader takes for the points: the last expression's value, beside one line of text."""
    *printed, result = outputs
    assert len(stdout(printed).splitlines()) == 1
    return str(result.data["text/plain"])


def stdout(outputs: list[Any]) -> str:
    """All that was printed; nothing else was put out, and nothing on stderr."""
    assert {(o.output_type, o.name) for o in outputs} == {("stream", "stdout")}
    return "".join(o.text for o in outputs)


def test_cells_are_graded_as_they_were_run_last(kernel: Callable[..., Outputs]):
    noisy = "print('<script>1</script>'); import warnings; warnings.warn('look'); hidden = hidden"
    _, none, stub, unwritten, shown, _, lost, all_of_it, korean, _, right, whole, _, loud = kernel(
        IMPORT,
        "check('step04', 'output')",
        stub_of(SOLUTION, 4),
        "check('step04', 'output')",
        "watch(4)",
        NO_RELU,
        "check('step04', 'output')",
        "check('step04')",
        "check('step04', 'output', lang='ko')",
        SOLUTION,
        "check('step04', 'output')",
        "check('step04')",
        SOLUTION.replace(RELU, noisy),
        "check('step04')",
    )
    assert "Run the cell that defines it" in words(none)
    assert stub == [] and "Not implemented yet: In [3], line" in words(unwritten)
    assert "is not implemented" in stdout(shown)
    assert "Known mistake: there is no activation" in words(lost)
    assert "7 of 10" in table(all_of_it)["text/plain"]
    assert "알려진 실수" in words(korean)
    assert points(right) == "3"
    assert "10 of 10" in table(whole)["text/plain"] and "<table" in table(whole)["text/html"]
    assert "&lt;script&gt;1&lt;/script&gt;" in table(loud)["text/html"]
    assert "<script" not in table(loud)["text/html"]
    assert "UserWarning: look" in table(loud)["text/plain"]


def test_errors_name_the_cell_and_the_line(kernel: Callable[..., Outputs]):
    broken = SOLUTION.replace(RELU, "raise ValueError('so far')")
    line = next(n for n, text in enumerate(broken.splitlines(), 1) if "so far" in text)
    outputs = kernel(IMPORT, broken, "1 + 1", "check(4)", "watch(4)", "check(4, 'nope')")
    assert f"In [2], line {line}, in forward" in table(outputs[3])["text/plain"]
    assert f"In [2], line {line}: ValueError: so far" in stdout(outputs[4])
    assert outputs[5][0].ename == "CannotCheck" and len(outputs[5][0].traceback) == 1


UNCLOSED = SOLUTION.replace("def forward(", "def forward((")
STOPS = SOLUTION.replace("class Pos", "1 / 0\n\n\nclass Pos")


@pytest.mark.parametrize("broken", [UNCLOSED, STOPS], ids=["no Python", "stopped"])
def test_a_newer_definition_that_failed_is_told_first(kernel: Callable[..., Outputs], broken: str):
    ask = "check('step04', 'output')"
    _, _, none, _, _, right, whole, korean, shown, _, mended = kernel(
        IMPORT, broken, ask, SOLUTION, broken, ask, "check(4)", f"{ask[:-1]}, lang='ko')",
        "watch(4)", SOLUTION, ask,
    )  # fmt: skip
    name = "PositionwiseFeedForward"
    older = f"The last cell that defines {name}, In [5], ended in an error."
    assert words(none).startswith(f"The last cell that defines {name}, In [2], ended in an error:")
    told, result = right
    assert " ".join(told.text.split()).startswith(f"{older} What is looked at here is the one from")
    assert "In [4]." in told.text and result.data["text/plain"] == "3"
    assert table(whole)["text/plain"].startswith(older) and "10 of 10" in table(whole)["text/plain"]
    assert older in table(whole)["text/html"]
    assert korean[0].text.startswith(f"{name}의 정의가 있는 마지막 셀, In [5]에서 오류가 났어요.")
    assert stdout(shown).startswith(older)
    assert points(mended) == "3"


NOT_FAILED = (
    f"{SOLUTION}\n1 / 0",
    "Mine = PositionwiseFeedForward\n"
    "class PositionwiseFeedForward: pass\n"
    "PositionwiseFeedForward = Mine",
    "class Other:\n    def PositionwiseFeedForward(self): pass",
    "# class PositionwiseFeedForward is above",
    "if False:\n    class PositionwiseFeedForward: pass",
    "%%writefile /dev/null\nclass PositionwiseFeedForward: pass",
    "def broken(",
)


def test_nothing_is_said_of_what_did_not_fail(kernel: Callable[..., Outputs]):
    ask = f"{IMPORT}\ncheck(4, 'output')"
    outputs = kernel(*(cell for later in NOT_FAILED for cell in (SOLUTION, later, ask)))
    assert [points(one) for one in outputs[2::3]] == ["3"] * len(NOT_FAILED)


@pytest.mark.parametrize("forget", ["In = 3", "del In[:]", "%reset -f in"])
def test_nothing_is_said_where_it_cannot_be_known(kernel: Callable[..., Outputs], forget: str):
    outputs = kernel(SOLUTION, UNCLOSED, forget, f"{IMPORT}\ncheck(4, 'output')")
    assert points(outputs[-1]) == "3"


HEAVY = """
import torch, threading
torch.set_num_threads(2)
big = torch.randn(1500, 1500, requires_grad=True)
(big @ big).sum().backward()
layer = torch.nn.TransformerEncoderLayer(256, 4)
optimizer = torch.optim.Adam(layer.parameters())
layer(torch.randn(20, 16, 256)).sum().backward()
optimizer.step()
"""

BUSY = """
done = False
def work():
    while not done:
        torch.randn(500, 500) @ torch.randn(500, 500)
thread = threading.Thread(target=work)
thread.start()
earned = [check(4, name) for name in ("output", "positions", "gradients")]
done = True
thread.join()
assert earned == [3, 1, 1]
"""

LEFT_ALONE = """
import random
def state():
    return torch.get_rng_state().tolist(), random.getstate(), torch.get_num_threads()
before = state()
check(4); check(4, "output"); watch(4)
assert state() == before
(big @ big).sum().backward()
"""


def test_heavy_work_of_the_kernels_own_hangs_no_check_and_is_left_alone(
    kernel: Callable[..., Outputs],
):
    outputs = kernel(HEAVY, SOLUTION + "\n" + IMPORT, "check(4)", BUSY, "check(4)", LEFT_ALONE)
    assert "10 of 10" in table(outputs[2])["text/plain"]
    assert "10 of 10" in table(outputs[4])["text/plain"]
    assert len(stdout(outputs[3]).splitlines()) == 3
    assert not [o for o in outputs[5] if o.output_type == "error" or o.get("name") == "stderr"]
