"""`autograder report`: the figures of a small class, and the page that shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.step import find_step
from autograder.front.report.figures import count
from autograder.front.report.html import element
from autograder.front.report.page import page
from autograder.front.report.work import Foreign, nameless, work_of

Line = dict[str, Any]
ROOT = Path(__file__).parents[2]
PASSED: dict[str, Any] = {}
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


# ---------------------------------------------------------------- the figures


def test_the_figures_of_a_step() -> None:
    (step,) = figures_of(small_class()).steps
    assert (step.name, step.possible, step.full) == ("step04", 10, 2)
    assert (step.mean, step.median) == (39 / 6, 7)
    assert step.histogram == [1, 0, 0, 0, 0, 1, 0, 2, 0, 0, 2]
    assert (step.seconds, step.out_of_time) == (0.5, ["eve"])
    assert [w.student for w in step.slowest][:2] == ["cleo", "ada"]


def test_checks_by_how_often_they_are_lost_and_how() -> None:
    (step,) = figures_of(small_class()).steps
    assert [(c.name, c.lost, c.tried) for c in step.hardest] == [
        ("output", 4, 6),
        ("dropout", 2, 6),
        *((name, 1, 6) for name in ("shape", "parameters", "positions", "gradients")),
    ]
    output, dropout = step.hardest[:2]
    assert output.states == {"failed": 3, "passed": 2, "unwritten": 1}
    assert dropout.states == {"passed": 4, "timeout": 1, "unwritten": 1}
    assert [(c.name, students) for c, students in step.remarks] == [("scaling", ["bob"])]


def test_mistakes_by_how_many_hold_them() -> None:
    (step,) = figures_of(small_class()).steps
    assert [(m.slug, m.students, m.checks) for m in step.mistakes] == [
        ("activation-tanh", ("cleo", "dan"), ("output",)),
        ("activation-elu", ("dan",), ("output",)),
    ]
    # What was not written, or did not come to an end, is no wrong answer.
    assert (step.wrong, step.unnamed, step.unnamed_students) == (3, 1, ["eve"])


def test_a_mistake_that_a_student_makes_twice_counts_once() -> None:
    tanh = wrong("activation-tanh")
    (step,) = figures_of([line("ada", output=tanh, dropout=tanh)]).steps
    (held,) = step.mistakes
    assert (held.students, held.checks) == (("ada",), ("output", "dropout"))


def test_who_lacks_a_step_is_missing_there_and_not_in_its_mean() -> None:
    lines = [line("ada"), line("bob", 1), line("ada", 1)]
    lines.append({"submission": "cleo", "step": "step04", "missing": True})
    figures = figures_of(lines)
    first, fourth = figures.steps
    assert (first.missing, fourth.missing) == (("cleo",), ("bob", "cleo"))
    assert fourth.mean == 10
    assert figures.possible == 20
    assert [(t.student, t.earned) for t in figures.totals] == [
        ("ada", 20),
        ("bob", 10),
        ("cleo", 0),
    ]


def test_the_gradebooks_score_is_the_one_that_counts() -> None:
    late = {**line("ada"), "score": 8.5, "max_score": 12}
    figures = figures_of([late, line("bob")])
    (step,) = figures.steps
    assert (step.possible, step.full) == (12, 1)
    assert step.mean == 9.25
    assert step.histogram[7] == 1  # 8.5 of 12
    text = page(figures, "en")
    assert "<b>10/10</b>" in text and "<b>8.5/12</b>" in text


def test_students_by_name_as_people_count_or_by_points() -> None:
    tanh = wrong("activation-tanh")
    lines = [line("s10"), line("S2", output=tanh), line("s1", shape=wrong())]
    by_name = figures_of(lines)
    assert [t.student for t in by_name.totals] == ["s1", "S2", "s10"]
    by_points = figures_of(lines, order="points")
    assert [t.student for t in by_points.totals] == ["s10", "s1", "S2"]
    assert [w.student for w in by_points.steps[0].works] == ["s10", "s1", "S2"]


@given(st.lists(st.tuples(st.integers(0, 7), st.sets(st.sampled_from(range(6)))), max_size=12))
def test_every_student_is_counted_once_in_each_figure(marks: list[tuple[int, set[int]]]) -> None:
    graded = [c.name for c in find_step(4).checks if c.graded]
    lost = {f"student{n}": {graded[i]: wrong() for i in which} for n, which in marks}
    if not lost:
        return
    (step,) = figures_of([line(student, **checks) for student, checks in lost.items()]).steps
    assert sum(step.histogram) == len(lost)
    assert all(sum(column.states.values()) == len(lost) for column in step.columns)
    assert sum(column.lost for column in step.graded) == step.wrong == step.unnamed
    assert step.full == step.histogram[-1]


# ---------------------------------------------------------------- the page


class _Outline(HTMLParser):
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


def course() -> list[Line]:
    """Two steps, a missing student, a score, an unknown step and names that need care."""
    return [
        *small_class(),
        {**line("ada", 1), "score": 9, "max_score": 10, "printed": "hello\n</pre>"},
        line("bob", 1, output=wrong("no-scale", message="line 1\n<b>line 2</b>")),
        {**line("ada"), "step": "step99", "title": "Of another version"},
        {"submission": "zoe", "step": "step01", "missing": True},
    ]


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("anonymous", [False, True])
def test_the_page_is_well_formed_and_can_be_read_without_eyes(lang: str, anonymous: bool) -> None:
    outline = _Outline(page(figures_of(course(), lang=lang), lang, anonymous=anonymous))
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
    outline = _Outline(text)
    assert not {"script", "img", "link", "iframe", "form"} & set(outline.tags)
    assert "default-src &#x27;none&#x27;" in text
    assert "url(" not in text and "@import" not in text and "://" not in text


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
    outline = _Outline(page(figures_of([one, other]), "en"))
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
        text = _Outline(page(figures_of(small_class(), lang=lang), lang)).text
        assert mistake.name[lang] in text and mistake.question[lang] in text
        assert mistake.place[lang] in text
        assert ("2 of 6" if lang == "en" else "6명 중 2명") in text


def test_the_same_message_is_told_once_a_student() -> None:
    both = wrong(message="A long story.")
    text = page(figures_of([line("ada", output=both, dropout=both)]), "en")
    assert text.count("A long story.") == 1
    assert "The same as for computes max(0, x W_1 + b_1) W_2 + b_2." in text


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


# ---------------------------------------------------------------- without names


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


def test_numbers_do_not_follow_the_alphabet_and_are_the_same_in_all_steps() -> None:
    works = [work_of(line(f"s{n:02d}", step)) for step in (1, 4) for n in range(30)]
    hidden = nameless(works, str)
    assert [w.student for w in hidden[:30]] == [w.student for w in hidden[30:]]
    orders = {tuple(w.student for w in nameless(works, str)[:30]) for _ in range(5)}
    assert len(orders) == 5
    assert sorted(hidden[0:30], key=lambda w: int(w.student)) != hidden[:30]


# ---------------------------------------------------------------- the command


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
    outline = _Outline(out.read_text(encoding="utf-8"))
    assert "wrong" not in outline.text  # of ada, the newer line counts


def test_another_versions_steps_and_checks_are_shown_as_they_are(run, tmp_path: Path) -> None:
    strange = {**line("ada"), "step": "step99", "title": "Of another version"}
    old = line("bob", output=wrong("a-mistake-of-old"))
    old["checks"].append({**old["checks"][0], "name": "older", "title": "asks for something"})
    path = written(tmp_path, [old, line("ada"), {**strange, "submission": "cleo"}])
    out = tmp_path / "report.html"
    assert run("report", "--results", path, "--out", out).status == 0
    text = _Outline(out.read_text(encoding="utf-8")).text
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


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["schema", "submission", "step", "title", "points", "checks", "score"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=6,
    )
)
def test_no_line_is_read_halfway(value: Any) -> None:
    """Whatever stands in a field: it is a line that can be counted, or it is refused."""
    for key in (*line("ada"), "score", "max_score", "missing"):
        try:
            work = work_of({**line("ada"), key: value})
        except Foreign:
            continue
        page(count([work], "en"), "en")


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api")
    chromium = Path("/usr/bin/chromium")
    if not chromium.exists():
        pytest.skip("there is no Chromium here")
    options = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    options += ["--disable-background-networking", "--disable-component-update", "--disable-quic"]
    with sync.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=options)
        yield browser
        browser.close()


def test_in_a_browser_the_keyboard_reaches_everything(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(figures_of(course()), "en"), encoding="utf-8")
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
    view.wait_for_function(f"{focused}.scrollLeft > 0")
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
