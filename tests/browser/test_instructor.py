"""An instructor with Formgrader: its buttons grade behind the walls, its pages show the marks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupyterlab")
pytest.importorskip("nbgrader")
pytest.importorskip("playwright")

from playwright.sync_api import Locator, Page, expect

from autograder.wall.tiers import best
from tests.browser.lab import served
from tests.browser.typed import answer, command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not best().number, reason="nothing here keeps strangers' code away"),
]

MISTAKE = "Known mistake: there is no activation between the two layers."
RIGHT = answer("step04")
# In the order of their names: what each has written, None where nothing was.
CLASS = {
    "Ada,Lovelace": RIGHT,
    "Blaise,Pascal": answer("step04", ("hidden = hidden.relu()", "hidden = hidden")),
    "Charles,Babbage": None,
    "Grace,Hopper": answer("step04", ("hidden = hidden.relu()", "__import__('os')._exit(0)")),
}
IDS = ["ada", "blaise", "charles", "grace"]


@dataclass
class Course:
    """A course of one assignment that all have handed in, in a JupyterLab."""

    folder: Path
    home: Path
    address: str

    def type(self, line: str) -> str:
        """Run a command in the course's folder."""
        return command(line, self.folder, self.home)


@pytest.fixture(scope="module")
def course(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    """Step 04 for four students, handed in and not graded."""
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("class") / "course"
    names = zip(IDS, CLASS, strict=True)
    table = "id,first_name,last_name\n" + "".join(f"{id_},{name}\n" for id_, name in names)
    (home / "students.csv").write_text(table, encoding="utf-8")
    exchange = home / "exchange"
    exchange.mkdir(mode=0o777)
    (home / "config_dir").mkdir()
    settings = f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\n"
    (home / "config_dir" / "nbgrader_config.py").write_text(settings)
    made = f"autograder course create {folder} --steps 4 --students {home / 'students.csv'}"
    command(made, home, home)
    command("nbgrader generate_assignment step04", folder, home)
    for student, text in zip(IDS, CLASS.values(), strict=True):
        _hand_in(folder, student, text)
    with served(folder, home) as address:
        yield Course(folder, home, address)


def _hand_in(course: Path, student: str, text: str | None) -> None:
    book = json.loads((course / "release/step04/step04.ipynb").read_text(encoding="utf-8"))
    if text is not None:
        [cell] = [c for c in book["cells"] if c["metadata"].get("nbgrader", {}).get("solution")]
        cell["source"] = text
    place = course / "submitted" / student / "step04" / "step04.ipynb"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(book), encoding="utf-8")
    place.with_name("timestamp.txt").write_text("2026-05-04 09:00:00.000000 UTC")


def row(page: Page, student: str) -> Locator:
    """A student's line in Manage Submissions."""
    name = page.locator("td.student-id", has_text=re.compile(rf"^{student}$"))
    return page.locator("#main-table tr").filter(has=name)


def press(page: Page, button: Locator) -> str:
    """Press a button of Formgrader's, and close its answer: the words of that."""
    button.click()
    answered = page.locator(".modal.in")
    expect(answered.locator(".modal-title")).to_be_visible()
    text = answered.inner_text()
    answered.locator(".modal-footer button").click()
    expect(page.locator(".modal")).to_have_count(0)
    return text


def test_the_menu_opens_formgrader(page: Any, course: Course) -> None:
    """JupyterLab's menu leads to the list of assignments, which has the step."""
    page.goto(f"{course.address}lab?reset")
    page.locator('.lm-MenuBar-itemLabel:has-text("Nbgrader")').click()
    page.locator('.lm-Menu-item[data-command="nbgrader:open-formgrader"]').click()
    inside = page.frame_locator("iframe[src*='formgrader']")
    listed = inside.locator("#main-table")
    expect(listed).to_contain_text("step04")
    expect(listed.locator("td.num-submissions")).to_have_text("4")


def test_its_buttons_and_pages(page: Any, course: Course, shoot: Callable[..., None]) -> None:
    """One is graded by a button, the others in a terminal; the pages show the same of all."""
    submissions = f"{course.address}formgrader/manage_submissions/step04"
    page.goto(submissions)
    expect(row(page, "blaise").locator(".status")).to_have_text("needs autograding")
    pressed = press(page, row(page, "blaise").locator("td.autograde a"))
    assert "Successfully autograded 'step04' for student 'blaise'." in pressed
    expect(row(page, "blaise").locator(".score")).to_have_text("7 / 10")
    expect(row(page, "ada").locator(".status")).to_have_text("needs autograding")

    # What cannot be run gets its mark as all others, and stops nothing.
    course.type("autograder grade --course . step04")
    page.reload()
    for student, mark in zip(IDS, (10, 7, 0, 0), strict=True):
        expect(row(page, student).locator(".score")).to_have_text(f"{mark} / 10")
        expect(row(page, student).locator(".status")).to_have_text("graded")
    shoot(page, "formgrader", clip={"x": 0, "y": 0, "width": 1200, "height": 490})

    page.goto(f"{course.address}formgrader/gradebook/step04/step04")
    expect(page.locator("#main-table tr")).to_have_count(len(IDS))
    page.locator("#toggle_names").click()
    line = page.locator("#main-table tr").filter(has_text="Pascal")
    expect(line.locator(".score")).to_have_text("7 / 10")
    line.locator("a.name-shown").click()
    expect(page.locator("body")).to_contain_text(MISTAKE)
    points = page.locator("input.score")
    expect(points).to_have_count(6)
    # Formgrader has its marks as hints: who writes over them gives other ones.
    for i, given in enumerate("120121"):
        expect(points.nth(i)).to_have_attribute("placeholder", given)


def test_feedback_is_for_reading(page: Any, course: Course, shoot: Callable[..., None]) -> None:
    """The button makes a page that says what was seen and which mistake it is, in words alone."""
    page.goto(f"{course.address}formgrader/manage_submissions/step04")
    blaise = row(page, "blaise")
    if blaise.locator(".status").inner_text() != "graded":
        press(page, blaise.locator("td.autograde a"))
    pressed = press(page, blaise.locator("td.generate-feedback a"))
    assert "Successfully generated feedback" in pressed
    page.goto((course.folder / "feedback/blaise/step04/step04.html").as_uri())
    text = page.locator("body").inner_text()
    assert MISTAKE in text
    assert "Two linear maps, one after the other" in text
    assert "Traceback" not in text and str(course.folder) not in text
    page.locator("#Checks").evaluate("title => title.scrollIntoView()")
    shoot(page, "feedback")
