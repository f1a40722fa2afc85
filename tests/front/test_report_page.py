"""The page of the report: well-formed, harmless, readable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.step import find_step
from autograder.front.report.html import element
from autograder.front.report.page import page
from tests.front.made_class import Outline, course, figures_of, line, small_class, wrong

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("anonymous", [False, True])
def test_the_page_is_well_formed_and_can_be_read_without_eyes(lang: str, anonymous: bool) -> None:
    outline = Outline(page(figures_of(course(), lang=lang), lang, anonymous=anonymous))
    assert len(set(outline.ids)) == len(outline.ids)
    assert all(link.startswith("#") and link[1:] in outline.ids for link in outline.links)
    assert set(outline.named) <= set(outline.ids)
    assert outline.heads and all(head.get("scope") in ("row", "col") for head in outline.heads)
    assert outline.levels[0] == 1 and outline.levels.count(1) == 1
    steps = zip(outline.levels, outline.levels[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    assert outline.tags.count("caption") == outline.tags.count("table")
    assert {"main", "nav", "header", "footer"} <= set(outline.tags)


def test_the_page_needs_nothing_else_and_allows_nothing_else() -> None:
    text = page(figures_of(course()), "en")
    outline = Outline(text)
    assert not {"script", "img", "link", "iframe", "form"} & set(outline.tags)
    assert "default-src &#x27;none&#x27;" in text
    assert "url(" not in text and "@import" not in text and "://" not in text


def test_a_step_without_a_title_is_called_by_its_name_alone() -> None:
    text = page(figures_of([{**line("ada"), "step": "step99", "title": ""}]), "en")
    assert "<title>Class report: step99</title>" in text
    assert ">Class report: step99</h1>" in text


ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "</details><h1>&lt;b&gt;",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_from_a_submission_is_taken_for_html(attack: str) -> None:
    check = wrong(attack, message=f"before {attack} after")
    one = {**line(attack, output=check), "file": attack, "printed": attack}
    other = {**line(attack), "step": attack, "title": attack}
    one["checks"].append({**one["checks"][0], "name": attack, "title": attack})
    outline = Outline(page(figures_of([one, other]), "en"))
    assert not {"script", "img"} & set(outline.tags)
    assert outline.levels.count(1) == 1
    assert f"before {attack} after" in outline.text
    assert outline.tags.count("style") == 1


@given(st.text(), st.text())
def test_elements_give_back_what_they_were_given(content: str, value: str) -> None:
    seen: dict[str, Any] = {"content": ""}

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen["attribute"] = dict(attrs)["title"]

        def handle_data(self, data: str) -> None:
            seen["content"] += data

    reader = Reader()
    reader.feed(element("p", content, title=value))
    reader.close()
    assert seen == {"content": content, "attribute": value}


def test_control_characters_are_spelt_out() -> None:
    one = line("a\x1b[31m\u202eb\ud800", output=wrong(message="red \x1b[0m"))
    text = page(figures_of([one]), "en")
    assert r"a\x1b[31m\u202eb\ud800" in text
    assert r"red \x1b[0m" in text
    assert text.encode()


def test_state_and_points_stand_in_words_in_each_cell() -> None:
    text = page(figures_of(small_class()), "en")
    (row,) = re.findall(r"<tr><th[^>]*><a href=\"#step04-student-5\">eve</a>.*?</tr>", text)[:1]
    assert re.findall(r"<b>(\S+?)</b> <small>(.*?)</small>", row) == [
        ("1/1", "passed"),
        ("2/2", "passed"),
        ("0/3", "wrong"),
        ("1/1", "passed"),
        ("0/2", "did not end"),
        ("1/1", "passed"),
    ]


def test_a_mistake_is_told_with_its_question_and_who_holds_it() -> None:
    mistake = find_step(4).misconception("activation-tanh")
    for lang in ("en", "ko"):
        text = Outline(page(figures_of(small_class(), lang=lang), lang)).text
        assert mistake.name[lang] in text and mistake.question[lang] in text
        assert mistake.place[lang] in text
        assert ("2 of 6" if lang == "en" else "6명 중 2명") in text


def test_the_same_message_is_told_once_a_student() -> None:
    both = wrong(message="A long story.")
    text = page(figures_of([line("ada", output=both, dropout=both)]), "en")
    assert text.count("A long story.") == 1
    assert "The same as for “computes max(0, x W_1 + b_1) W_2 + b_2”." in text


def test_korean_is_korean_though_the_results_are_english() -> None:
    text = page(figures_of(small_class(), lang="ko"), "ko")
    assert '<html lang="ko">' in text
    assert find_step(4).title["ko"] in text
    assert '<dd lang="en">It differs.</dd>' in text  # as it was told


def _themes() -> Iterator[dict[str, str]]:
    style = (ROOT / "autograder/front/report/style.css").read_text(encoding="utf-8")
    light, dark = style.split("prefers-color-scheme: dark")
    for part in (light, dark):
        yield dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part))


def _contrast(one: str, two: str) -> float:
    """WCAG 2.1's contrast ratio of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_in_light_and_dark() -> None:
    themes = list(_themes())
    assert len(themes) == 2 and themes[0].keys() == themes[1].keys()
    for colours in themes:
        grounds = [key.removesuffix("-bg") for key in colours if key.endswith("-bg")]
        pairs = [(f"{g}-fg", f"{g}-bg") for g in grounds if f"{g}-fg" in colours]
        assert len(pairs) >= 14
        plain = ("page-fg", "quiet-fg", "link-fg")
        pairs += [(text, ground) for text in plain for ground in ("page-bg", "box-bg")]
        for text, ground in pairs:
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for shape in ("bar", "ring"):
            assert _contrast(colours[shape], colours["page-bg"]) >= 3, shape
