"""The report's page: one file that needs nothing else, neither network nor script."""

from __future__ import annotations

from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from autograder.front.report.figures import ClassFigures, StepFigures, Total
from autograder.front.report.html import Html, element, together
from autograder.front.report.parts import (
    View,
    cell,
    column_head,
    item,
    out_of,
    paragraph,
    row,
    row_head,
    section,
    shade,
    table,
)
from autograder.front.report.sections import step_section
from autograder.front.report.work import Work

HEAD = "<!doctype html>\n<!-- autograder report -->\n"  # how every report begins

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = Path(__file__).with_name("style.css")


def page(figures: ClassFigures, lang: str, *, anonymous: bool = False) -> str:
    """The whole page.

    Args:
        figures: of the class; without names where they are to be hidden.
        lang: "en" or "ko".
        anonymous: say that names are hidden.
    """
    view = View.of(figures, lang, anonymous)
    title = view.say("title", steps=_steps(figures, view))
    several = len(figures.steps) > 1
    main = [step_section(step, view) for step in figures.steps]
    if several:
        main.insert(0, _overview(figures, view))
    body = [
        element("a", view.say("skip"), class_="skip", href="#main"),
        element("header", element("h1", title, id="top"), _links(figures, view)),
        element("main", *main, id="main", tabindex="-1"),
        element("footer", paragraph(_made(view))),
    ]
    return HEAD + element("html", _head(title), element("body", *body), lang=lang) + "\n"


def _head(title: str) -> Html:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name_="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(_STYLE.read_text(encoding="utf-8"))),
    )


def _steps(figures: ClassFigures, view: View) -> str:
    first, last = figures.steps[0], figures.steps[-1]
    if first is last:
        return first.heading
    return view.say("to", first=first.name, last=last.name)


def _links(figures: ClassFigures, view: View) -> Html:
    """To the overview and the steps."""
    links = [(step.name, step.heading) for step in figures.steps]
    if len(links) > 1:
        links.insert(0, ("overview", view.say("overview")))
    items = [item(element("a", text, href=f"#{anchor}")) for anchor, text in links]
    return element("nav", element("ul", *items), aria_label=view.say("steps"))


def _overview(figures: ClassFigures, view: View) -> Html:
    """Students by steps, the sum, and the means."""
    heads = [
        column_head(element("a", step.name, href=f"#{step.name}"), paragraph(step.title))
        for step in figures.steps
    ]
    head = row(column_head(view.say("head_student")), *heads, column_head(view.say("total")))
    means = [cell(out_of(s.mean, s.possible)) for s in figures.steps]
    sums = [total.earned for total in figures.totals]
    mean = sum(sums) / len(sums) if sums else None
    foot = row(row_head(view.say("mean_row")), *means, cell(out_of(mean, figures.possible)))
    grid = table(
        view.say("overview_caption"),
        head,
        [_total(total, figures, view) for total in figures.totals],
        "overview-table",
        class_="heat",
        foot=foot,
    )
    hint = paragraph(view.say("overview_hint"), class_="hint")
    return section(view.say("overview"), hint, grid, id_="overview", level=2)


def _total(total: Total, figures: ClassFigures, view: View) -> Html:
    pairs = list(zip(figures.steps, total.works, strict=True))
    first = next((step for step, work in pairs if work), None)
    cells = [_points(step, work, view) for step, work in pairs]
    text = element("b", out_of(total.earned, total.possible))
    name = row_head(view.student(total.student, first))
    return row(name, *cells, cell(text, class_=shade(total.share)))


def _points(step: StepFigures, work: Work | None, view: View) -> Html:
    if work is None:
        return cell(view.say("state.missing"), class_="missing")
    text = out_of(work.earned, work.possible)
    link = element("a", text, href=f"#{view.anchor(work.student, step)}")
    return cell(link, class_=shade(work.share))


def _made(view: View) -> str:
    try:
        kit = version("transformer-by-building")
    except PackageNotFoundError:  # run from a folder
        kit = "?"
    date = datetime.now().strftime("%Y-%m-%d %H:%M")
    return together([view.say("footer", date=date, version=kit, anonymous=view.anonymous)])
