"""The gate: every rule finds what it is for, in a small kit with one thing broken."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.authoring import names, notebooks
from autograder.authoring.gate import RULES, outcomes
from autograder.authoring.kit import Kit, Problem
from autograder.authoring.languages import pages_of
from autograder.authoring.stubs import stub_of
from autograder.front.command import main
from autograder.front.wording import say, texts

ROOT = Path(__file__).parents[2]

STUB = "exercises/step02/masks.py"
SOLUTION = "solutions/step02/masks.py"
DATA = "autograder/steps/masks.toml"
WORDS = "solutions/step02/masks.ko.toml"
LESSON = "exercises/step02/README.ko.md"
DEMO = "exercises/step02/demo.py"
TESTS = "tests/steps/test_masks.py"

HONEST = '''\
"""Two ways of writing it."""

import_torch = "import torch\\n\\ndef subsequent_mask(size):\\n    return "
HONEST = {
    "tril": import_torch + "torch.ones(1, size, size).tril().bool()",
    "arange": import_torch + "torch.arange(size) <= torch.arange(size).view(1, -1, 1)",
}
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A kit of one step, three known mistakes and two variations."""
    for name in (STUB, SOLUTION, WORDS, DEMO, LESSON, "autograder/demo.py", "CHANGELOG.md"):
        _copy(name, tmp_path)
    for name in ("exercises/step02/README.md", "exercises/step02/test_masks.py"):
        _copy(name, tmp_path)
    for name in ("transformer_ref/masks.py", "autograder/steps/masks.py"):
        _copy(name, tmp_path)
    add("README.md", "# One\n\nOf 18 steps, this is 02.\n")(tmp_path)
    add("README.ko.md", "# 하나\n\n18단계 가운데 02단계다.\n")(tmp_path)
    add("SECURITY.md", "# Walls\n\nThere are 3.\n")(tmp_path)
    add("SECURITY.ko.md", "# 벽\n\n3개가 있다.\n")(tmp_path)
    add("autograder/front/words.toml", '[word.yes]\nen = "yes"\nko = "예"\n')(tmp_path)
    parts = (ROOT / DATA).read_text(encoding="utf-8").split("\n[misconceptions.")
    (tmp_path / DATA).write_text("\n[misconceptions.".join(parts[:4]), encoding="utf-8")
    solution = (ROOT / SOLUTION).read_text(encoding="utf-8")
    (tmp_path / STUB).write_text(stub_of(solution, 2), encoding="utf-8")
    (tmp_path / TESTS).parent.mkdir(parents=True)
    (tmp_path / TESTS).write_text(HONEST, encoding="utf-8")
    (tmp_path / names.RECORD).parent.mkdir(parents=True)
    names.record(tmp_path, Kit(tmp_path).all_steps)
    notebooks.regenerate(tmp_path, Kit(tmp_path).all_steps)
    return tmp_path


def _copy(name: str, folder: Path) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / name, folder / name)


def edit(name: str, find: str, replace: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        text = (root / name).read_text(encoding="utf-8")
        assert find in text, f"{name}: {find}"
        (root / name).write_text(text.replace(find, replace, 1), encoding="utf-8")

    return change


def add(name: str, text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        path.write_text(before + text, encoding="utf-8")

    return change


def remove(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).unlink()


def first_mistake(root: Path) -> tuple[str, str, str]:
    """Slug, and the text found and put in its place, of the first known mistake."""
    mistake = Kit(root).all_steps[0].misconceptions[0]
    ((find, replace),) = mistake.edits
    return mistake.slug, find, replace


def replace_first_mistake(make: Callable[[str, str], str]) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        _, find, replace = first_mistake(root)
        edit(DATA, f'replace = "{replace}"', f'replace = "{make(find, replace)}"')(root)

    return change


def advise_first_mistake(root: Path) -> None:
    slug, _, _ = first_mistake(root)
    header = f"[misconceptions.{slug}]\n"
    edit(DATA, header, header + 'advice = { en = "so it is", ko = "그래요" }\n')(root)


def give_the_answer(root: Path) -> None:
    """The region begins where everything has been said."""
    text = (root / SOLUTION).read_text(encoding="utf-8")
    text = text.replace("    ### BEGIN SOLUTION\n", "").replace(
        "    ### END SOLUTION\n",
        "    ### BEGIN SOLUTION\n    size = 0\n    ### END SOLUTION\n",
    )
    (root / SOLUTION).write_text(text, encoding="utf-8")


def found(root: Path, rule: str) -> list[Problem]:
    return list(RULES[rule](Kit(root)))


# For each problem that a rule can find: the rule, and what brings the problem about.
PLANTED: dict[str, tuple[str, Callable[[Path], None]]] = {
    "missing_file": ("files", remove(DEMO)),
    "stray_file": ("files", add("solutions/step02/notes.txt", "?")),
    "stale": ("fresh", edit(STUB, '"""', '""" ')),
    "slug_is_export": ("slugs", edit(DATA, '["subsequent_mask"]', '["masks"]')),
    "unfilled": ("filled", add(LESSON, "\n채워 넣을 것: 더.\n")),
    "check_unrecorded": ("names", edit(DATA, 'name = "shape"', 'name = "form"')),
    "check_gone": ("names", edit(DATA, 'name = "shape"', 'name = "form"')),
    "points_changed": ("names", edit(DATA, "points = ", "points = 1")),
    "no_text": ("texts", edit(DEMO, "\nTEXTS = ", "\nLINES = ")),
    "not_in_both": ("texts", edit(DEMO, '    "ko": {\n', '    "ko": {\n        "more": "더",\n')),
    "other_holes": ("texts", edit(DATA, 'question = { en = "', 'question = { en = "{size} ')),
    "not_korean": (
        "texts",
        edit(DATA, "title = {", 'title = { en = "one two three", ko = "one" } # {'),
    ),
    "other_arguments": ("docstrings", edit(WORDS, "    size: ", "    length: ")),
    "other_code": ("docstrings", edit(WORDS, "    size: ", "    size: 31, ")),
    "missing_page": ("pages", remove(LESSON)),
    "other_headings": ("pages", add(LESSON, "\n## 더\n")),
    "other_formulas": ("pages", add(LESSON, "\n$$x$$\n")),
    "other_figures": ("pages", add(LESSON, "\n31\n")),
    "unfit": ("gradable", add(SOLUTION, "\n# {find}\n")),
    "stub_passes": ("stubs", give_the_answer),
    "solution_loses": ("solutions", edit(SOLUTION, "return ", "return ~")),
    "mistake_escapes": ("mistakes", replace_first_mistake(lambda find, _: find)),
    "mistake_unnamed": (
        "mistakes",
        replace_first_mistake(lambda find, _: f"{find}\\n    return None"),
    ),
    "advice_costs": ("mistakes", advise_first_mistake),
    "no_variation": ("variations", remove(TESTS)),
    "variation_loses": ("variations", edit(TESTS, ".tril()", ".triu()")),
}


def test_a_small_kit_keeps_every_rule(root: Path) -> None:
    assert {o.rule: o.problems for o in outcomes(Kit(root))} == {rule: [] for rule in RULES}


@pytest.mark.parametrize("problem", PLANTED)
def test_a_planted_problem_is_found(root: Path, problem: str) -> None:
    rule, plant = PLANTED[problem]
    plant(root)
    if problem == "unfit":
        _, find, _ = first_mistake(root)
        edit(SOLUTION, "{find}", find)(root)
    assert problem in {p.text for p in found(root, rule)}


def test_every_problem_is_planted_here_and_every_rule_has_a_name() -> None:
    rules = {f"gate.rule.{rule}" for rule in RULES}
    around = {"gate.looked_at", "gate.open", "gate.shut", "gate.fault"}
    keys = {key for key in texts() if key.startswith("gate.")}
    assert keys == rules | around | {f"gate.{problem}" for problem in PLANTED}


def test_a_list_that_is_not_what_would_be_found_out_is_stale(root: Path) -> None:
    add("autograder/steps/masks.alike", "mask-inverted\n")(root)  # a mask has no weights to share
    assert found(root, "files") == []
    assert [p.text for p in found(root, "lists")] == ["stale"]


def test_a_fault_of_the_kit_is_told_and_hides_no_other_rule(root: Path) -> None:
    add(TESTS, "\nraise LookupError('here')\n")(root)
    (problem,) = found(root, "gradable")
    assert problem.text == "fault"
    assert "here" in str(problem.facts["message"])
    assert found(root, "pages") == []


def korean_pages(folder: Path) -> Iterator[Path]:
    """Those of a checkout: not what is hidden, built, or part of an environment."""
    for path in folder.iterdir():
        left_out = path.name.startswith(".") or path.name in {"build", "dist"}
        if path.is_dir() and not left_out and not (path / "pyvenv.cfg").is_file():
            yield from korean_pages(path)
        elif path.name.endswith(".ko.md"):
            yield path


def test_every_page_in_korean_is_looked_at() -> None:
    known = {page.replace(".md", ".ko.md") for page in pages_of(Kit(ROOT))}
    assert {path.relative_to(ROOT).as_posix() for path in korean_pages(ROOT)} == known


@pytest.mark.parametrize(
    "change",
    [
        edit(WORDS, '"subsequent_mask"', '"subsequent_masks"'),
        add(WORDS, '"more" = "더"\n'),
        add(SOLUTION, '\n\ndef more():\n    """More."""\n'),
    ],
    ids=["renamed", "in Korean only", "in English only"],
)
def test_a_docstring_in_one_language_is_found(root: Path, change: Callable[[Path], None]) -> None:
    change(root)
    assert {p.text for p in found(root, "docstrings")} == {"not_in_both"}


def test_a_filled_stub_is_no_problem(root: Path) -> None:
    shutil.copyfile(root / SOLUTION, root / STUB)
    assert found(root, "fresh") == []


def test_a_notebook_of_before_is_stale_and_a_filled_one_is_no_problem(root: Path) -> None:
    edit(SOLUTION, "size: int", "size: float")(root)
    stale = [
        ("exercises/step02/step02.ipynb", "stale"),
        ("exercises/step02/step02.ko.ipynb", "stale"),
    ]
    assert [(p.place, p.text) for p in found(root, "notebooks")] == stale
    edit(stale[0][0], "raise NotImplementedError", "return print")(root)
    assert [(p.place, p.text) for p in found(root, "notebooks")] == stale[1:]
    assert list(RULES["notebooks"](Kit(root, (3,)))) == []


def test_a_missing_notebook_is_missed(root: Path) -> None:
    remove("exercises/step02/step02.ko.ipynb")(root)
    for rule in ("files", "notebooks"):
        assert [p.place for p in found(root, rule)] == ["exercises/step02/step02.ko.ipynb"]


def test_the_words_of_notebooks_are_in_both_languages(root: Path) -> None:
    add("autograder/authoring/notebook.toml", '[notebook.how]\nen = "Run this cell."\n')(root)
    (problem,) = found(root, "texts")
    assert (problem.place, problem.text) == ("autograder/authoring/notebook.toml", "not_in_both")


def test_a_kept_backup_and_bytecode_are_not_astray(root: Path) -> None:
    for name in ("masks.py.2026-01-01.bak", "__pycache__/masks.pyc", ".ipynb_checkpoints/a.py"):
        add(f"exercises/step02/{name}", "")(root)
    assert found(root, "files") == []


@pytest.mark.parametrize(
    ("told", "problems"),
    [
        ("## Unreleased\n\n- Step 2: the check `shape` is now\n  called `form`.\n", 0),
        ("## Unreleased\n\n- step02: `shape` became `form`.\n", 0),
        ("## Unreleased\n\n- Step 3: the check `shape` is gone.\n", 1),
        ("## Unreleased\n\n- Step 2.\n- The check `shape`.\n", 1),
        ("## Unreleased\n\n## 0.1\n\n- Step 2: `shape` is gone.\n", 1),
    ],
)
def test_a_check_may_go_when_the_newest_section_says_so(
    root: Path, told: str, problems: int
) -> None:
    edit(DATA, 'name = "shape"', 'name = "form"\nprobe = "shape"')(root)
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n{told}", encoding="utf-8")
    assert [p.text for p in found(root, "names")].count("check_gone") == problems

    assert names.record(root, Kit(root).all_steps)  # the new name is taken over in any case
    assert [p.text for p in found(root, "names")] == ["check_gone"] * problems
    assert not names.record(root, Kit(root).all_steps)


def test_only_the_steps_asked_about_are_looked_at(root: Path) -> None:
    add("README.ko.md", "\n## 더\n")(root)
    add("exercises/step01/notes.txt", "?")(root)
    add(TESTS, "\n# TO FILL IN: more.\n")(root)  # the step may be asked about before it is whole
    for rule in ("files", "pages", "filled"):
        assert found(root, rule)
        assert list(RULES[rule](Kit(root, (2,)))) == []


def test_the_command_tells_of_every_rule_and_passes_a_step_in_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["autograder", "gate", "masks", "--lang", "en"])
    assert main() == 0
    out = capsys.readouterr().out
    assert all(say(f"gate.rule.{rule}", "en") in out for rule in RULES)
    assert "steps: 1, known mistakes: " in out
    assert "nothing to mend" in out


@pytest.mark.slow
def test_the_kit_passes_its_gate() -> None:
    assert {o.rule: o.problems for o in outcomes(Kit(ROOT))} == {rule: [] for rule in RULES}
