"""A cell that was graded behind walls shows what the same cell shows in a kernel."""

from __future__ import annotations

import pytest

pytest.importorskip("nbgrader")

from autograder import check
from autograder.core.grading import grade
from autograder.core.source import Source
from autograder.core.step import find_step
from autograder.front.classroom import outputs
from autograder.front.notebook.here import NotPassed
from tests.classroom.pupils import NO_RELU, RIGHT

STEP = find_step(4)
SEED = 7


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("text", [RIGHT, NO_RELU], ids=["right", "wrong"])
def test_each_check_says_the_same(text: str, lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    space = {"check": check}
    exec(text, space)
    verdict = grade(STEP, Source(text, "feed_forward.py"), seed=SEED)
    kinds = set()
    for one in STEP.checks:
        shown = outputs.of_one(verdict, STEP, one.name, lang)
        kinds.add(shown[0].output_type)
        capsys.readouterr()
        call = f"check(4, {one.name!r}, lang={lang!r}, seed={SEED})"
        if shown[0].output_type == "error":
            with pytest.raises(NotPassed) as caught:
                eval(call, space)
            assert caught.value._render_traceback_() == shown[0].traceback
            continue
        points = eval(call, space)
        assert capsys.readouterr().out == shown[0].text
        assert str(points) == shown[1].data["text/plain"]
    assert kinds == ({"stream"} if text is RIGHT else {"stream", "error"})
