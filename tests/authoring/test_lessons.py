"""Lessons: what is told in English is told in Korean, and both tell how to run the step."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "exercises").glob("step*/README.md"))


def headings(text: str) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) \S", text, re.MULTILINE)]


def figures(text: str) -> list[str]:
    return sorted(re.findall(r"\d[\d.,]*\d|\d", text))


def formulas(text: str) -> list[str]:
    return re.findall(r"^\$\$.*\$\$$", text, re.MULTILINE)


def test_there_are_lessons():
    assert len(LESSONS) >= 4


@pytest.mark.parametrize("tell", [headings, figures, formulas], ids=lambda tell: tell.__name__)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.parent.name)
def test_both_languages_tell_the_same(lesson: Path, tell):
    english = lesson.read_text(encoding="utf-8")
    korean = lesson.with_name("README.ko.md").read_text(encoding="utf-8")
    assert tell(english)
    assert tell(english) == tell(korean)


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.parent.name)
def test_a_lesson_tells_how_to_run_its_step(lesson: Path, name: str):
    text = lesson.with_name(name).read_text(encoding="utf-8")
    step = lesson.parent.name
    assert f"    pytest exercises/{step} " in text
    assert f"    python exercises/{step}/demo.py --against solutions " in text


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.parent.name)
def test_a_lesson_is_in_its_language(lesson: Path):
    hangul = re.compile("[가-힣]")
    english = lesson.read_text(encoding="utf-8").replace("[한국어](README.ko.md)", "")
    assert not hangul.search(english)
    korean = lesson.with_name("README.ko.md").read_text(encoding="utf-8")
    assert len(hangul.findall(korean)) > 500
