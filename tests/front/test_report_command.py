"""`autograder report`: from files of results to a page, or a refusal in words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.front.made_class import Outline, line, small_class, written, wrong


def test_a_page_from_several_files(run, tmp_path: Path) -> None:
    first = written(tmp_path, [line("ada", 1)], "one.jsonl")
    second = written(tmp_path, small_class(), "four.jsonl")
    out = tmp_path / "report.html"
    done = run("report", "--results", first, "--results", second, "--out", out)
    assert (done.status, done.err) == (0, "")
    assert "students: 6, steps: 2" in done.out
    text = out.read_text(encoding="utf-8")
    assert "Class report: step01 to step04" in text
    again = run("report", "4", "--results", first, "--results", second, "--out", out)
    assert again.status == 0
    assert "Class report: step04" in out.read_text(encoding="utf-8")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["four.jsonl", "one.jsonl", "report.html"]


def test_the_language_is_as_asked(run, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    done = run("report", "--results", written(tmp_path, small_class()), "--out", out, "--lang=ko")
    assert "학생 6명" in done.out
    assert '<html lang="ko">' in out.read_text(encoding="utf-8")


def test_a_run_that_was_killed_can_be_reported_on(run, tmp_path: Path) -> None:
    path = written(tmp_path, [line("ada", shape=wrong()), line("bob"), line("ada")])
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "step": "st')
    before = path.read_bytes()
    out = tmp_path / "report.html"
    assert run("report", "--results", path, "--out", out).status == 0
    assert path.read_bytes() == before
    assert "<dd>2</dd>" in out.read_text(encoding="utf-8")
    outline = Outline(out.read_text(encoding="utf-8"))
    assert "wrong" not in outline.text  # of ada, the newer line counts


def test_another_versions_steps_and_checks_are_shown_as_they_are(run, tmp_path: Path) -> None:
    strange = {**line("ada"), "step": "step99", "title": "Of another version"}
    old = line("bob", output=wrong("a-mistake-of-old"))
    old["checks"].append({**old["checks"][0], "name": "older", "title": "asks for something"})
    path = written(tmp_path, [old, line("ada"), {**strange, "submission": "cleo"}])
    out = tmp_path / "report.html"
    assert run("report", "--results", path, "--out", out).status == 0
    text = Outline(out.read_text(encoding="utf-8")).text
    for told in ("step99 Of another version", "a-mistake-of-old", "asks for something"):
        assert told in text
    assert "no such check" in text  # of ada, for bob's


def _changed(**fields: Any) -> str:
    return json.dumps({**line("ada"), **fields})


CHECK = line("ada")["checks"][0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "there is no result"),
        ("student,points\nada,10\n", "line 1: this is no result"),
        ('{"submission": "ada"}\n', "line 1: this is no result"),
        (f"{_changed()}\nhello\n", "line 2: this is no result"),
        (f"{_changed()}\n[1, 2]\n", "line 2: this is no result"),
        (_changed(points="10") + "\n", "line 1: this is no result"),
        (_changed(points=float("nan")) + "\n", "line 1: this is no result"),
        (_changed(points=10**400) + "\n", "line 1: this is no result"),
        (_changed(seconds=-1) + "\n", "line 1: this is no result"),
        (_changed(checks=None) + "\n", "line 1: this is no result"),
        (_changed(checks=[1]) + "\n", "line 1: this is no result"),
        (_changed(checks=[{**CHECK, "state": "great"}]) + "\n", "line 1: this is no result"),
        (_changed(checks=[{**CHECK, "misconceptions": [1]}]) + "\n", "line 1: this is no result"),
        (_changed(schema=2) + "\n", "line 1: another version"),
        ("\x00\xff\n", "line 1: this is no result"),
    ],
)
def test_other_files_are_refused_in_words(run, tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(content.encode("latin-1"))
    out = tmp_path / "report.html"
    done = run("report", "--results", path, "--out", out)
    assert (done.status, done.out) == (2, "")
    assert told in done.err and done.err.count("\n") == 1
    assert not out.exists()


def test_what_cannot_be_done_is_told(run, tmp_path: Path) -> None:
    path = written(tmp_path, small_class())
    other = written(tmp_path, [line("ada")], "more.jsonl")
    refusals = {
        (): "say what to report on",
        ("--results", tmp_path / "none.jsonl"): "there is no file",
        ("--results", tmp_path): "cannot be read",
        ("--results", path, "--course", tmp_path): "leave out --results",
        ("--course", tmp_path / "none"): "there is no folder",
        ("5", "--results", path): "no result to report on",
        ("55", "--results", path): "there is no step",
        ("--results", path, "--sort", "luck"): "there is no order luck",
        ("--results", path, "--results", other): "ada has two results for step04",
        ("--results", path, "--out", path): "is no report",
        ("--results", path, "--out", tmp_path): "cannot be written",
        ("--results", path, "--out", tmp_path / "none" / "report.html"): "cannot be written",
        ("--results", path, "--out", path / "report.html"): "cannot be written",
    }
    before = path.read_bytes()
    for arguments, told in refusals.items():
        out = () if "--out" in arguments else ("--out", tmp_path / "new.html")
        done = run("report", *arguments, *out)
        assert (done.status, done.out) == (2, ""), arguments
        assert told in done.err, (arguments, done.err)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["more.jsonl", "results.jsonl"]


def test_without_names_no_name_is_anywhere(run, tmp_path: Path) -> None:
    names = ["xanthippe-q", "김하늘빛", "zebedee_w.py", "quartus"]
    lines = [
        {
            **line(name, output=wrong(message=f"{name}, line 3: by {name}")),
            "file": f"{name}.py",
            "printed": f"I am {name}",
        }
        for name in names
    ]
    lines += [line(name, 1) for name in names[:3]]
    out = tmp_path / "quiet.html"
    first = written(tmp_path, lines[:4], "four.jsonl")
    second = written(tmp_path, lines[4:], "one.jsonl")
    done = run("report", "--results", first, "--results", second, "--anonymous", "--out", out)
    assert (done.status, done.err) == (0, "")
    text = out.read_text(encoding="utf-8")
    assert not [name for name in names if name in text or Path(name).stem in text]
    assert sorted(set(re.findall(r"Student \d+", text))) == [f"Student {n}" for n in range(1, 5)]
