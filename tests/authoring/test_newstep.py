"""A new step: its files run as they are made, and nothing that is there is touched."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.gate import RULES
from autograder.authoring.kit import Kit
from autograder.authoring.layout import TO_FILL_IN
from autograder.authoring.newstep import new_step
from autograder.core.trouble import Trouble

ROOT = Path(__file__).parents[2]

# The project's own tests that look at every step; in the copy, they look at the new one.
OF_EVERY_STEP = (
    "tests/demos/test_every_demo.py",
    "tests/authoring/test_lessons.py",
    "tests/authoring/test_soundness.py",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the project with two steps in it."""
    kept = ("masks", "feed_forward", "step02", "step04", "__init__")
    for place in ("autograder", "transformer_ref", "solutions", "exercises"):

        def astray(folder: str, names: list[str], place: str = place) -> set[str]:
            of_steps = Path(folder).name in ("steps", "transformer_ref", "solutions", "exercises")
            drop = {n for n in names if of_steps and not n.startswith(kept) and n != "py.typed"}
            return drop | {"__pycache__"}

        shutil.copytree(ROOT / place, tmp_path / place, ignore=astray)
    shutil.copytree(ROOT / "benchmarks", tmp_path / "benchmarks")
    texts = ("README.md", "README.ko.md", "CHANGELOG.md")
    tests = ("tests/steps/harness.py", "tests/demos/conftest.py", *OF_EVERY_STEP)
    for name in (*texts, *tests):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(checkout: Path, *command: str) -> str:
    """What a program prints that runs on the copy, and ends well."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=checkout,
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONPATH": ".", "PATH": "", "AUTOGRADER_LANG": "en", "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_step_passes_the_gate_as_it_is_made(checkout: Path):
    written = {path.relative_to(checkout).as_posix() for path in new_step(checkout, 19, "gating")}
    assert written >= {
        "transformer_ref/gating.py",
        "solutions/step19/gating.py",
        "exercises/step19/gating.py",
        "exercises/step19/README.ko.md",
        "exercises/step19/step19.ipynb",
        "exercises/step19/step19.ko.ipynb",
        "autograder/steps/gating.toml",
        "tests/steps/test_gating.py",
    }
    program = (
        "import sys; from pathlib import Path\n"
        "from autograder.authoring.gate import outcomes\n"
        "from autograder.authoring.kit import Kit\n"
        "kit = Kit(Path('.'), (19,))\n"
        "found = [(p.place, p.text) for o in outcomes(kit) for p in o.problems]\n"
        "sys.exit(str(found) if found or len(kit.steps) != 1 else 0)\n"
    )
    run(checkout, "-c", program)


@pytest.mark.slow
def test_a_new_step_keeps_what_every_step_keeps_as_it_is_made(checkout: Path):
    command = "import sys; from autograder.front.command import main; sys.exit(main())"
    printed = run(checkout, "-c", command, "new-step", "19", "gating")
    assert "pytest tests/steps/test_gating.py tests/demos tests/authoring" in printed
    tests = ("tests/steps/test_gating.py", *OF_EVERY_STEP)
    printed = run(
        checkout, "-m", "pytest", "-p", "no:cacheprovider", "-v", "-k", "step19 or gating", *tests
    )
    assert all(f"{name}::" in printed for name in tests)


def test_what_is_left_to_fill_in_shuts_the_gate_of_the_whole_kit(checkout: Path):
    written = new_step(checkout, 19, "gating")
    left = {p.place for p in RULES["filled"](Kit(checkout))}
    marked = {p for p in written if any(mark in p.read_text("utf-8") for mark in TO_FILL_IN)}
    assert left == {path.relative_to(checkout).as_posix() for path in marked}
    assert left >= {"exercises/step19/step19.ko.ipynb", "tests/steps/test_gating.py"}
    assert not list(RULES["filled"](Kit(checkout, (19,))))


@pytest.mark.parametrize(
    ("number", "slug", "why"),
    [
        (4, "gating", "step_taken"),
        (19, "masks", "step_taken"),
        (19, "subsequent_mask", "slug_export"),
        (19, "random", "slug_module"),
        (19, "lambda", "slug_shape"),
        (19, "Gating", "slug_shape"),
        (19, "../gating", "slug_shape"),
        (0, "gating", "number_range"),
        (100, "gating", "number_range"),
    ],
)
def test_what_is_taken_or_no_name_is_refused(checkout: Path, number: int, slug: str, why: str):
    before = sorted(checkout.rglob("*"))
    with pytest.raises(Trouble, match=why):
        new_step(checkout, number, slug)
    assert sorted(checkout.rglob("*")) == before


def test_the_rules_about_files_hold_for_the_copy(checkout: Path):
    """So that the test above tells of the new step, and not of the copy."""
    kit = Kit(checkout)
    assert {step.slug for step in kit.all_steps} == {"masks", "feed_forward"}
    assert not [
        p for rule in ("files", "fresh", "notebooks", "slugs", "filled") for p in RULES[rule](kit)
    ]
