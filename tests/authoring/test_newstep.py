"""A new step: its files run as they are made, and nothing that is there is touched."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.gate import RULES
from autograder.authoring.kit import Kit
from autograder.authoring.newstep import new_step
from autograder.core.trouble import Trouble

ROOT = Path(__file__).parents[2]


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
    for name in ("README.md", "README.ko.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    harness = Path("tests/steps/harness.py")
    (tmp_path / harness).parent.mkdir(parents=True)
    shutil.copy(ROOT / harness, tmp_path / harness)
    return tmp_path


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
    for command in (
        ["-c", program],
        ["exercises/step19/demo.py", "--against", "solutions"],
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/steps/test_gating.py"],
    ):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=checkout,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": ".", "PATH": "", "AUTOGRADER_LANG": "en"},
        )
        assert done.returncode == 0, done.stdout + done.stderr


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
    assert not [p for rule in ("files", "fresh", "notebooks", "slugs") for p in RULES[rule](kit)]
