"""A small class for the tests of the report: lines of results, and how a page of it is read."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from autograder.core.step import find_step
from autograder.front.report.figures import count
from autograder.front.report.work import work_of

Line = dict[str, Any]
UNWRITTEN = "Not implemented yet: feed_forward.py, line 30, in forward."


def line(student: str, step: int = 4, seconds: float = 0.5, **checks: dict[str, Any]) -> Line:
    """A line of results; the checks that are not named are passed."""
    of = find_step(step)
    entries = []
    for check in of.checks:
        told = {
            "state": "passed",
            "message": "",
            "misconceptions": [],
            **checks.get(check.name, {}),
        }
        points = check.points if told["state"] == "passed" else 0
        entry = {"name": check.name, "title": check.title["en"], "max_points": check.points}
        entries.append({**entry, "points": points, "seconds": 0.01, **told})
    return {
        "schema": 1,
        "step": of.name,
        "title": of.title["en"],
        "passed": all(c["state"] == "passed" for c in entries if c["max_points"]),
        "points": sum(c["points"] for c in entries),
        "max_points": 10,
        "checks": entries,
        "printed": "",
        "seed": 7,
        "seconds": seconds,
        "submission": student,
        "file": "feed_forward.py",
        "fingerprint": "f",
    }


def wrong(*slugs: str, message: str = "It differs.") -> dict[str, Any]:
    return {"state": "failed", "message": message, "misconceptions": list(slugs)}


def small_class() -> list[Line]:
    """Six students of step 4: 10, 10, 7, 7, 5 and 0 points."""
    names = [c.name for c in find_step(4).checks]
    unwritten = {name: wrong(message=UNWRITTEN) for name in names}
    return [
        line("ada"),
        line("bob", scaling=wrong(message="Units are not made up for.")),
        line("cleo", output=wrong("activation-tanh"), seconds=2.5),
        line("dan", output=wrong("activation-tanh", "activation-elu")),
        line("eve", output=wrong(), dropout={"state": "timeout", "message": "No end."}),
        line("fay", **unwritten),
    ]


def written(folder: Path, lines: list[Line], name: str = "results.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return path


def figures_of(lines: list[Line], **options: Any) -> Any:
    return count(map(work_of, lines), options.pop("lang", "en"), **options)


def course() -> list[Line]:
    """Two steps, a missing student, a score, an unknown step and names that need care."""
    return [
        *small_class(),
        {**line("ada", 1), "score": 9, "max_score": 10, "printed": "hello\n</pre>"},
        line("bob", 1, output=wrong("no-scale", message="line 1\n<b>line 2</b>")),
        {**line("ada"), "step": "step99", "title": "Of another version"},
        {"submission": "zoe", "step": "step01", "missing": True},
    ]


class Outline(HTMLParser):
    """Reads a page as strictly as is needed: tags balance, ids are unique, links lead somewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.named: list[str] = []
        self.heads: list[dict[str, str | None]] = []
        self.levels: list[int] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"an attribute twice in {tag}"
        assert not [key for key in given if key.startswith("on")]
        self.tags.append(tag)
        self.ids += [str(given["id"])] if "id" in given else []
        self.named += [str(given["aria-labelledby"])] if "aria-labelledby" in given else []
        self.links += [str(given["href"])] if "href" in given else []
        if tag == "th":
            self.heads.append(given)
        if re.fullmatch(r"h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)
