"""A notebook with work in it counts as the learner's file, unless the Python file has some, too."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.docstrings import answer_in
from autograder.authoring.notebooks import notebook_of
from autograder.core.step import Step, all_steps, find_step
from autograder.core.trouble import Trouble
from autograder.desk.assemble import assemble
from autograder.desk.difference import difference
from autograder.desk.init import init
from autograder.desk.notebook import code_in
from autograder.desk.progress import passed_before, standing, standings
from autograder.desk.reset import reset
from autograder.desk.sources import parts
from autograder.desk.work import passed_over, work_in
from autograder.desk.workspace import Workspace, read, stub

STEP = find_step(4)
Write = Callable[..., Path]


@pytest.fixture
def written(place: Workspace) -> Write:
    """Writes the model answer of a step into one of its notebooks."""

    def write(step: Step = STEP, suffix: str = "", extra: str = "") -> Path:
        path = place.file(step).with_name(f"{step.name}{suffix}.ipynb")
        book = json.loads(path.read_text(encoding="utf-8"))
        text = step.solution.read_text(encoding="utf-8") + extra
        for cell in book["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                cell["source"], text = text.splitlines(keepends=True), ""
        path.write_text(json.dumps(book), encoding="utf-8")
        return path

    return write


def work(place: Workspace, step: Step = STEP) -> Path:
    return work_in(place.file(step).parent, step)


def test_fresh_files_are_nobodys_work(place: Workspace):
    for step in all_steps():
        assert work(place, step) == place.file(step)
        assert standing(step, place).verdict is None


@pytest.mark.parametrize("suffix", ["", ".ko"])
def test_a_notebook_alone_counts(place: Workspace, written: Write, suffix: str):
    book = written(suffix=suffix)
    assert work(place) == book and standing(STEP, place).passed
    place.file(STEP).unlink()
    assert work(place) == book


def test_the_python_file_comes_first(place: Workspace, written: Write, answer: Any):
    book = written()
    file = answer(4)
    assert work(place) == file
    for data in (b"", b"\xff\xfe\0", b"x = 1\n"):  # no answer
        file.write_bytes(data)
        assert work(place) == book
    book.unlink()
    assert work(place) == file


def test_outputs_and_notes_between_the_lines_are_no_work(place: Workspace):
    path = place.file(STEP).with_name("step04.ipynb")
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        cell["metadata"]["trusted"] = True
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
    path.write_text(json.dumps(book), encoding="utf-8")
    assert work(place) == place.file(STEP)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"cells": [{"cell_type": "code"}]}'])
def test_a_broken_notebook_is_somebodys(place: Workspace, text: str):
    path = place.file(STEP).with_name("step04.ipynb")
    path.write_text(text, encoding="utf-8")
    assert work(place) == path
    verdict = standing(STEP, place).verdict
    assert verdict and not verdict.points


@pytest.mark.parametrize("name", ["feed_forward.py", "step04.ipynb"])
def test_a_pipe_is_waited_for_by_nobody(place: Workspace, name: str):
    path = place.file(STEP).with_name(name)
    path.unlink()
    os.mkfifo(path)
    place.file(find_step(5)).write_text("x = 1\n", encoding="utf-8")
    assert work(place) == place.file(STEP)
    assert [s.step.number for s in standings(place) if s.verdict] == [5]
    if name == "feed_forward.py":
        with pytest.raises(Trouble, match="no_file"):
            reset(STEP, place)


def test_what_cannot_be_read_hides_no_other_step(place: Workspace, answer: Any):
    folder = place.file(STEP)
    folder.unlink()
    folder.mkdir()
    answer(5)
    found = {s.step.number: s for s in standings(place) if s.verdict or s.trouble}
    assert found[5].passed and 4 not in found


def test_a_notebook_without_ids_is_as_it_was_given(place: Workspace):
    path = place.file(STEP).with_name("step04.ipynb")
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        del cell["id"]
    path.write_text(json.dumps({**book, "nbformat_minor": 4}), encoding="utf-8")
    assert work(place) == place.file(STEP)


def test_a_reset_begins_the_notebook_anew(place: Workspace, written: Write):
    path = place.file(STEP).with_name("step04.ipynb")
    fresh = path.read_bytes()
    own = written().read_bytes()
    file, kept = reset(STEP, place)
    assert file == path and path.read_bytes() == fresh
    assert kept and kept.read_bytes() == own and kept.suffix == ".bak"
    with pytest.raises(Trouble, match="is_stub"):
        reset(STEP, place)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_stubs_speak_the_learners_language(tmp_path: Path, lang: str):
    init(tmp_path / "mine", lang)
    place, other = Workspace(tmp_path / "mine"), {"en": "ko", "ko": "en"}[lang]
    file = place.file(STEP)
    assert ("선형" in file.read_text(encoding="utf-8")) == (lang == "ko")
    assert work(place) == file and standing(STEP, place).verdict is None
    file.write_text(file.read_text(encoding="utf-8").replace("raise ", "return 1  # "))
    reset(STEP, place, other)  # the file's own language counts
    assert file.read_text(encoding="utf-8") == stub(STEP, lang) != stub(STEP, other)
    file.unlink()
    reset(STEP, place, other)
    assert file.read_text(encoding="utf-8") == stub(STEP, other)
    assert standing(STEP, place).verdict is None


@pytest.mark.parametrize("step", all_steps(), ids=lambda s: s.name)
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_an_answer_differs_in_nothing_from_itself(step: Step, lang: str):
    answer = answer_in(step.solution, lang)
    assert difference(step, answer, "mine.py") == []
    assert difference(step, code_in(notebook_of(step, lang, solved=True)), "mine.ipynb") == []


def test_earlier_steps_may_be_notebooks(place: Workspace, written: Write, answer: Any):
    written(find_step(1))
    answer(2)
    own, others = passed_before(find_step(3), place)
    assert list(own) == ["scaled_dot_product", "masks"] and not others


def test_the_whole_is_put_together_of_notebooks_too(place: Workspace, written: Write, answer: Any):
    for step in all_steps()[:9]:
        if step.number % 2:
            written(step, extra="\n\nfrom autograder import check\ncheck(4)\n")
        else:
            answer(step.number)
    whole = assemble(parts(find_step(9), "mine"))
    assert "autograder" not in whole
    namespace: dict[str, Any] = {"__name__": "whole"}
    exec(compile(whole, "whole.py", "exec"), namespace)
    assert set(find_step(9).exports) <= namespace.keys()


def test_a_notebooks_code_is_its_cells_without_what_calls_the_kit(place: Workspace):
    path = place.file(STEP).with_name("step04.ipynb")
    text = read(path)
    assert "class PositionwiseFeedForward" in text and "import torch" in text
    assert "check(" not in text and "watch(" not in text and "autograder" not in text
    cells = [
        "%matplotlib inline\nimport math",
        "from autograder import check\nx = 1\ncheck(4)",
        "import autograder\nautograder.check(4)",
        "import re, autograder, os",
        "for i in range(3):\n    print(i)",
        "y = 2\nassert y == 2",
        "print(x)",
        "d (",
    ]
    book = {"cells": [{"cell_type": "code", "metadata": {}, "source": c} for c in cells]}
    told = ["import math", "x = 1\ncheck(4)", "import re, os", "y = 2", "d ("]
    assert code_in(json.dumps(book)) == "\n\n\n".join(told) + "\n"


def test_of_two_notebooks_the_one_with_an_answer_counts_and_of_two_the_later(
    place: Workspace, written: Write
):
    english = place.file(STEP).with_name("step04.ipynb")
    book = json.loads(english.read_text(encoding="utf-8"))
    scratch = {"cell_type": "code", "id": "own", "metadata": {}, "outputs": [], "source": "1 + 1"}
    english.write_text(json.dumps({**book, "cells": [*book["cells"], scratch]}), encoding="utf-8")
    assert work(place) == english
    korean = written(suffix=".ko")
    assert work(place) == korean
    os.utime(written(), (1, 1))
    assert work(place) == korean
    os.utime(korean, (0, 0))
    assert work(place) == english


def test_what_is_passed_over_is_known(place: Workspace, written: Write, answer: Any):
    book = written()
    assert passed_over(book, STEP) == []
    copy = book.rename(book.with_name("step04-Copy1.ipynb"))
    book.with_name("Untitled.ipynb").write_text('{"cells": []}', encoding="utf-8")
    assert passed_over(place.file(STEP), STEP) == [copy]
    file = answer(4)
    assert passed_over(copy, STEP) == [file]
