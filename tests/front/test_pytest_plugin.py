"""The pytest plugin, as a learner meets it: pytest run on a folder with a stub and its test."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

# Loaded here once: pytester forgets what is first imported inside it, and torch loads only once.
import autograder.core.grading
import autograder.front.account  # noqa: F401
from autograder.core.step import all_steps

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
SOLUTION = (ROOT / "solutions/step04/feed_forward.py").read_text(encoding="utf-8")
NO_RELU = SOLUTION.replace("hidden = hidden.relu()", "hidden = hidden")
CHECKS = ["shape", "parameters", "output", "positions", "dropout", "gradients", "scaling"]
FRAMES = ("Traceback", "site-packages", "_pytest", "autograder/", 'File "')

Learn = Callable[..., Path]


@pytest.fixture
def learn(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Learn:
    """Makes exercises/stepNN with a learner's text in it, or the stub."""
    monkeypatch.setenv("AUTOGRADER_LANG", "en")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--seed 7")  # mistakes are then observed once for all

    def make(text: str | None = None, step: str = "step04") -> Path:
        folder = pytester.path / "exercises" / step
        folder.mkdir(parents=True)
        for path in (ROOT / "exercises" / step).glob("*.py"):
            shutil.copy(path, folder)
        if text is not None:
            stub = next(p for p in folder.glob("*.py") if (folder / f"test_{p.name}").is_file())
            stub.write_text(text, encoding="utf-8")
        return folder

    return make


def shown(result: pytest.RunResult) -> str:
    """What the learner sees, which never holds a frame of anybody else's code."""
    text = result.stdout.str() + result.stderr.str()
    assert not [f for f in FRAMES if f in text]
    return text


def test_after_the_last_step_the_learners_own_model_is_trained(
    learn: Learn, pytester: pytest.Pytester
):
    last = all_steps()[-1]
    learn(last.solution.read_text(encoding="utf-8"), last.name)
    result = pytester.runpytest(f"exercises/{last.name}")
    assert result.ret == 0
    assert "autograder train copy" in shown(result)


def test_a_stub_is_told_what_is_missing(learn: Learn, pytester: pytest.Pytester):
    learn()
    result = pytester.runpytest("exercises/step04")
    result.assert_outcomes(failed=6, skipped=1)
    assert result.ret == 1
    text = shown(result)
    assert text.count("Not implemented yet: feed_forward.py, line") == 1
    assert "then run: pytest exercises/step04" in text
    assert "step04  Position-wise feed-forward network  0 of 10" in text


def test_a_solution_gets_full_marks(learn: Learn, pytester: pytest.Pytester):
    learn(SOLUTION)
    result = pytester.runpytest("exercises/step04")
    result.assert_outcomes(passed=7)
    assert result.ret == 0
    text = shown(result)
    assert "✓   3/3  computes max(0, x W_1 + b_1) W_2 + b_2" in text
    assert "python exercises/step04/demo.py" in text
    assert "10 of 10" in text


def test_a_mistake_is_named_with_its_question(learn: Learn, pytester: pytest.Pytester):
    learn(NO_RELU)
    result = pytester.runpytest("exercises/step04")
    assert result.ret == 1
    text = shown(result)
    assert "✗   0/3  computes" in text
    assert "yours is" in text and "asked is" in text and "of the numbers differ" in text
    assert "Known mistake: there is no activation between the two layers." in text
    assert "what single map could replace them?" in text
    assert "✓   2/2  has two linear layers" in text


def test_every_check_is_an_item_of_the_test_file(learn: Learn, pytester: pytest.Pytester):
    learn()
    lines = pytester.runpytest("exercises/step04", "--collect-only", "-q").outlines
    file = "exercises/step04/test_feed_forward.py"
    assert [line for line in lines if "::" in line] == [f"{file}::{name}" for name in CHECKS]


def test_a_selection_is_summed_as_such(learn: Learn, pytester: pytest.Pytester):
    learn(NO_RELU)
    result = pytester.runpytest("exercises/step04", "-k", "output or shape")
    result.assert_outcomes(passed=1, failed=1, deselected=5)
    text = shown(result)
    assert "1 of 4 (2 of 7 checks were run)" in text
    assert "passes gradients" not in text


def test_x_stops_at_the_first_failure(learn: Learn, pytester: pytest.Pytester):
    learn()
    result = pytester.runpytest("exercises/step04", "-x")
    result.assert_outcomes(failed=1)
    assert "1 of 7 checks were run" in shown(result)


@pytest.mark.parametrize("options", [("-v",), ("-vv",), ("-q",), ("-rA",), ("--tb=no",)])
def test_usual_options_leave_one_line_a_check(
    learn: Learn, pytester: pytest.Pytester, options: tuple[str, ...]
):
    learn(NO_RELU)
    result = pytester.runpytest("exercises/step04", *options)
    text = shown(result)
    assert result.ret == 1
    assert text.count("  computes max(0, x W_1 + b_1) W_2 + b_2") == 1
    assert ("Known mistake" in text) == ("--tb=no" not in options)
    assert "of 10" in text


def test_v_shows_points_beside_each_check(learn: Learn, pytester: pytest.Pytester):
    learn(NO_RELU)
    text = shown(pytester.runpytest("exercises/step04", "-v"))
    assert "::output FAILED 0/3" in text
    assert "::parameters PASSED 2/2" in text


def test_qq_says_nothing_but_the_dots(learn: Learn, pytester: pytest.Pytester):
    learn(SOLUTION)
    assert "of 10" not in shown(pytester.runpytest("exercises/step04", "-qq"))


def test_inside_the_folder(
    learn: Learn, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(learn(SOLUTION))
    result = pytester.runpytest()
    result.assert_outcomes(passed=7)
    assert "python demo.py" in shown(result)


def test_junit_carries_points_and_messages(learn: Learn, pytester: pytest.Pytester):
    learn(NO_RELU)
    pytester.runpytest("exercises/step04", "--junitxml=out.xml")
    cases = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    found = {case.attrib["name"]: case for case in cases}
    assert list(found) == CHECKS
    noted = {
        name: {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
        for name, case in found.items()
    }
    assert noted["output"] | {"points": "0", "max_points": "3"} == noted["output"]
    assert noted["output"]["misconceptions"] == "no-activation"
    assert noted["parameters"] | {"points": "2", "state": "passed"} == noted["parameters"]
    failure = found["output"].find("failure")
    assert failure is not None and failure.text is not None
    assert "Known mistake" in failure.attrib["message"] and "Known mistake" in failure.text
    assert found["parameters"].find("failure") is None


def test_several_steps_are_summed(learn: Learn, pytester: pytest.Pytester):
    learn(SOLUTION)
    learn(step="step01")
    text = shown(pytester.runpytest("exercises"))
    assert "step01  Scaled dot-product attention  0 of 10" in text
    assert "step04  Position-wise feed-forward network  10 of 10" in text
    assert "All steps  10 of 20" in text


def test_against_solutions_and_against_a_file(learn: Learn, pytester: pytest.Pytester):
    learn()
    pytester.path.joinpath("whole.py").write_text(NO_RELU, encoding="utf-8")
    right = pytester.runpytest("exercises/step04", "--against", "solutions")
    right.assert_outcomes(passed=7)
    wrong = pytester.runpytest("exercises/step04", "--against", "whole.py")
    assert "Known mistake" in shown(wrong)
    assert "pytest exercises/step04 --against whole.py" in shown(wrong)
    usage = pytester.runpytest("exercises/step04", "--against", "nothing.py")
    assert usage.ret == pytest.ExitCode.USAGE_ERROR
    assert "nothing.py" in usage.stderr.str()


def test_korean(learn: Learn, pytester: pytest.Pytester):
    learn(NO_RELU)
    text = shown(pytester.runpytest("exercises/step04", "--lang", "ko"))
    assert "알려진 실수" in text and "10점 중" in text
    assert "Known mistake" not in text


def test_an_error_shows_the_learners_line_and_no_other(learn: Learn, pytester: pytest.Pytester):
    line = r"raise ValueError('\x1b[2J[bold]' + '\u202e' * 3)"
    learn(SOLUTION.replace("hidden = self.w_1(x)", line))
    text = shown(pytester.runpytest("exercises/step04"))
    assert "in forward: your code stopped here." in text
    assert line in text
    assert r"ValueError: \x1b[2J[bold]\u202e\u202e\u202e" in text
    assert "\x1b[2J" not in text and "\u202e" not in text


def test_prints_and_warnings_cost_nothing_and_are_shown(learn: Learn, pytester: pytest.Pytester):
    talk = "import warnings; warnings.warn('careful'); print('\\x1b[31mhello' + 'x' * 9000)"
    learn(f"{SOLUTION}\n{talk}\n")
    result = pytester.runpytest("exercises/step04")
    result.assert_outcomes(passed=7)
    text = shown(result)
    assert r"| \x1b[31mhello" in text
    assert "careful" in text
    assert 3000 < text.count("x") < 6000


def test_in_process_runs_the_code_here_and_shows_its_prints(
    learn: Learn, pytester: pytest.Pytester
):
    learn(f"{SOLUTION}\nimport os\nprint('process', os.getpid())\n")
    child = shown(pytester.runpytest_inprocess("exercises/step04"))
    here = shown(pytester.runpytest_inprocess("exercises/step04", "--in-process"))
    assert "10 of 10" in child and "10 of 10" in here
    assert "| process" in child and f"| process {os.getpid()}" not in child
    assert f"| process {os.getpid()}" in here


def test_the_same_seed_draws_the_same_numbers(learn: Learn, pytester: pytest.Pytester):
    learn(NO_RELU)
    one, two, other = (
        [line for line in pytester.runpytest("exercises", "--seed", s).outlines if "yours" in line]
        for s in ("7", "7", "8")
    )
    assert one == two != other


def test_advice_is_a_remark_and_fails_nothing(learn: Learn, pytester: pytest.Pytester):
    unscaled = SOLUTION.replace(
        "hidden = self.dropout(hidden)",
        "hidden = hidden * (torch.rand_like(hidden) >= self.dropout.p * self.training)",
    )
    learn(unscaled)
    result = pytester.runpytest("exercises/step04")
    assert result.ret == 0
    result.assert_outcomes(passed=6)
    text = shown(result)
    assert "1 remark" in text
    assert "10 of 10" in text
    assert "what a hidden unit is multiplied by" in text


def test_a_missing_file_is_told(learn: Learn, pytester: pytest.Pytester):
    (learn() / "feed_forward.py").unlink()
    result = pytester.runpytest("exercises/step04")
    assert result.ret == 1
    assert "There is no file feed_forward.py" in shown(result)


def test_a_check_that_was_not_tried_is_not_passed(learn: Learn, pytester: pytest.Pytester):
    learn("def f(:\n")
    result = pytester.runpytest("exercises/step04")
    result.assert_outcomes(failed=1, skipped=6)
    assert "feed_forward.py, line 1: Python cannot read this yet" in shown(result)
    alone = pytester.runpytest("exercises/step04", "-k", "output")
    assert alone.ret == 1
    assert "Not tried" in shown(alone)


def test_a_step_that_does_not_exist_is_told(pytester: pytest.Pytester):
    pytester.makepyfile(
        test_news="from autograder.front.pytest_plugin import checks_of\ntest_x = checks_of('99')"
    )
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "no step '99'" in result.stdout.str()


def test_other_tests_are_shown_as_ever(learn: Learn, pytester: pytest.Pytester):
    folder = learn(NO_RELU)
    (folder / "test_own.py").write_text("def test_sum():\n    assert 1 + 1 == 3\n")
    result = pytester.runpytest("exercises/step04")
    text = result.stdout.str()
    assert "FAILED exercises/step04/test_own.py::test_sum" in text
    assert ">       assert 1 + 1 == 3" in text or ">   " in text
    assert "FAILED exercises/step04/test_feed_forward.py" not in text
    assert "Known mistake" in text


def test_a_file_that_shadows_a_standard_module_hurts_nothing(learn: Learn):
    folder = learn(SOLUTION)
    (folder / "random.py").write_text("raise RuntimeError('not the one you want')\n")
    (folder / "token.py").write_text("raise RuntimeError('not the one you want')\n")
    for place, arguments in ((folder.parents[1], ["exercises/step04"]), (folder, [])):
        # The `pytest` program: `python -m pytest` puts the current folder first by itself.
        result = subprocess.run(
            [Path(sys.executable).with_name("pytest"), "-p", "no:cacheprovider", *arguments],
            cwd=place,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert result.returncode == 0, result.stdout + result.stderr


def test_loading_the_plugin_imports_next_to_nothing():
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import autograder.front.pytest_plugin\n"
        "sys.exit(' '.join(sorted(set(sys.modules) - before)))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = [m for m in result.stderr.split() if not m.startswith("autograder")]
    assert loaded == []
