"""Markdown of students as a page shows it: no tag of theirs, and no link that runs something."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

pytest.importorskip("nbconvert")

from hypothesis import given
from hypothesis import strategies as st
from nbconvert.filters import markdown2html

from autograder.front.classroom.harmless import harmless

PIECES = ("<b>", "<script>", "<script", ">", "</p>", "<!--", "[x](", ")", "[x]: ", "![", "alert")
PIECES += ("javascript", "JavaScript", "data", ":", "&colon;", "&#58;", "&lt;", "&", "#115;")
PIECES += ("\n", " ", "`", "\\")
LINKS = ("[x](javascript:y)", "[x](java&#115;cript:y)", "[x](javascript\\:y)")
LINKS += ("[x][]\n\n[x]: data:y", "[x](javascript&colon;y)", "[x](javascript&amp;colon;y)")


class Found(HTMLParser):
    """The tags of a page, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_nothing_of_a_student_is_more_than_text(text: str) -> None:
    found = Found(markdown2html(harmless(text)))
    assert not found.tags & {"script", "b", "img"}
    starts = ("javascript:", "vbscript:", "data:")
    assert not [link for link in found.links if link.strip().lower().startswith(starts)]


@pytest.mark.parametrize("text", ["![x](/api)", "![x][]\n\n[x]: http://a.b/c", "a![x](y)"])
def test_nothing_is_fetched_by_whoever_looks(text: str) -> None:
    assert "img" in Found(markdown2html(text)).tags
    assert "img" not in Found(markdown2html(harmless(text))).tags


def test_an_image_of_the_notebooks_own_is_shown() -> None:
    text = "![plot](attachment:plot.png)"
    assert harmless(text) == text


@pytest.mark.parametrize("text", LINKS)
def test_a_link_that_would_run_something_runs_nothing(text: str) -> None:
    assert Found(markdown2html(text)).links
    (link,) = Found(markdown2html(harmless(text))).links
    assert not link.lower().startswith(("javascript:", "data:"))


def test_what_is_no_tag_stays() -> None:
    page = markdown2html(harmless("**If** a < b & c > d: `x = y`"))
    assert "<strong>If</strong> a &lt; b &amp; c &gt; d: <code>x = y</code>" in page


def test_code_reads_as_it_was_typed() -> None:
    page = markdown2html(harmless("every sentence begins with `<s>`"))
    assert "<code>&lt;s&gt;</code>" in page.replace("\u200b", "")
