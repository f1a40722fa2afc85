"""Pictures in a notebook: yours, the reference's, the difference, and what is told instead."""

from __future__ import annotations

import base64
import html
import importlib
import random
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import torch

from autograder.authoring.stubs import stub_of
from autograder.authoring.variations import variations
from autograder.core.step import Step, all_steps, find_step, kit_file
from autograder.core.trouble import Trouble

pytest.importorskip("matplotlib")

from autograder.front.notebook import drawing, pictures

ROOT = Path(__file__).parents[2]


def demo_of(step: Step) -> ModuleType:
    return demo_called(step.name)


@cache
def demo_called(name: str) -> ModuleType:
    return code(kit_file("exercises", name, "demo.py").read_text(encoding="utf-8"))


def code(text: str) -> ModuleType:
    module = ModuleType("code_to_be_drawn")
    exec(compile(text, "code.py", "exec", dont_inherit=True), module.__dict__)
    return module


def solution(step: Step, *edits: tuple[str, str]) -> str:
    text = step.solution.read_text(encoding="utf-8")
    for find, replace in edits:
        assert text.count(find) == 1
        text = text.replace(find, replace)
    return text


def words(figure: object) -> list[str]:
    """All that is written in a figure, but for numbers at axes and in cells."""
    from matplotlib.text import Text

    found = figure.findobj(Text)  # type: ignore[attr-defined]
    return [t.get_text() for t in found if any(map(str.isalpha, t.get_text()))]


def picture(step: Step, text: str, lang: str = "en") -> pictures.Picture:
    return pictures.picture(demo_of(step), step, code(text), lang)


def drawn(step: Step, text: str, lang: str = "en") -> str:
    return "\n".join(words(picture(step, text, lang).figure()))


def told(step: Step, text: str) -> str:
    """What a picture tells, without the time that drawing takes."""
    return picture(step, text).words()


DRAWN = [step for step in all_steps() if hasattr(demo_of(step), "picture")]
each_step = pytest.mark.parametrize("step", DRAWN, ids=lambda step: step.name)


def test_there_are_pictures_where_people_would_rather_look():
    assert {1, 2, 5, 11, 12, 13} <= {step.number for step in DRAWN}


@each_step
def test_the_model_answer_and_the_reference_look_the_same(step: Step):
    reference = importlib.import_module(f"transformer_ref.{step.slug}")
    for subject in (reference, code(solution(step))):
        seen = pictures.picture(demo_of(step), step, subject, "en").words()
        assert all(line.endswith("no difference") for line in seen.splitlines())


@each_step
def test_every_honest_variation_looks_right(step: Step):
    honest = variations(ROOT, step.slug)
    assert honest
    for name, text in honest.items():
        assert "largest difference" not in told(step, text), name


@each_step
@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, about some of the mistakes
def test_a_mistake_is_a_difference(step: Step):
    """Not each of them can be seen here, but some can, and none brings the drawing down."""
    differ = 0
    for mistake in step.misconceptions:
        try:
            seen = told(step, mistake.applied_to(solution(step)))
        except Trouble as trouble:
            assert trouble.key == "picture_stopped"
        else:
            differ += "largest difference" in seen
    assert differ


@each_step
@pytest.mark.parametrize(("lang", "why"), [("en", "No picture yet"), ("ko", "아직 그릴 그림이")])
def test_a_stub_is_told_in_words(step: Step, lang: str, why: str, capsys):
    stub = code(stub_of(solution(step), step.number))
    pictures.show(demo_of(step), step, stub, lang)
    out, err = capsys.readouterr()
    assert out.startswith(why)
    assert out.count("\n") == 1
    assert err == ""


@each_step
def test_captions_and_axes_are_there_in_both_languages(step: Step):
    demo = demo_of(step)
    keys = demo.picture(code(solution(step))).keys()
    for lang in ("en", "ko"):
        told = drawn(step, solution(step), lang)
        spoken = lang if drawing.writes_korean() else "en"
        for key in (*keys, "down", "across"):
            assert demo.TEXTS[spoken][key] in told
            assert demo.TEXTS[lang][key]


@each_step
@pytest.mark.filterwarnings("error")
def test_korean_letters_have_a_font(step: Step):
    if not drawing.writes_korean():
        pytest.skip("no font with Korean letters")
    figure = picture(step, solution(step), "ko").figure()
    assert "기준 구현" in words(figure)
    assert drawing.png(figure).startswith(b"\x89PNG")  # a missing letter would be a warning


@each_step
def test_nothing_that_is_written_is_small(step: Step):
    from matplotlib.text import Text

    figure = picture(step, solution(step)).figure()
    drawing.png(figure)
    assert all(t.get_fontsize() >= 9 for t in figure.findobj(Text) if t.get_text())


@each_step
def test_the_kernel_is_left_as_it_was(step: Step):
    import matplotlib

    torch.manual_seed(11)
    random.seed(11)
    torch.set_default_dtype(torch.float64)
    style = dict(matplotlib.rcParams)
    before = torch.get_rng_state(), random.getstate()
    try:
        with torch.inference_mode():
            told = drawn(step, solution(step))
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert "largest difference" not in told
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()
    assert dict(matplotlib.rcParams) == style


ATTENTION = find_step(1)
RETURNS = "    return output, p_attn\n"


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        pytest.param("output, p_attn.T", "the shapes differ:\n(5, 4), not (4, 5)", id="transposed"),
        pytest.param("output, p_attn[None]", "(1, 4, 5), not (4, 5)", id="one dimension more"),
        pytest.param("output, p_attn.expand(2, 2, 4, 5)", "shape (2, 2, 4, 5)", id="too many"),
        pytest.param("output, p_attn.sum()", "shape (),", id="a number"),
        pytest.param("output, p_attn[:0]", "shape (0, 5)", id="empty"),
        pytest.param("output, p_attn.tolist()", "list of 4, not a tensor", id="list"),
        pytest.param("output, None", "None, not a tensor", id="none"),
        pytest.param("output, p_attn.to_sparse()", "not a tensor", id="sparse"),
        pytest.param("output, p_attn * float('nan')", "20 of 20 NaN or infinite", id="all nan"),
        pytest.param("output, p_attn + 0.0012", "largest difference 0.0012", id="a little more"),
        pytest.param("output, p_attn + 1e-7", "no difference", id="rounding"),
        pytest.param("output, p_attn * 1e30", "largest difference", id="huge"),
        pytest.param("output, p_attn.bfloat16()", "largest difference 0.00", id="coarse"),
    ],
)
def test_what_cannot_be_compared_is_said(returned: str, told: str):
    text = solution(ATTENTION, (RETURNS, f"    return {returned}\n"))
    figure = picture(ATTENTION, text).figure()
    assert told in "\n".join(words(figure))
    assert drawing.png(figure).startswith(b"\x89PNG")


def test_one_nan_leaves_the_rest_comparable():
    broken = "    p_attn = p_attn.index_fill(-1, torch.tensor([2]), float('inf'))\n"
    told = drawn(ATTENTION, solution(ATTENTION, (RETURNS, broken + RETURNS)))
    assert "4 of 20 NaN or infinite (grey)" in told
    assert "no difference but where yours is grey" in told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param("raise ValueError('\\x1b[2J$x$')", r"ValueError: \x1b[2J$x$", id="escape"),
        pytest.param("raise SystemExit(3)", "SystemExit: 3", id="exit"),
        pytest.param("return None", "TypeError", id="nothing"),
        pytest.param("raise NotImplementedError('later')", "later is not implemented", id="later"),
    ],
)
def test_code_that_stops_costs_one_line(body: str, told: str, capsys):
    text = solution(ATTENTION, (RETURNS, f"    {body}\n"))
    pictures.show(demo_of(ATTENTION), ATTENTION, code(text), "en")
    out, err = capsys.readouterr()
    assert told in out
    assert out.count("\n") == 1
    assert "Traceback" not in out + err


def test_without_matplotlib_a_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    pictures.show(demo_of(ATTENTION), ATTENTION, code(solution(ATTENTION)), "en")
    assert "[plots]" in capsys.readouterr().out


def test_outside_a_notebook_nothing_is_shown(capsys):
    pictures.show(demo_of(ATTENTION), ATTENTION, code(solution(ATTENTION)), "en")
    assert capsys.readouterr() == ("", "")


def test_in_ipython_the_picture_comes_with_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shells = pytest.importorskip("IPython.core.interactiveshell")
    capture = pytest.importorskip("IPython.utils.capture")
    shells.InteractiveShell.instance()
    try:
        with capture.capture_output() as captured:
            text = solution(ATTENTION, ("/ math.sqrt(d_k)", "/ d_k"))
            pictures.show(demo_of(ATTENTION), ATTENTION, code(text), "en")
        [output] = captured.outputs
    finally:
        shells.InteractiveShell.clear_instance()
    shown = output.data["text/html"]
    picture, alt = re.fullmatch(
        r'<img src="data:image/png;base64,([^"]+)" alt="([^"]+)" width="\d+">', shown
    ).groups()
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    alt = html.unescape(alt)
    assert alt == output.data["text/plain"]
    assert alt.count("largest difference") == 2
