"""The section of what was told to each student: messages, known mistakes, prints."""

from __future__ import annotations

from autograder.core.speech import LANGUAGES
from autograder.front.report.figures import StepFigures
from autograder.front.report.html import Html, element
from autograder.front.report.parts import View, number, out_of, paragraph, section
from autograder.front.report.work import Mark, Work
from autograder.front.wording import escape, escape_lines

_UNFOLDED = 40  # more students than that are folded away


def told(step: StepFigures, view: View) -> Html:
    """A part for each student, unfolded by who follows a link to it."""
    parts = [_student(work, step, view) for work in step.works]
    count = view.say("told_all", count=len(parts))
    folded = element("details", element("summary", count), *parts, open=len(parts) <= _UNFOLDED)
    hint = [paragraph(view.say("told_hidden"), class_="hint")] if view.anonymous else []
    return section(view.say("told"), *hint, folded, id_=f"{step.name}-told")


def _student(work: Work, step: StepFigures, view: View) -> Html:
    points = {"points": number(work.points), "possible": number(work.max_points)}
    facts = [view.say("points", **points)]
    if work.score is not None:
        score = {"points": number(work.score), "possible": number(work.possible)}
        facts.append(view.say("gradebook", **score))
    summary = element(
        "summary", element("b", escape(work.student)), element("span", " · ".join(facts))
    )
    # The id stands inside: browsers unfold what a link leads into.
    inside = element("div", *_inside(work, step, view), id=view.anchor(work.student, step))
    return element("details", summary, inside, class_="student")


def _inside(work: Work, step: StepFigures, view: View) -> list[Html]:
    parts = []
    entries = _entries(work, step, view)
    if work.file:
        parts.append(paragraph(element("code", escape(work.file))))
    parts.append(element("dl", *entries) if entries else paragraph(view.say("told_nothing")))
    if work.printed:
        lines = "\n".join(escape_lines(work.printed))
        # Not told apart from what it prints by anything else, so it may be in any language.
        parts += [paragraph(view.say("printed")), element("pre", lines, tabindex="0")]
    return parts


def _entries(work: Work, step: StepFigures, view: View) -> list[Html]:
    """A term for each check that something is to be told about; the same is told once."""
    titles = {column.name: column.title for column in step.columns}
    lang = _language(work, step)
    told: dict[str, str] = {}
    entries: list[Html] = []
    for mark in work.marks:
        text = _message(mark, step, view)
        if not text:
            continue
        first = told.setdefault(text, titles[mark.name])
        again = first != titles[mark.name]
        entries.append(element("dt", titles[mark.name], " ", element("small", _worth(mark, view))))
        if again:
            entries.append(element("dd", view.say("same_as", check=first)))
        else:
            entries.append(element("dd", text, lang=lang if mark.message else None))
    return entries


def _worth(mark: Mark, view: View) -> str:
    state = view.say(f"state.{mark.state}")
    if not mark.max_points:
        return f"({view.say('remark_alone')})"
    return f"({out_of(mark.points, mark.max_points)}, {state})"


def _message(mark: Mark, step: StepFigures, view: View) -> str:
    """What was told; where that is hidden, what this kit can say about it by itself."""
    if mark.message:
        return "\n".join(escape_lines(mark.message))
    names = [m.name[view.lang] if (m := step.known(s)) else s for s in mark.misconceptions]
    if names:
        key = "mistake" if mark.max_points else "remark_named"
        return "\n".join(view.say(key, name=name) for name in names)
    return view.say(f"state.{mark.state}") if mark.max_points and mark.state != "passed" else ""


def _language(work: Work, step: StepFigures) -> str | None:
    """The language of the messages, as the title of the step tells it; None where it does not."""
    titles = step.step.title if step.step else {}
    spoken = [lang for lang in LANGUAGES if titles.get(lang) == work.title]
    return spoken[0] if len(spoken) == 1 and spoken[0] != step.lang else None
