"""check and watch on live objects, as a learner meets them in a script or at a prompt."""

import random
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from rich.cells import cell_len

from autograder import check, watch
from autograder.authoring.stubs import stub_of
from autograder.core.grading import grade
from autograder.core.live import Live
from autograder.core.source import Source
from autograder.core.step import Step, all_steps, find_step
from autograder.core.verdict import Verdict
from autograder.front.notebook.here import CannotCheck, NotPassed
from autograder.front.notebook.table import Table

STEP = find_step(4)
SOLUTION = STEP.solution.read_text(encoding="utf-8")
RELU = "hidden = hidden.relu()"
NO_RELU = SOLUTION.replace(RELU, "hidden = hidden")
KIT = ("Traceback", "autograder/", "site-packages")

Place = Callable[..., Any]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Runs text in one namespace after the other, as a prompt does; `.out` and `.err` of the last.

    What has a name is a script of that name.
    """
    monkeypatch.setenv("AUTOGRADER_LANG", "en")
    space: dict[str, Any] = {"check": check, "watch": watch, "__name__": "__main__"}

    def run(text: str, script: str = "") -> SimpleNamespace:
        name = "<stdin>"
        if script:
            name = str(tmp_path / script)
            Path(name).write_text(text, encoding="utf-8")
        capsys.readouterr()
        exec(compile(text, name, "exec"), space)
        return SimpleNamespace(**capsys.readouterr()._asdict(), space=space)

    return run


def words_of(place: Place, text: str, kind: type[Exception] = NotPassed) -> str:
    """What is told by the exception that the text ends in, which shows no frame of the kit."""
    with pytest.raises(kind) as caught:
        place(text)
    shown = "\n".join(caught.value._render_traceback_())
    assert shown == str(caught.value)
    assert not [part for part in KIT if part in shown]
    return shown


# ---------------------------------------------------------------- the verdict


@pytest.mark.parametrize("name", ['"step04"', "4", '"4"', '"feed_forward"'])
def test_all_checks_are_shown_under_any_name_of_the_step(place: Place, name: str):
    place(SOLUTION)
    seen = place(f"result = check({name})")
    assert "10 of 10" in seen.out
    assert seen.out.count("✓") == len(STEP.checks)
    assert (seen.err, seen.space["result"]) == ("", None)


def test_one_check_gives_its_points_and_a_line(place: Place):
    place(SOLUTION)
    seen = place("points = [check('step04', name) for name in ('output', 'positions')]")
    assert seen.space["points"] == [3, 1]
    assert len(seen.out.splitlines()) == 2


def test_a_check_that_earns_nothing_raises_the_words_of_the_verdict(place: Place):
    place(NO_RELU)
    told = words_of(place, "check(4, 'output')")
    mistake = STEP.misconception("no-activation")
    assert "0/3" in told and "asked is" in told
    assert f"Known mistake: {mistake.name['en']}" in told and mistake.question["en"] in told
    assert place("points = check(4, 'shape')").space["points"] == 1


def test_what_is_changed_is_graded_as_it_is_now(place: Place):
    place(NO_RELU)
    assert "7 of 10" in place("check(4)").out
    place(SOLUTION)
    assert "10 of 10" in place("check(4)").out


def test_a_check_that_was_not_tried_tells_what_stopped_it(place: Place):
    place(SOLUTION.replace(RELU, "while True: pass"))
    told = words_of(place, "check(4, 'output')")
    assert "Not tried" in told and "did not come to an end" in told


@pytest.mark.parametrize("step", all_steps(), ids=lambda s: s.name)
def test_live_objects_have_the_verdict_of_their_file(step: Step):
    path = step.solution
    source = Source.read(path)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source.text, str(path), "exec"), space)
    live = grade(step, Live("", str(path), namespace=space), seed=7)
    assert _told(live) == _told(grade(step, source, seed=7))
    assert live.points == 10


@pytest.mark.parametrize("slug", [m.slug for m in STEP.misconceptions][::6])
def test_mistakes_have_the_same_names(slug: str):
    text = STEP.misconception(slug).applied_to(SOLUTION)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "<cell>", "exec"), space)
    live = Live("", "", namespace=space, cells={"<cell>": 3})
    assert _told(grade(STEP, live, seed=7)) == _told(grade(STEP, Source(text, "x.py"), seed=7))


def _told(verdict: Verdict) -> list[tuple[Any, ...]]:
    return [(c.check, c.state, c.points, c.misconceptions) for c in verdict.checks]


# ---------------------------------------------------------------- what is not there, or not allowed


def test_a_name_that_is_not_there_asks_for_its_cell(place: Place):
    assert "Run the cell that defines it" in place("check(4)").out
    place("class PositionwiseFeedForwar: pass")
    assert "but PositionwiseFeedForwar is" in place("check(4)").out
    assert "has the cell not been run" in words_of(place, "check(4, 'output')")


def test_the_reference_in_the_learners_place_is_refused(place: Place):
    place("from transformer_ref import PositionwiseFeedForward")
    seen = place("check(4)")
    assert "0 of 10" in seen.out
    assert "transformer_ref.PositionwiseFeedForward is what you are asked to write" in seen.out


def test_the_same_module_stays_loaded_for_the_learner(place: Place):
    seen = place("import transformer_ref\nbefore = transformer_ref.attention\n" + SOLUTION)
    place("check(4)")
    assert (
        place("from transformer_ref import attention as after").space["after"]
        is (seen.space["before"])
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("check('step99')", ["no step step99", "step01", "step18"]),
        ("check(None)", ["no step None"]),
        ("check(4, 'nope')", ["step04 has no check nope", "output", "positions"]),
        ("check(4, 3)", ["no check 3"]),
        ("check(4, lang='fr')", ["no language fr"]),
        ("watch('step99')", ["no step step99"]),
    ],
)
def test_what_cannot_be_done_is_told_in_words(place: Place, text: str, words: list[str]):
    told = words_of(place, text, CannotCheck)
    assert [word for word in words if word not in told] == []


# ---------------------------------------------------------------- words


def test_a_script_that_checks_itself_is_told_its_lines(place: Place):
    text = SOLUTION.replace(RELU, "raise ValueError('so far')") + "\ncheck(4)\n"
    number = next(n for n, line in enumerate(text.splitlines(), 1) if "so far" in line)
    assert f"mine.py, line {number}, in forward" in place(text, "mine.py").out


def test_a_cell_is_told_by_its_number(place: Place):
    text = SOLUTION.replace(RELU, "raise ValueError")
    space: dict[str, Any] = {}
    exec(compile(text, "/somewhere/123.py", "exec"), space)
    verdict = grade(STEP, Live("", "", namespace=space, cells={"/somewhere/123.py": 5}))
    shown = Table(verdict, STEP, "en").text()
    assert re.search(r"In \[5\], line \d+, in forward", shown)
    assert re.search(r"In \[5\] \d+번째 줄", Table(verdict, STEP, "ko").text())


def test_korean_is_spoken_where_it_is_asked_for(place: Place, monkeypatch: pytest.MonkeyPatch):
    place(NO_RELU)
    assert "알려진 실수" in place("check(4, lang='ko')").out
    monkeypatch.setenv("AUTOGRADER_LANG", "ko")
    assert "알려진 실수" in words_of(place, "check(4, 'output')")
    assert "nope 항목은 없어요" in words_of(place, "check(4, 'nope')", CannotCheck)


@pytest.mark.parametrize("word", ["word ", "낱말 ", "x" * 300])
def test_words_in_a_graded_cell_fit_a_page(place: Place, word: str):
    place(NO_RELU + f"PositionwiseFeedForward.forward = lambda self, x: {{}}[{word * 30!r}]\n")
    told = words_of(place, "check(4, 'output', lang='ko')").splitlines()
    assert len(told) > 3 and max(cell_len(line) for line in told) <= 83


def test_prints_and_warnings_are_shown_harmless_and_not_on_stderr(place: Place):
    noisy = "print('\\x1b[31m<script>'); import warnings; warnings.warn('look'); "
    place(SOLUTION.replace(RELU, noisy + "hidden = hidden"))
    lost = "try: check(4, 'output')\nexcept Exception: pass"
    for text in ("check(4)", lost):
        seen = place(text)
        assert seen.err == ""
        assert "\\x1b[31m<script>" in seen.out and "\x1b" not in seen.out
        assert "UserWarning: look" in seen.out
        assert len(seen.out.splitlines()) < 50


def test_a_line_that_is_printed_again_and_again_is_shown_once(place: Place):
    place(SOLUTION.replace(RELU, "print('here', hidden.dim()); " + RELU))
    (line,) = [line for line in place("check(4)").out.splitlines() if "here 3" in line]
    assert re.fullmatch(r"  \| here 3  × \d+", line)


def test_a_cell_that_passes_repeats_no_prints(place: Place):
    place(SOLUTION.replace(RELU, "print('here'); " + RELU))
    assert "| here" in place("check(4)").out
    assert len(place("check(4, 'output')").out.splitlines()) == 1


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.data.append(data)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_table_is_told_to_who_cannot_see_it_and_holds_nothing_of_the_learners(lang: str):
    evil = "print('</pre><script>alert(1)</script>'); raise ValueError('<img src=x onerror=y>')"
    space: dict[str, Any] = {}
    exec(SOLUTION.replace(RELU, evil), space)
    verdict = grade(STEP, Live("", "", namespace=space))
    page = _Tags(Table(verdict, STEP, lang, ["a <note>"]).html())
    names = [tag for tag, _ in page.tags]
    assert {"caption", "table", "thead", "tbody", "pre"} <= set(names)
    assert not {"script", "img", "note"} & set(names) and not page.open
    assert page.tags[0][1]["lang"] == lang
    scopes = [attrs.get("scope") for tag, attrs in page.tags if tag == "th"]
    assert scopes == ["col"] * 3 + ["row"] * len(verdict.checks)
    shown = "".join(page.data)
    assert "<script>alert(1)</script>" in shown and "<img src=x onerror=y>" in shown
    rows, below = shown.split("a <note>")
    assert rows.count("✗") == len([c for c in verdict.checks if c.max_points])
    assert below.count("✗") == 1


# ---------------------------------------------------------------- the learner's own process


def _set_everything() -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("medium")
    torch.autograd.set_detect_anomaly(True)
    torch.set_num_threads(2)
    warnings.simplefilter("error")


def _settings() -> tuple[object, ...]:
    return (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.get_float32_matmul_precision(),
        torch.is_anomaly_enabled(),
        torch.get_num_threads(),
        tuple(torch.get_rng_state().tolist()),
        random.getstate(),
        tuple(warnings.filters),
        tuple(sys.path),
        sys.getrecursionlimit(),
    )


@pytest.fixture
def settings():
    """Put back after the test what `_set_everything` sets."""
    with warnings.catch_warnings():
        yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    torch.autograd.set_detect_anomaly(False)
    torch.set_num_threads(1)


@pytest.mark.parametrize("text", ["check(4)", "check(4, 'output')", "watch(4)"])
def test_settings_change_no_verdict_and_are_left_alone(place: Place, settings, text: str):
    place(SOLUTION)
    torch.manual_seed(5)
    random.seed(5)
    usual = place(text).out
    _set_everything()
    with torch.inference_mode():
        before = _settings()
        seen = place(text)
        assert _settings() == before
    pattern = r"\d\.\de-\d\d|\d+%"  # noise of rounding, and what depends on the first weights
    assert re.sub(pattern, "", seen.out) == re.sub(pattern, "", usual)
    assert seen.err == ""


def test_the_current_folder_may_be_gone(place: Place, tmp_path: Path, monkeypatch):
    place(SOLUTION)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "10 of 10" in place("check(4)").out


def test_nothing_is_imported_before_it_is_asked_for():
    code = (
        "import sys, autograder\n"
        "assert not [m for m in sys.modules if m.startswith(('torch', 'autograder.'))]\n"
        "from autograder import check, watch\n"
        "import autograder.demo\n"
        "assert callable(check) and callable(watch) and 'check' in autograder.__all__\n"
        "assert type(autograder.demo).__name__ == 'module'\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('torch', 'IPython')]\n"
        "try: autograder.nothing\n"
        "except AttributeError: print('right')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("right\n", "")


ANOTHER_DEVICE = """
import torch
from torch.utils import backend_registration
backend_registration._setup_privateuseone_for_python_backend("npy")
from autograder import check
exec(open({path!r}, encoding="utf-8").read())
torch.ones(1, requires_grad=True).sum().backward()
check(4)
assert check(4, "output") == 3
"""


@pytest.mark.skipif(
    "not __import__('importlib').import_module('torch.utils.backend_registration')"
    ".__dict__.get('_setup_privateuseone_for_python_backend')",
    reason="this torch takes no device that is written in Python",
)
def test_where_autograd_has_threads_for_a_device_the_check_is_made_in_process(tmp_path: Path):
    mine = tmp_path / "mine.py"
    mine.write_text(SOLUTION.replace(RELU, "print('still here'); " + RELU), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", ANOTHER_DEVICE.format(path=str(mine))],
        capture_output=True,
        text=True,
        env={"AUTOGRADER_LANG": "en", "PATH": ""},
    )
    assert ran.returncode == 0, ran.stderr
    assert "10 of 10" in ran.stdout and "inside this very kernel" in ran.stdout
    assert "| still here" in ran.stdout and ran.stderr == ""


# ---------------------------------------------------------------- watch


def test_watch_prints_the_demos_figures(place: Place):
    place(SOLUTION)
    seen = place("watch(4)").out
    assert "2,099,712" in seen and "(2, 10, 512) -> hidden (2, 10, 2048)" in seen
    place(NO_RELU)
    assert "Is there a ReLU between the layers?" in place("watch('step04')").out
    assert "ReLU" in place("watch(4, lang='ko')").out


def test_all_points_are_told_to_nbgraders_validate_by_saying_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    """A course may have given the cell fewer points, which nbgrader would stop at."""
    place(SOLUTION + "\nfound = check(4, 'output')\nassert found == 3")
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    place("found = check(4, 'output')\nassert found is None")


def test_watch_runs_nothing_while_nbgrader_validates(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert place(SOLUTION.replace(RELU, "while True: pass") + "\nwatch(4)\n").out == ""


def test_watch_tells_what_stops_the_learners_code(place: Place):
    assert "PositionwiseFeedForward is not defined here" in place("watch(4)").out
    place(stub_of(SOLUTION, 4))
    assert "PositionwiseFeedForward.__init__ is not implemented" in place("watch(4)").out
    broken = SOLUTION.replace(RELU, "raise ValueError('so far')") + "\nwatch(4)\n"
    number = next(n for n, line in enumerate(broken.splitlines(), 1) if "so far" in line)
    seen = place(broken, "mine.py")
    assert f"mine.py, line {number}: ValueError: so far" in seen.out and seen.err == ""


@pytest.mark.parametrize(
    "text", ["return None", "raise ValueError"], ids=["outside", "in the code"]
)
def test_watch_sends_who_is_stopped_to_the_checks(place: Place, text: str):
    place(SOLUTION.replace(RELU, text))
    told = {
        "en": 'Run this first: check("step04")',
        "ko": '먼저 이것을 실행해 보세요: check("step04", lang="ko")',
    }
    for lang, words in told.items():
        *_, last = place(f"watch(4, lang='{lang}')").out.splitlines()
        assert last.endswith(words)


def test_the_next_notebook_is_named_where_it_is(place: Place, tmp_path: Path, monkeypatch):
    for folder in ("step04", "step05"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "step04")
    place(SOLUTION)
    assert ".ipynb" not in place("check(4)").out
    (tmp_path / "step05" / "step05.ipynb").touch()
    assert "Its notebook: step05/step05.ipynb" in place("check(4)").out
    assert "다음 노트북: step05/step05.ipynb" in place("check(4, lang='ko')").out
    (tmp_path / "step05" / "step05.ko.ipynb").touch()
    assert "다음 노트북: step05/step05.ko.ipynb" in place("check(4, lang='ko')").out


@pytest.mark.parametrize(
    ("text", "mark"), [("hidden = hidden", "✗"), ("while True: pass", "…"), (RELU, "!")]
)
def test_what_to_mend_is_known_by_its_mark(place: Place, text: str, mark: str):
    solution = SOLUTION.replace(RELU, text)
    place(solution if mark != "!" else solution.replace("class Pos", "class MyPos"))
    assert f"Next: fix the first {mark} above" in place("check(4)").out
    assert f"다음: 위의 첫 번째 {mark} 항목부터" in place("check(4, lang='ko')").out


@pytest.mark.parametrize("number", [1, 2, 5, 6, 11, 12, 13, 15, 16])
def test_every_quick_demo_runs_on_live_objects(place: Place, number: int):
    step = find_step(number)
    place(step.solution.read_text(encoding="utf-8"))
    seen = place(f"watch({number})")
    assert len(seen.out.splitlines()) > 3 and "stopped" not in seen.out
