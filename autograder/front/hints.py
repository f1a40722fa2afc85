"""Hints as lines: a question about each mistake that has a name, what was seen where none has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autograder.core.step import Step
from autograder.core.verdict import CheckVerdict, Verdict
from autograder.front.show import Line, demo_of, is_remark, message, near, title
from autograder.front.wording import say


def hint(
    verdict: Verdict, step: Step, lang: str, *, check: str | None, more: bool, what: str
) -> Iterator[Line]:
    """Everything that `autograder hint` says.

    Args:
        verdict, step: what hints are wanted about.
        lang: "en" or "ko".
        check: the only check to speak of; None for all.
        more: tell the place too, not only the question.
        what: the step (and the file, where it is another than the learner's own), as it is typed.
    """
    asked = [c for c in verdict.checks if c.check == check] if check else _failed(verdict)
    told: set[str] = set()
    for one in asked:
        lines = list(_about(one, verdict, step, lang, more))
        text = "\n".join(line.text for line in lines)
        if text not in told:  # one mistake may cost several checks
            told.add(text)
            yield Line(title(one.check, step, lang), "title")
            yield from lines
            yield Line("")
    yield from _next(asked, verdict, lang, more, what)


def _failed(verdict: Verdict) -> list[CheckVerdict]:
    """The checks to speak of: those that cost points, but not what was skipped because of them."""
    wrong = [c for c in verdict.checks if c.state not in ("passed", "skipped") and c.max_points]
    remarks = [c for c in verdict.checks if is_remark(c)]
    return wrong + remarks


def _about(
    check: CheckVerdict, verdict: Verdict, step: Step, lang: str, more: bool
) -> Iterator[Line]:
    if check.state == "passed":
        yield Line(f"  {say('hint.passed', lang)}", "good")
    for slug in check.misconceptions:
        mistake = step.misconception(slug)
        yield Line(f"  {mistake.question[lang]}")
        if more:
            yield Line(f"  {mistake.name[lang]}")
            yield Line(f"  {mistake.place[lang]}")
    if not check.misconceptions and check.state != "passed":
        yield from (Line(f"  {t}") for t in _seen(check, verdict, step, lang))
        if check.state == "failed" and not check.unwritten:
            yield Line(f"  {say('hint.unknown', lang)}")


def _seen(check: CheckVerdict, verdict: Verdict, step: Step, lang: str) -> list[str]:
    return message(check, step, lang, verdict.filename).splitlines()


def _next(
    asked: list[CheckVerdict], verdict: Verdict, lang: str, more: bool, what: str
) -> Iterator[Line]:
    """The command to try next."""
    if verdict.passed:
        yield Line(say("hint.all_passed", lang, step=what), "good")
        return
    if any(c.unwritten for c in asked):
        name = "README.ko.md" if lang == "ko" else "README.md"
        lesson = Path(verdict.filename).with_name(name)
        if lesson.is_file():
            yield Line(say("hint.lesson", lang, lesson=near(lesson)))
    elif any(c.misconceptions for c in asked):
        yield Line(say("hint.spoil" if more else "hint.more", lang, step=what))
    elif any(c.state != "passed" for c in asked) and (demo := demo_of(verdict)):
        yield Line(say("show.try_demo", lang, demo=demo))
