"""Demos: each runs the code beside it and prints figures that it computed from that code."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.authoring.stubs import stub_of

ROOT = Path(__file__).parents[1]
STEPS = sorted(path.parent.name for path in (ROOT / "exercises").glob("step*/demo.py"))

NAMED_OTHERWISE = """
from torch import nn


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )

    def forward(self, x):
        return self.net(x)
"""

CONVOLUTIONS = """
from torch import nn


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.up = nn.Conv1d(d_model, d_ff, 1)
        self.down = nn.Conv1d(d_ff, d_model, 1)

    def forward(self, x):
        return self.down(self.up(x.transpose(1, 2)).relu()).transpose(1, 2)
"""

RAW_MATRICES = """
import torch
from torch import nn


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.a = nn.Parameter(torch.randn(d_model, d_ff) / d_model**0.5)
        self.b = nn.Parameter(torch.randn(d_ff, d_model) / d_ff**0.5)

    def forward(self, x):
        return (x @ self.a).relu() @ self.b
"""


@dataclass(frozen=True)
class Result:
    """How a demo ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


Demo = Callable[..., Result]


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Demo:
    """Run a demo as a person would, in English unless told otherwise, with torch loaded already."""

    def run(script: Path | str, *options: str, env: dict[str, str] | None = None) -> Result:
        if isinstance(script, str):
            script = ROOT / "exercises" / script / "demo.py"
        monkeypatch.setattr(sys, "argv", [str(script), *options])
        for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
            monkeypatch.delenv(name, raising=False)
        for name, setting in ({"AUTOGRADER_LANG": "en"} | (env or {})).items():
            monkeypatch.setenv(name, setting)
        capsys.readouterr()
        status = 0
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            status = end.code
        return Result(status, *capsys.readouterr())

    return run


def learner(tmp_path: Path, source: str, step: str = "step04", name: str = "feed_forward") -> Path:
    """Put a learner's code beside a copy of the demo, and return the demo."""
    folder = tmp_path / "exercises" / step
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "exercises" / step / "demo.py", folder)
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return folder / "demo.py"


def figures(result: Result) -> str:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_step01_shows_rows_that_sum_to_one_and_what_the_scale_is_for(demo: Demo):
    text = figures(demo("step01", "--against", "solutions"))
    assert text.count("sum 1.000") == 6
    spreads = [line.split() for line in text.splitlines() if line.strip().startswith("d_k =")]
    plain, scaled = zip(
        *((float(words[words.index("by") - 1]), float(words[-1])) for words in spreads), strict=True
    )
    assert [words[2] for words in spreads] == ["4", "64"]
    assert plain == pytest.approx((4, 64), rel=0.25)
    assert scaled == pytest.approx((1, 1), rel=0.25)


def test_step01_tells_a_missing_scale_by_the_weights_alone(demo: Demo, tmp_path: Path):
    source = (ROOT / "solutions/step01/scaled_dot_product.py").read_text(encoding="utf-8")
    unscaled = source.replace("scores / math.sqrt(d_k)", "scores")
    assert unscaled != source
    text = figures(demo(learner(tmp_path, unscaled, "step01", "scaled_dot_product")))
    spread = next(line for line in text.splitlines() if line.strip().startswith("d_k = 64"))
    assert float(spread.split()[-1]) > 40


def test_step01_says_when_the_mask_does_not_hide(demo: Demo, tmp_path: Path):
    source = (ROOT / "solutions/step01/scaled_dot_product.py").read_text(encoding="utf-8")
    deaf = source.replace("if mask is not None:", "if False:")
    assert deaf != source
    text = figures(demo(learner(tmp_path, deaf, "step01", "scaled_dot_product")))
    assert "the mask does not hide it" in text


def test_step03_prints_the_published_count_and_a_causal_map(demo: Demo):
    text = figures(demo("step03", "--against", "solutions"))
    assert "parameters: 1,050,624\n" in text
    assert "weights (2, 8, 10, 7)" in text
    assert "3 copies; after a change to one, 1 of them changed" in text
    assert text.count("sum 1.000") == 16
    assert "weight on words ahead: 0.000" in text


def test_step03_computes_what_it_prints(demo: Demo):
    text = figures(demo("step03", "--against", "solutions", "--h", "3", "--d-model", "15"))
    assert "parameters: 960\n" in text
    assert "weights (2, 3, 10, 7)" in text


def test_step03_goes_on_without_kept_weights(demo: Demo, tmp_path: Path):
    source = (ROOT / "solutions/step03/multi_head.py").read_text(encoding="utf-8")
    source = source.replace("x, self.attn = attention(", "x, _ = attention(")
    text = figures(demo(learner(tmp_path, source, "step03", "multi_head")))
    assert "`.attn` holds no attention weights" in text
    assert "parameters: 1,050,624\n" in text


def test_step04_prints_the_published_figures(demo: Demo):
    text = figures(demo("step04", "--against", "solutions"))
    assert "(2, 10, 512) -> hidden (2, 10, 2048) -> output (2, 10, 512)" in text
    assert "parameters: 2,099,712\n" in text
    assert "reach the second layer: 50%" in text
    difference = next(line for line in text.splitlines() if "outputs differ by" in line)
    assert 0 <= float(difference.split()[-1]) < 1e-5


def test_step04_computes_what_it_prints(demo: Demo):
    text = figures(demo("step04", "--against", "solutions", "--d-ff", "64"))
    assert "(2, 10, 512) -> hidden (2, 10, 64) -> output (2, 10, 512)" in text
    assert "parameters: 66,112\n" in text


@pytest.mark.parametrize(
    ("source", "name"), [(NAMED_OTHERWISE, "net.0"), (CONVOLUTIONS, "up")], ids=["net", "conv"]
)
def test_step04_finds_a_hidden_layer_of_another_name(
    demo: Demo, tmp_path: Path, source: str, name: str
):
    text = figures(demo(learner(tmp_path, source)))
    assert f"no layer named w_1 here. The hidden layer was found by its width, 2048: {name}" in text
    assert "hidden (2, 10, 2048)" in text
    assert "parameters: 2,099,712\n" in text
    assert "reach the second layer: 50%" in text


def test_step04_says_when_it_cannot_look_inside_and_goes_on(demo: Demo, tmp_path: Path):
    text = figures(demo(learner(tmp_path, RAW_MATRICES)))
    assert "its inside cannot be shown" in text
    assert "parameters: 2,097,152\n" in text
    assert "By the formula 2,099,712" in text
    assert "outputs differ by" in text


def test_step04_sees_that_the_relu_is_missing(demo: Demo, tmp_path: Path):
    text = figures(demo(learner(tmp_path, NAMED_OTHERWISE.replace("nn.ReLU()", "nn.Identity()"))))
    assert "reach the second layer: 0%" in text
    assert "Is there a ReLU" in text


def test_step06_shows_normalized_rows_and_an_untouched_residual(demo: Demo):
    text = figures(demo("step06", "--against", "solutions"))
    rows = [line for line in text.splitlines() if line.strip().startswith("mean")]
    assert len(rows) == 3
    assert all("->   0.000" in row and row.endswith("->  1.000") for row in rows)
    assert "parameters: 1,024 " in text
    assert "[-1.162, -0.387, 0.387, 1.162]" in text
    assert "the output differs from x by 0.000" in text
    assert "adds from 1.000 to 1.000" in text


def test_step06_tells_that_post_norm_is_no_clear_path(demo: Demo, tmp_path: Path):
    source = (ROOT / "solutions/step06/residual.py").read_text(encoding="utf-8")
    post = source.replace("branch = self.norm(x)", "branch = x")
    post = post.replace("return x + branch", "return self.norm(x + branch)")
    text = figures(demo(learner(tmp_path, post, "step06", "residual")))
    assert "With a residual connection these would be 0, and 1 to 1." in text


@pytest.mark.parametrize("step", STEPS)
def test_the_reference_gives_the_same_figures_as_the_model_answer(demo: Demo, step: str):
    shown = [
        figures(demo(step, "--against", against)).split("\n", 1)[1]
        for against in ("solutions", "reference")
    ]
    # What depends on the draw of the first weights, or is the noise of rounding, may differ.
    drawn = {"step03": "sum 1.000", "step04": "differ by"}.get(step)
    if drawn:
        shown = ["\n".join(t for t in text.split("\n") if drawn not in t) for text in shown]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("step", STEPS)
def test_a_stub_gives_a_friendly_line_in_either_language(demo: Demo, step: str, tmp_path: Path):
    answer = next((ROOT / "solutions" / step).glob("*.py"))
    stub = stub_of(answer.read_text(encoding="utf-8"), int(step.removeprefix("step")))
    script = learner(tmp_path, stub, step, answer.stem)
    for language, words in (("en", "Nothing to show yet"), ("ko", "아직 보여 줄 것이 없어요")):
        result = demo(script, "--lang", language)
        assert result.returncode == 1
        assert words in result.stdout
        assert f"exercises/{step}/{answer.name}" in result.stdout
        assert "--against solutions" in result.stdout
        assert result.stderr == ""


@pytest.mark.parametrize("step", STEPS)
def test_korean_says_the_same_figures(demo: Demo, step: str):
    english = figures(demo(step, "--against", "solutions"))
    korean = figures(demo(step, "--against", "solutions", "--lang", "ko"))
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
    demo: Demo, tmp_path: Path, env: dict[str, str], korean: bool
):
    script = learner(tmp_path, NAMED_OTHERWISE)
    assert ("실행한 코드" in figures(demo(script, "--d-ff", "64", env=env))) is korean


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("def f(:\n", "line 1: SyntaxError", id="syntax"),
        pytest.param("\n1 / 0\n", "line 2: ZeroDivisionError", id="import"),
        pytest.param("", "has no attribute 'PositionwiseFeedForward'", id="empty"),
        pytest.param(
            NAMED_OTHERWISE.replace("self.net(x)", "None"), "The demo stopped", id="returns None"
        ),
        pytest.param('raise ValueError("\\x1b[2J")', r"ValueError: \x1b[2J", id="escape codes"),
    ],
)
def test_broken_code_gives_one_line_and_no_traceback(
    demo: Demo, tmp_path: Path, source: str, words: str
):
    result = demo(learner(tmp_path, source))
    assert result.returncode == 1
    assert words in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_sizes_must_be_positive(demo: Demo):
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
