"""Parts that several sections of the page are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from autograder.front.report.figures import ClassFigures, StepFigures
from autograder.front.report.html import Html, element, together
from autograder.front.wording import escape, say

CLASSES = 5  # shades of the heat map of points


@dataclass(frozen=True)
class View:
    """How the page is shown: its language, whether names are hidden, where to find a student."""

    lang: str
    anonymous: bool
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, figures: ClassFigures, lang: str, anonymous: bool) -> View:
        """Of a class; students are numbered in the order they are shown."""
        numbers = {total.student: n for n, total in enumerate(figures.totals, 1)}
        return cls(lang, anonymous, numbers)

    def say(self, key: str, **facts: object) -> str:
        """A text of the report."""
        return say(f"report.{key}", self.lang, **facts)

    def student(self, name: str, step: StepFigures | None) -> Html:
        """A student's name; it leads to what was told about the work on that step, if anything."""
        if step is None:
            return together([escape(name)])
        return element("a", escape(name), href=f"#{self.anchor(name, step)}")

    def students(self, label: str, names: Iterable[str], step: StepFigures | None) -> Html:
        """Several of them, as a list in one line, behind what they have in common."""
        listed = element("ul", *(item(self.student(n, step)) for n in names), class_="names")
        return element("div", label, " ", listed, class_="line")

    def anchor(self, student: str, step: StepFigures) -> str:
        """The id of the part about a student's work."""
        return f"{step.name}-student-{self.numbers[student]}"


def anchor_of(step: StepFigures, check: str) -> str:
    """The id of the row about a check."""
    return f"{step.name}-check-{[c.name for c in step.columns].index(check) + 1}"


def number(value: float | None) -> str:
    """Points or seconds: two places at most."""
    return "–" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def out_of(points: float | None, possible: float) -> str:
    """Points and the most there are: 3.5/10."""
    return f"{number(points)}/{number(possible)}"


def shade(share: float) -> str:
    """The class of a cell: one of a few shades; only full marks have the last."""
    return f"s{min(int(share * (CLASSES - 1)), CLASSES - 1)}"


def table(caption: str, head: Html, body: Iterable[Html], id_: str, **more: str) -> Html:
    """A table that scrolls by itself where it is too wide, also with the keyboard alone."""
    content = [
        element("caption", caption, id=id_),
        element("thead", head),
        element("tbody", *body),
    ]
    if "foot" in more:
        content.append(element("tfoot", Html(more.pop("foot"))))
    inside = element("table", *content, class_=more.get("class_"))
    return element("div", inside, class_="scroll", role="region", tabindex="0", aria_labelledby=id_)


def section(title: str, *content: str, id_: str, level: int = 3) -> Html:
    """A part with its heading, which names it for who does not see it."""
    heading = element(f"h{level}", title, id=id_)
    return element("section", heading, *content, aria_labelledby=id_)


def bar(share: float) -> Html:
    """A share as a bar; the number stands beside it."""
    return element("span", class_="bar", style=f"--share:{share:.3f}", aria_hidden="true")


row = partial(element, "tr")
cell = partial(element, "td")
item = partial(element, "li")
paragraph = partial(element, "p")
column_head = partial(element, "th", scope="col")
row_head = partial(element, "th", scope="row")
