"""What holds for every demo: languages, sources, and code that is unfinished or broken."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.stubs import stub_of

ROOT = Path(__file__).parents[2]
STEPS = sorted(path.parent.name for path in (ROOT / "exercises").glob("step*/demo.py"))

# These would take seconds at the size that they show by default.
TINY = ("--layers", "2", "--d-model", "24", "--d-ff", "40", "--h", "3")
SMALL = {
    "step07": TINY,
    "step08": TINY,
    "step09": (*TINY, "--src-vocab", "17", "--tgt-vocab", "19"),
    "step14": ("--updates", "5"),
    "step17": ("--epochs", "2", "--batches", "4"),
    "step18": ("--updates", "8"),
}


@pytest.mark.parametrize("step", STEPS)
def test_the_reference_gives_the_same_figures_as_the_model_answer(demo, step: str):
    shown = [
        demo(step, "--against", against, *SMALL.get(step, ())).figures.split("\n", 1)[1]
        for against in ("solutions", "reference")
    ]
    # What depends on the draw of the first weights, is the noise of rounding, or is held without
    # having been asked for may differ.
    drawn = {
        "step03": "sum 1.000",
        "step04": "differ by",
        "step09": "largest |w_1|",
        "step17": "best.pt holds",
    }.get(step)
    if drawn:
        shown = ["\n".join(t for t in text.split("\n") if drawn not in t) for text in shown]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("step", STEPS)
def test_a_stub_gives_a_friendly_line_in_either_language(demo, step: str, learner):
    answer = next((ROOT / "solutions" / step).glob("*.py"))
    stub = stub_of(answer.read_text(encoding="utf-8"), int(step.removeprefix("step")))
    script = learner(stub, step, answer.stem)
    for language, words in (("en", "Nothing to show yet"), ("ko", "아직 보여 줄 것이 없어요")):
        result = demo(script, "--lang", language)
        assert result.returncode == 1
        assert words in result.stdout
        assert f"exercises/{step}/{answer.name}" in result.stdout
        assert "--against solutions" in result.stdout
        assert result.stderr == ""


@pytest.mark.parametrize("step", STEPS)
def test_korean_says_the_same_figures(demo, step: str):
    options = ("--against", "solutions", *SMALL.get(step, ()))
    english = demo(step, *options).figures
    korean = demo(step, *options, "--lang", "ko").figures
    assert "실행한 코드" in korean
    pairs = list(zip(english.splitlines(), korean.splitlines(), strict=True))
    for line, other in pairs[1:]:
        assert sorted(re.findall(r"[\d.,]*\d", line)) == sorted(re.findall(r"[\d.,]*\d", other))


@pytest.mark.parametrize(
    ("env", "korean"),
    [
        ({"AUTOGRADER_LANG": "ko"}, True),
        ({"AUTOGRADER_LANG": "", "LC_ALL": "ko_KR.UTF-8"}, True),
        ({"AUTOGRADER_LANG": "en", "LC_ALL": "ko_KR.UTF-8"}, False),
        ({"AUTOGRADER_LANG": "", "LC_ALL": "C", "LANG": "ko_KR.UTF-8"}, False),
    ],
)
def test_the_language_comes_from_the_setting_and_then_the_locale(
    demo, changed, env: dict[str, str], korean: bool
):
    script = changed("step04")
    assert ("실행한 코드" in demo(script, "--d-ff", "64", env=env).figures) is korean


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("def f(:\n", "line 1: SyntaxError", id="syntax"),
        pytest.param("\n1 / 0\n", "line 2: ZeroDivisionError", id="import"),
        pytest.param("", "has no attribute 'PositionwiseFeedForward'", id="empty"),
        pytest.param('raise ValueError("\\x1b[2J")', r"ValueError: \x1b[2J", id="escape codes"),
    ],
)
def test_broken_code_gives_one_line_and_no_traceback(demo, learner, source: str, words: str):
    result = demo(learner(source))
    assert result.returncode == 1
    assert words in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_a_result_that_does_not_fit_gives_one_line_and_no_traceback(demo, changed):
    result = demo(changed("step04", ("return self.w_2(hidden)", "return None")))
    assert result.returncode == 1
    assert "The demo stopped: what exercises/step04/feed_forward.py computed" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_sizes_must_be_positive(demo):
    result = demo("step04", "--against", "solutions", "--d-ff", "0")
    assert result.returncode == 2
    assert "must be at least 1" in result.stderr


def test_a_demo_runs_from_anywhere_in_a_fresh_process(tmp_path: Path):
    script = ROOT / "exercises" / "step04" / "demo.py"
    result = subprocess.run(
        [sys.executable, str(script), "--against", "solutions", "--d-ff", "64", "--lang", "ko"],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        timeout=120,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "66,112" in result.stdout


def test_a_reader_who_leaves_early_sees_no_traceback():
    ours, theirs = os.pipe()
    os.close(ours)
    demo = ROOT / "exercises/step02/demo.py"
    command = [sys.executable, demo, "--against", "solutions"]
    with os.fdopen(theirs, "w") as pipe:
        left = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert (left.returncode, left.stderr) == (0, "")
