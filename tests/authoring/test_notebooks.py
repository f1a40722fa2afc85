"""Notebooks: what they hold, that they can be graded, and that nobody's work in them is lost."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.notebooks import is_filled, name_of, notebook_of, regenerate, stale
from autograder.authoring.stubs import BEGIN, END, stub_of
from autograder.core import engine
from autograder.core.cells import code_cells
from autograder.core.step import Step, all_steps, find_step, read_steps

engine.start()

from autograder.core.grading import grade  # noqa: E402
from autograder.core.subject import Source  # noqa: E402
from tests.authoring.test_stubs import solution_lines  # noqa: E402

ROOT = Path(__file__).parents[2]
EACH = [
    pytest.param(step, lang, id=f"{step.name}-{lang}")
    for step in all_steps()
    for lang in ("en", "ko")
]
each = pytest.mark.parametrize(("step", "lang"), EACH)

Cell = dict[str, Any]


def cells(text: str) -> list[Cell]:
    return list(json.loads(text)["cells"])


def source(cell: Cell) -> str:
    return "".join(cell["source"])


def told(cell: Cell) -> Cell:
    """What nbgrader is told of a cell."""
    return dict(cell["metadata"].get("nbgrader", {}))


def answer(step: Step) -> str:
    return step.solution.read_text(encoding="utf-8")


@each
@pytest.mark.parametrize("solved", [False, True], ids=["asked", "solved"])
def test_it_is_what_jupyter_would_write(step: Step, lang: str, solved: bool):
    nbformat = pytest.importorskip("nbformat")
    text = notebook_of(step, lang, solved=solved)
    book = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    nbformat.validate(book)
    assert nbformat.writes(book, version=nbformat.NO_CONVERT).rstrip("\n") + "\n" == text
    assert notebook_of(step, lang, solved=solved) == text
    run = [(c["outputs"], c["execution_count"]) for c in cells(text) if c["cell_type"] == "code"]
    assert run == [([], None)] * len(run)


@each
def test_ids_are_the_same_in_both_languages_and_with_the_answer(step: Step, lang: str):
    ids = [cell["id"] for cell in cells(notebook_of(step, lang))]
    assert len(set(ids)) == len(ids)
    assert all(id.startswith(f"{step.name}-") for id in ids)
    for other in ("en", "ko"):
        assert [cell["id"] for cell in cells(notebook_of(step, other, solved=True))] == ids


@each
def test_the_cells_stand_in_order(step: Step, lang: str):
    roles = [cell["id"].removeprefix(f"{step.name}-") for cell in cells(notebook_of(step, lang))]
    kinds = [re.split(r"[-_]", role)[0] for role in roles]
    kinds = ["write" if kind == "given" else kind for kind in kinds]
    order = ["lesson", "imports", "write", "checks", "overview", "check", "demo", "watch", "more"]
    assert list(dict.fromkeys(kinds)) == order
    assert kinds == sorted(kinds, key=order.index)
    assert kinds.count("lesson") == 7  # the title, five sections, how to run
    assert kinds.count("more") == 2


@each
def test_there_is_a_cell_for_each_definition(step: Step, lang: str):
    written = [cell for cell in cells(notebook_of(step, lang)) if told(cell).get("solution")]
    assert {told(cell)["grade_id"] for cell in written} <= {f"write_{e}" for e in step.exports}
    for cell in written:
        assert told(cell) | {"grade": False, "locked": False} == told(cell)
        name = told(cell)["grade_id"].removeprefix("write_")
        assert re.search(rf"^(def|class) {name}\b", source(cell), re.MULTILINE)
        assert "NotImplementedError" in source(cell)
    code = "\n".join(source(c) for c in cells(notebook_of(step, lang)) if c["cell_type"] == "code")
    for export in step.exports:
        assert len(re.findall(rf"^(?:def|class) {export}\b", code, re.MULTILINE)) == 1


@each
def test_there_is_a_cell_for_each_graded_check(step: Step, lang: str):
    checking = [cell for cell in cells(notebook_of(step, lang)) if told(cell).get("grade")]
    graded = [check for check in step.checks if check.graded]
    assert [told(cell)["grade_id"] for cell in checking] == [check.name for check in graded]
    assert [told(cell)["points"] for cell in checking] == [check.points for check in graded]
    assert sum(told(cell)["points"] for cell in checking) == 10
    last = ', lang="ko"' if lang == "ko" else ""
    for cell, check in zip(checking, graded, strict=True):
        assert told(cell) | {"solution": False, "locked": True} == told(cell)
        assert source(cell) == (
            f"# {check.title[lang]}\nfrom autograder import check\n\n"
            f'check("{step.name}", "{check.name}"{last})'
        )


def test_overview_and_demo_are_called_in_the_notebooks_language():
    for lang, last in (("en", ""), ("ko", ', lang="ko"')):
        texts = {cell["id"]: source(cell) for cell in cells(notebook_of(find_step(4), lang))}
        assert texts["step04-overview"].endswith(f'import check\n\ncheck("step04"{last})')
        assert texts["step04-watch"].endswith(f'import watch\n\nwatch("step04"{last})')


@each
@pytest.mark.parametrize("solved", [False, True], ids=["asked", "solved"])
def test_nbgrader_finds_nothing_to_say(step: Step, lang: str, solved: bool):
    nbgrader = pytest.importorskip("nbgrader.nbgraderformat")
    book = nbgrader.reads(notebook_of(step, lang, solved=solved), as_version=4)
    nbgrader.MetadataValidator().validate_nb(book)


@each
def test_nbgrader_takes_the_answer_out_and_nothing_else(step: Step, lang: str):
    """It would empty a cell without marks that it is told to fill in."""
    nbgrader = pytest.importorskip("nbgrader.preprocessors")
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.reads(notebook_of(step, lang, solved=True), as_version=4)
    book, _ = nbgrader.ClearSolutions().preprocess(book, {})
    text = nbformat.writes(book)
    own = [source(cell) for cell in cells(notebook_of(step, lang))]
    for cell, mine in zip(cells(text), own, strict=True):
        lines = set(map(str.strip, source(cell).splitlines()))
        assert not lines & (solution_lines(answer(step)) - set(map(str.strip, mine.splitlines())))
        assert [x for x in mine.splitlines() if x.startswith(("def ", "class "))] == [
            x for x in source(cell).splitlines() if x.startswith(("def ", "class "))
        ]
    assert text.count("raise NotImplementedError()") == answer(step).count(BEGIN)


@each
def test_the_answer_is_in_no_notebook_of_a_learner(step: Step, lang: str):
    text = notebook_of(step, lang)
    code = [line.strip() for c in cells(text) if "outputs" in c for line in source(c).splitlines()]
    assert not solution_lines(answer(step)) & set(code)
    assert BEGIN not in text
    assert END not in text
    assert notebook_of(step, lang, solved=True).count(BEGIN) == answer(step).count(BEGIN)


@each
def test_nothing_in_it_is_about_files_that_a_notebook_does_not_have(step: Step, lang: str):
    text = notebook_of(step, lang)
    for word in ("pytest", f"{step.slug}.py", "README", "--against"):
        assert word not in text


@each
def test_it_tells_the_lesson_and_links_to_the_other_language(step: Step, lang: str):
    lesson = ROOT / "exercises" / step.name / {"en": "README.md", "ko": "README.ko.md"}[lang]
    told = lesson.read_text(encoding="utf-8")
    texts = [source(c) for c in cells(notebook_of(step, lang)) if c["cell_type"] == "markdown"]
    headings = re.findall(r"^#+ .*$", told, re.MULTILINE)
    assert [h for h in headings if h in "\n".join(texts)] == headings
    formulas = re.findall(r"^\$\$.*\$\$$", told, re.MULTILINE)
    assert [f for f in formulas if f in "\n".join(texts)] == formulas
    other = name_of(step, "ko" if lang == "en" else "en")
    assert f"]({other})*" in texts[0]
    for target in re.findall(r"\]\(([^)]*)\)", "\n".join(texts)):
        assert target.startswith("http") or (ROOT / "exercises" / step.name / target).is_file()
    assert "](" not in source(cells(notebook_of(step, lang, solved=True))[0])


@each
def test_an_untouched_one_is_not_implemented_and_nothing_else(step: Step, lang: str):
    verdict = grade(step, Source(notebook_of(step, lang), name_of(step, lang)), seed=5)
    graded = [check for check in verdict.checks if check.max_points]
    assert verdict.points == 0
    assert {f.text for check in graded for f in check.findings} == {"not_implemented"}
    assert all(check.findings for check in graded)
    assert verdict.printed == ""  # no cell has failed


@each
def test_the_solved_one_has_full_marks(step: Step, lang: str):
    text = notebook_of(step, lang, solved=True)
    verdict = grade(step, Source(text, name_of(step, lang)), seed=6)
    assert (verdict.points, verdict.printed) == (10, "")


def test_nothing_generated_is_stale():
    assert stale(ROOT, all_steps()) == []


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """A kit of one step, with its notebooks."""
    for name in (
        *("exercises/step04/README.md", "exercises/step04/README.ko.md"),
        *("solutions/step04/feed_forward.py", "solutions/step04/feed_forward.ko.toml"),
        "autograder/steps/feed_forward.toml",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    regenerate(tmp_path, steps(tmp_path))
    return tmp_path


def steps(kit: Path) -> tuple[Step, ...]:
    return read_steps(kit / "autograder" / "steps")


def test_what_is_missing_is_written(kit: Path):
    books = [kit / "exercises" / "step04" / name for name in ("step04.ipynb", "step04.ko.ipynb")]
    assert [book.read_text("utf-8") for book in books] == [
        notebook_of(find_step(4), lang) for lang in ("en", "ko")
    ]
    books[1].unlink()
    assert stale(kit, steps(kit)) == [books[1]]
    assert regenerate(kit, steps(kit)) == [books[1]]
    assert regenerate(kit, steps(kit)) == []


@pytest.mark.parametrize(
    ("name", "find", "replace", "books"),
    [
        ("exercises/step04/README.md", "## Asides", "## More", 1),
        ("exercises/step04/README.ko.md", "## 곁가지", "## 더", 1),
        ("solutions/step04/feed_forward.py", "width of the input", "size of the input", 1),
        ("solutions/step04/feed_forward.py", "d_ff: int", "d_ff: float", 2),
        ("solutions/step04/feed_forward.ko.toml", "입력", "들어오는 것", 1),
        (
            "autograder/steps/feed_forward.toml",
            "title = {",
            'title = { en = "x", ko = "x" } # {',
            0,
        ),
        ("autograder/steps/feed_forward.toml", "points = 3", "points = 4", 2),
    ],
)
def test_what_it_is_made_from_makes_it_stale(
    kit: Path, name: str, find: str, replace: str, books: int
):
    text = (kit / name).read_text(encoding="utf-8")
    assert find in text
    (kit / name).write_text(text.replace(find, replace, 1), encoding="utf-8")
    assert len(stale(kit, steps(kit))) == books
    assert len(regenerate(kit, steps(kit))) == books


def test_without_a_lesson_there_is_no_notebook_to_be_made(kit: Path):
    for path in (kit / "exercises" / "step04").iterdir():
        path.unlink()
    assert stale(kit, steps(kit)) == []


def filled(cell: Cell) -> None:
    if told(cell).get("solution"):
        cell["source"] = "class PositionwiseFeedForward:\n    pass"


def half_filled(cell: Cell) -> None:
    if told(cell).get("solution"):
        init, forward = source(cell).split("    def forward")
        cell["source"] = f"{init}    def forward{forward.replace('raise', 'return x  # raise')}"


def being_written(cell: Cell) -> None:
    if told(cell).get("solution"):
        cell["source"] = source(cell).replace("raise", "return (")


def a_note(cell: Cell) -> None:
    if cell["id"] == "step04-more-1":
        cell |= {"id": "0f3c9a", "source": "To do: read this again."}


@pytest.mark.parametrize("work", [filled, half_filled, being_written, a_note])
def test_work_is_let_be(kit: Path, work: Callable[[Cell], None]):
    book = kit / "exercises" / "step04" / "step04.ipynb"
    kept = changed(book.read_text("utf-8"), work)
    book.write_text(kept, encoding="utf-8")
    assert stale(kit, steps(kit)) == []
    assert regenerate(kit, steps(kit)) == []
    assert book.read_text("utf-8") == kept


@pytest.mark.parametrize("kept", ["", "{", "<<<<<<< HEAD", "[]"])
def test_what_is_no_notebook_is_let_be(kit: Path, kept: str):
    book = kit / "exercises" / "step04" / "step04.ipynb"
    book.write_text(kept, encoding="utf-8")
    assert regenerate(kit, steps(kit)) == []


def executed(cell: Cell) -> None:
    if "outputs" in cell:
        cell["execution_count"] = 3
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "0 of 10"}]


def an_empty_cell(cell: Cell) -> None:
    if cell["id"] == "step04-more-1":
        cell |= {"id": "0f3c9a", "source": " \n"}


def magic(cell: Cell) -> None:
    if cell["id"] == "step04-imports":
        cell["source"] = f"%matplotlib inline\n{source(cell)}"


@pytest.mark.parametrize("change", [executed, an_empty_cell, magic])
def test_what_comes_again_is_no_work(kit: Path, change: Callable[[Cell], None]):
    book = kit / "exercises" / "step04" / "step04.ipynb"
    fresh = book.read_text("utf-8")
    book.write_text(changed(fresh, change), encoding="utf-8")
    assert regenerate(kit, steps(kit)) == [book]
    assert book.read_text("utf-8") == fresh


def changed(text: str, change: Callable[[Cell], None]) -> str:
    book = json.loads(text)
    for cell in book["cells"]:
        change(cell)
    return json.dumps(book)


@each
def test_the_solved_one_is_filled_and_the_other_is_not(step: Step, lang: str):
    stub, prefix = stub_of(answer(step), step.number), f"{step.name}-"
    assert is_filled(notebook_of(step, lang, solved=True), stub, prefix)
    assert not is_filled(notebook_of(step, lang), stub, prefix)
    assert len(list(code_cells(notebook_of(step, lang)))) >= 4  # imports, a piece, overview, demo
