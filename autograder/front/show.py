"""A verdict as lines for a terminal: marks, titles, points, what was seen, what to do next."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from autograder.core.cells import NOTEBOOK
from autograder.core.step import Check, Step, all_steps
from autograder.core.verdict import CheckVerdict, Verdict
from autograder.front.wording import escape, escape_lines, say, tell

Style = Literal["title", "good", "bad", "quiet", "plain"]

PRINTED = 4096  # bytes of learners' output that are shown

MARKS = {"passed": "✓", "failed": "✗", "skipped": "–", "error": "!", "timeout": "…"}


@dataclass(frozen=True)
class Line:
    """One line to show, already harmless, and how it is meant."""

    text: str
    style: Style = "plain"


def block(
    verdict: Verdict,
    step: Step,
    lang: str,
    *,
    again: str,
    only: Collection[str] | None = None,
    details: bool = True,
) -> Iterator[Line]:
    """Everything about one step: its checks, the learner's prints, the next command, the sum.

    Args:
        verdict, step: what is shown.
        lang: "en" or "ko".
        again: the command that grades this code once more.
        only: names of the checks to show; None for all.
        details: False leaves out all but a line a check and the sum.
    """
    shown = [c for c in verdict.checks if only is None or c.check in only]
    told: set[str] = set()
    if details and _is_own(verdict, step):
        yield from _whose(verdict, step, lang)
    for check in shown:
        yield heading(check, step, lang)
        if details:
            why = explained(check, step, lang, verdict.filename, told)
            yield from (Line(f"         {text}") for text in why)
    if details:
        for part in (printed(verdict, lang), _next(verdict, shown, step, lang, again)):
            lines = list(part)
            yield from ([Line(""), *lines] if lines else [])
    yield summed(verdict, shown, step, lang)


def explained(
    check: CheckVerdict, step: Step, lang: str, filename: str, told: set[str]
) -> Iterator[str]:
    """What is told about a check, line by line, but nothing that has been `told` before.

    Of a mistake that has been told its name is.
    """
    for finding in check.findings:
        text = tell(finding, step, lang, check=check.check, file=_short(filename))
        mistake = finding.facts["mistake"] if finding.text == "mistake" else ""
        again = (mistake or text) in told
        told.add(mistake or text)
        if again and not mistake:
            continue
        if again:
            text = say("mistake_again", lang, name=step.misconception(mistake).name[lang])
        yield from text.splitlines()


def message(check: CheckVerdict, step: Step, lang: str, filename: str) -> str:
    """What is told about a check, several lines; empty where there is nothing to tell."""
    file = _short(filename)
    return "\n".join(tell(f, step, lang, check=check.check, file=file) for f in check.findings)


def is_remark(check: CheckVerdict) -> bool:
    """Advice that saw something to remark on."""
    return not check.max_points and check.state == "failed" and not check.unwritten


def title(name: str, step: Step, lang: str) -> str:
    """The title of a check."""
    return _check(name, step).title[lang]


def total(verdicts: Collection[Verdict], lang: str, unseen: int = 0) -> Line:
    """The sum over several steps; `unseen` are the points of steps that were not graded."""
    points, most = sum(v.points for v in verdicts), sum(v.max_points for v in verdicts) + unseen
    text = say("show.points", lang, points=points, max_points=most)
    good = all(v.passed for v in verdicts) and not unseen
    return Line(f"{say('show.total', lang)}  {text}", "good" if good else "bad")


def _check(name: str, step: Step) -> Check:
    return next(c for c in step.checks if c.name == name)


def heading(check: CheckVerdict, step: Step, lang: str) -> Line:
    """The line of a check: mark, points, title."""
    text = title(check.check, step, lang)
    if check.max_points:
        points = f"{check.points}/{check.max_points}"
        style: Style = "good" if check.state == "passed" else "bad"
        return Line(f"  {MARKS[check.state]} {points:>5}  {text}", style)
    mark = "·" if is_remark(check) else MARKS["passed" if check.state == "passed" else "skipped"]
    return Line(f"  {mark} {'':>5}  {text} ({say('show.remark', lang)})", "quiet")


def printed(verdict: Verdict, lang: str) -> Iterator[Line]:
    """What the learner's code printed meanwhile; nothing where it printed nothing."""
    lines = escape_lines(verdict.printed, PRINTED)
    if lines:
        cut = len(verdict.printed.encode("utf-8", "replace")) >= PRINTED
        yield Line(say("show.printed_cut" if cut else "show.printed", lang, limit=PRINTED), "quiet")
    for line, equal in groupby(lines):  # what one call prints comes anew with every probe
        times = len(list(equal))
        yield Line(f"  | {line}" + (f"  × {times}" if times > 1 and line else ""), "quiet")


def _next(
    verdict: Verdict, shown: list[CheckVerdict], step: Step, lang: str, again: str
) -> Iterator[Line]:
    """The commands to try next, of those that make sense here."""
    wrong = [c for c in shown if c.max_points and c.state != "passed"]
    unwritten = any(c.unwritten for c in wrong)
    if unwritten:
        yield Line(say("show.try_write", lang, file=_short(verdict.filename), again=again))
    elif wrong:
        yield Line(say("show.try_fix", lang, again=again))
    demo = demo_of(verdict)
    if demo and not unwritten and all(c.state == "failed" for c in wrong):
        yield Line(say("show.try_demo", lang, demo=demo))
    own = _is_own(verdict, step)
    if own and any(c.misconceptions for c in wrong):
        yield Line(say("hint.more", lang, step=step.number))
    if verdict.passed and len(shown) == len(verdict.checks):
        if own:
            yield Line(say("show.try_diff", lang, step=step.number))
        yield following(step, lang)


def _whose(verdict: Verdict, step: Step, lang: str) -> Iterator[Line]:
    """Which file was graded where that may be a question, and which others hold work."""
    from autograder.desk.work import passed_over

    file = Path(verdict.filename)
    if file.suffix == NOTEBOOK:
        yield Line(say("show.notebook", lang, file=_short(verdict.filename)), "quiet")
    others = [escape(path.name) for path in passed_over(file, step)]
    if others:
        yield Line(say("show.passed_over", lang, files=", ".join(others)), "quiet")


def demo_of(verdict: Verdict) -> str:
    """The command that runs the step's demo on the file that was graded; '' where none does.

    None does on a notebook, which has `watch`.
    """
    file = Path(verdict.filename)
    demo = file.with_name("demo.py")
    return f"python {near(demo)}" if file.suffix == ".py" and demo.is_file() else ""


def _is_own(verdict: Verdict, step: Step) -> bool:
    """Whether it is a learner's file that the commands find by the step's name."""
    from autograder.desk.work import names_of

    *_, exercises, folder, name = ("", "", *Path(verdict.filename).parts)
    return exercises == "exercises" and folder == step.name and name in names_of(step)


def next_step(step: Step) -> Step | None:
    """The step after it; None after the last."""
    return next((s for s in all_steps() if s.number > step.number), None)


def following(step: Step, lang: str) -> Line:
    """What comes after a step that is passed."""
    later = next_step(step)
    if later:
        return Line(say("show.try_next", lang, step=later.name, title=later.title[lang]))
    return Line(say("show.try_training", lang))


def summed(verdict: Verdict, shown: Collection[CheckVerdict], step: Step, lang: str) -> Line:
    """The last line: the step, and the points of the checks that are shown."""
    points, most = sum(c.points for c in shown), sum(c.max_points for c in shown)
    text = f"{step.name}  {step.title[lang]}  "
    text += say("show.points", lang, points=points, max_points=most)
    if len(shown) < len(verdict.checks):
        ran = say("show.some", lang, ran=len(shown), checks=len(verdict.checks))
        text += f" ({ran})"
    return Line(text, "good" if points == most else "bad")


def _short(filename: str) -> str:
    """A file's name as its author knows it: without the folders."""
    return Path(filename).name


def near(path: Path) -> str:
    """A path as it is typed from here."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)
    return str(path) if relative.startswith("..") else relative
