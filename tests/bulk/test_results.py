"""The results file: whole lines whatever happens, the newest of each submission, a safe table."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.bulk.results import Busy, Foreign, Results, table_of, write_table


def line(name: str, points: int = 10, fingerprint: str = "f", seed: int = 7) -> dict[str, Any]:
    checks = [
        {"name": "shape", "points": points, "max_points": 10, "misconceptions": ["a", "b"]},
        {"name": "remark", "points": 0, "max_points": 0, "misconceptions": ["b"]},
    ]
    facts = {"points": points, "max_points": 10, "checks": checks}
    return {
        "schema": 1,
        **facts,
        "seed": seed,
        "submission": name,
        "fingerprint": fingerprint,
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def opened(path: Path) -> closing[Results]:
    return closing(Results(path))


def test_what_was_added_is_there_when_it_is_opened_again(path: Path) -> None:
    with opened(path) as results:
        results.add(line("bob", 7))
        assert results.has("bob", "f")
    with opened(path) as results:
        assert results.line("bob") == line("bob", 7)
        assert results.has("bob", "f")
        assert not results.has("bob", "g")
        assert not results.has("alice", "f")


def test_the_newest_line_counts_and_alone_is_kept_in_order(path: Path) -> None:
    with opened(path) as results:
        for one in (line("carol"), line("bob", 3), line("gone"), line("alice"), line("bob", 9)):
            results.add(one)
        results.finish(["alice", "bob", "carol", "never"])
    kept = [json.loads(text) for text in path.read_text().splitlines()]
    assert kept == [line("alice"), line("bob", 9), line("carol")]
    with opened(path) as results:
        assert results.line("bob") == line("bob", 9)
        assert results.line("gone") is None


@pytest.mark.parametrize("cut", [1, 5, 12, 60, 150])
def test_a_torn_line_is_dropped_and_nothing_else(path: Path, cut: int) -> None:
    with opened(path) as results:
        results.add(line("alice"))
        results.add(line("bob"))
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(whole[0] + whole[1][:cut])
    with opened(path) as results:
        assert results.has("alice", "f")
        assert not results.has("bob", "f")
        results.add(line("bob", 2))
    with opened(path) as results:
        assert results.line("alice") == line("alice")
        assert results.line("bob") == line("bob", 2)


FOREIGN = [
    b"def attention(query):\n    pass\n",
    b"x",
    b"{}\n",
    b'{"schema": 1}\n',
    b'{"schema": 1, "submission": 5, "fingerprint": "f", "seed": 1}\n',
    b"\x00" * 100,
    b"\n",
]


@pytest.mark.parametrize("content", FOREIGN)
def test_another_file_is_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(Foreign):
        Results(path)
    assert path.read_bytes() == content


def test_something_else_among_the_lines_is_no_torn_end(path: Path) -> None:
    with opened(path) as results:
        results.add(line("alice"))
    content = path.read_bytes() + b'{"schema": broken\n' + path.read_bytes()
    path.write_bytes(content)
    with pytest.raises(Foreign):
        Results(path)
    assert path.read_bytes() == content


def test_only_one_run_at_a_time(path: Path) -> None:
    with opened(path), pytest.raises(Busy):
        Results(path)
    with opened(path):
        pass


def test_what_is_finished_is_read_in_the_new_place(path: Path) -> None:
    """The file is replaced: whoever opens it later must not lock or write the old one."""
    with opened(path) as results:
        results.add(line("alice"))
        results.finish(["alice"])
    with opened(path) as results:
        results.add(line("bob"))
    assert [json.loads(text)["submission"] for text in path.read_text().splitlines()] == [
        "alice",
        "bob",
    ]
    assert {p.name for p in path.parent.iterdir()} == {"results.jsonl", "results.csv"}


def test_a_line_survives_a_kill_right_after_it_was_added(path: Path) -> None:
    code = (
        "import os, sys, json\nfrom pathlib import Path\n"
        "from autograder.bulk.results import Results\n"
        "r = Results(Path(sys.argv[1])); r.add(json.loads(sys.argv[2])); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path), json.dumps(line("alice"))])
    assert ended.returncode == -9
    with opened(path) as results:
        assert results.line("alice") == line("alice")


def test_a_place_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "results.jsonl"):
        with pytest.raises(OSError):
            Results(path)


@pytest.mark.parametrize(
    ("results", "table"),
    [
        ("results.jsonl", "results.csv"),
        ("results", "results.csv"),
        ("a.csv", "a.csv.csv"),
        ("w.1.jsonl", "w.1.csv"),
    ],
)
def test_the_table_lies_beside_it(results: str, table: str) -> None:
    assert table_of(Path("folder", results)) == Path("folder", table)


def rows(lines: list[dict[str, Any]]) -> list[list[str]]:
    file = io.BytesIO()
    write_table(file, iter(lines))
    text = file.getvalue().decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_a_row_has_points_of_graded_checks_and_each_mistake_once() -> None:
    assert rows([line("alice", 7), line("bob", 0)]) == [
        ["submission", "points", "max_points", "shape", "misconceptions"],
        ["alice", "7", "10", "7", "a b"],
        ["bob", "0", "10", "0", "a b"],
    ]
    assert rows([]) == []


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(), min_size=1, max_size=8))
def test_no_name_is_a_formula_or_breaks_a_row(name: str) -> None:
    _, row = rows([line(name)])
    assert len(row) == 5
    assert not row[0].lstrip().startswith(("=", "+", "-", "@", "\t", "\r"))
    assert row[0].isprintable()


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", " =1", "\t=1", "\n=1"])
def test_formulas_are_escaped(name: str) -> None:
    cell = rows([line(name)])[1][0]
    assert cell.startswith(("'", "\\"))


def test_names_that_are_no_text_can_be_written_and_found(path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe.py")
    with opened(path) as results:
        results.add(line(name))
        results.finish([name])
    with opened(path) as results:
        assert results.line(name) == line(name)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.sampled_from("abcdef"), max_size=12).flatmap(
        lambda names: st.tuples(st.just(names), st.permutations(names))
    )
)
def test_the_finished_file_depends_on_no_order(
    tmp_path: Path, both: tuple[list[str], list[str]]
) -> None:
    contents = []
    for number, names in enumerate(both):
        path = tmp_path / f"{number}.jsonl"
        path.unlink(missing_ok=True)
        with opened(path) as results:
            for name in names:
                results.add(line(name, ord(name)))
            results.finish("abcdef")
        contents.append((path.read_bytes(), table_of(path).read_bytes()))
    assert contents[0] == contents[1]
