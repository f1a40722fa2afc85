"""The report in a browser: narrow, with the keyboard alone, without a complaint."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from autograder.front.report.page import page as page_of
from tests.front.made_class import course, figures_of


def test_the_keyboard_reaches_everything(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(figures_of(course()), "en"), encoding="utf-8")
    view = browser.new_page(viewport={"width": 320, "height": 640})
    faults: list[str] = []
    view.on("console", lambda message: faults.append(message.text))
    view.goto(path.as_uri())
    assert view.evaluate("document.documentElement.scrollWidth") <= 320
    view.keyboard.press("Tab")
    view.keyboard.press("Enter")  # the link that skips
    assert view.evaluate("location.hash") == "#main"
    view.keyboard.press("Tab")
    focused = "document.activeElement"
    assert view.evaluate(f"{focused}.getAttribute('role')") == "region"
    assert view.evaluate(f"{focused}.scrollWidth > {focused}.clientWidth")
    view.keyboard.press("ArrowRight")
    # Not with wait_for_function: it evaluates text in the page, which the page does not allow.
    until = time.monotonic() + 10
    while not (scrolled := view.evaluate(f"{focused}.scrollLeft > 0")) and time.monotonic() < until:
        view.wait_for_timeout(20)
    assert scrolled
    link = view.locator("#step04-marks ~ .scroll tbody th a", has_text="cleo")
    link.focus()
    view.keyboard.press("Enter")
    inside = view.locator("#step04-student-3")
    assert inside.is_visible()  # a link into what is folded unfolds it
    summary = view.locator("details.student:has(#step04-student-4) > summary")
    summary.focus()
    view.keyboard.press("Enter")
    assert view.locator("#step04-student-4").is_visible()
    assert faults == []
