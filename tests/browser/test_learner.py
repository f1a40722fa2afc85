"""A learner in JupyterLab: an untouched stub, a mistake that is named, the right one, pictures."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupyterlab")
pytest.importorskip("nbgrader")
pytest.importorskip("playwright")

from tests.browser.lab import Notebook, served
from tests.browser.typed import answer, command

pytestmark = pytest.mark.slow

FEED_FORWARD = "class PositionwiseFeedForward(nn.Module):"
RELU = ("hidden = hidden.relu()", "hidden = hidden")
SCALE = ("scores = scores / math.sqrt(d_k)", "scores = scores")


Open = Callable[[str], Notebook]


@pytest.fixture(scope="module")
def desk(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder that `autograder init` has made, and JupyterLab in it."""
    home = tmp_path_factory.mktemp("home")
    folder = tmp_path_factory.mktemp("learner") / "transformer"
    command(f"autograder init {folder}", folder.parent, home)
    with served(folder, home) as address:
        yield folder, address


@pytest.fixture
def opened(page: Any, desk: tuple[Path, str], request: pytest.FixtureRequest) -> Open:
    """Open a notebook as it was handed out, whatever other tests do with it."""
    folder, address = desk
    own = folder / request.node.name
    shutil.copytree(folder / "exercises", own)
    return lambda file: Notebook(page, address, f"{own.name}/{file[:6]}/{file}")


def test_a_stub_a_mistake_and_the_right_answer(
    page: Any, opened: Open, shoot: Callable[..., None]
) -> None:
    """The table follows the cell that was run last; a graded cell says the same, in words alone."""
    book = opened("step04.ipynb")
    stub, overview = book.cell(FEED_FORWARD), book.cell('check("step04")')
    graded = book.cell('check("step04", "output")')

    book.run(book.cell("from torch import nn"))
    book.run(stub)
    shown = book.run(overview)
    assert "0 of 10" in shown.inner_text()
    assert "Not implemented yet" in shown.inner_text()

    book.write(stub, answer("step04", RELU))
    book.run(stub)
    shown = book.run(overview)
    assert "7 of 10" in shown.inner_text()
    assert "Known mistake: there is no activation between the two layers." in shown.inner_text()
    book.scroll(shown)
    shoot(page, "notebook")
    words = book.run(graded).inner_text()
    assert words.startswith("✗ 0/3")
    assert "there is no activation" in words
    assert "Traceback" not in words and ".py" not in words

    book.write(stub, answer("step04"))
    book.run(stub)
    assert "10 of 10" in book.run(overview).inner_text()
    assert book.run(graded).inner_text().split()[-1] == "3"


def test_validate_tells_the_mistake_then_success(opened: Open) -> None:
    """nbgrader's button runs the notebook as it is saved, in a kernel of its own."""
    book = opened("step04.ipynb")
    stub = book.cell(FEED_FORWARD)
    book.write(stub, answer("step04", RELU))
    told = book.validate()
    assert "failed" in told and "✗ 0/3" in told
    assert "Known mistake: there is no activation between the two layers." in told

    book.write(stub, answer("step04"))
    assert "Success!" in book.validate()


def test_in_korean(page: Any, opened: Open, shoot: Callable[..., None]) -> None:
    """The Korean notebook asks for Korean by itself."""
    book = opened("step04.ko.ipynb")
    stub = book.cell(FEED_FORWARD)
    book.write(stub, answer("step04", RELU))
    book.run(book.cell("from torch import nn"))
    book.run(stub)
    shown = book.run(book.cell('check("step04", lang="ko")'))
    assert "10점 중 7점" in shown.inner_text()
    assert "알려진 실수" in shown.inner_text()
    book.scroll(shown)
    shoot(page, "notebook.ko")


def test_pictures(page: Any, opened: Open, shoot: Callable[..., None]) -> None:
    """`watch` shows the learner's weights, the reference's, and what is between them."""
    pytest.importorskip("matplotlib")
    book = opened("step01.ipynb")
    stub = book.cell("def attention(")
    book.write(stub, answer("step01", SCALE))
    book.run(book.cell("import torch"))
    book.run(stub)
    shown = book.run(book.cell('watch("step01")'))
    picture = shown.locator("img")
    told = picture.get_attribute("alt") or ""
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    assert "largest difference" in told
    page.set_viewport_size({"width": 1200, "height": 850})
    book.scroll(shown)
    shoot(page, "pictures")
