"""The report's figures of a small class, with names and without."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.stubs import stub_of
from autograder.core.grading import grade
from autograder.core.source import Source
from autograder.core.step import find_step
from autograder.front.report.figures import count
from autograder.front.report.page import page
from autograder.front.report.work import Foreign, nameless, work_of
from autograder.front.result import as_object
from tests.front.made_class import figures_of, line, small_class, wrong


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


STUB = stub_of(find_step(4).solution.read_text(encoding="utf-8"), 4)
OWN = "def PositionwiseFeedForward(*sizes):\n    raise "


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize(
    ("text", "state"),
    [
        (STUB, "unwritten"),
        (STUB.replace("NotImplementedError(", "ValueError('Not implemented yet: '"), "failed"),
        (OWN + "NotImplementedError\n", "unwritten"),
        (OWN + "ValueError('Not implemented yet: forward')\n", "failed"),
    ],
    ids=["stub", "error", "own", "own-error"],
)
def test_what_is_not_written_is_known_in_both_languages(text: str, state: str, lang: str) -> None:
    step = find_step(4)
    told = as_object(grade(step, Source(text, "feed_forward.py")), step, lang)
    work = work_of({**told, "submission": "ada"})
    assert {mark.state for mark in work.marks} == {state}


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


def test_numbers_do_not_follow_the_alphabet_and_are_the_same_in_all_steps() -> None:
    works = [work_of(line(f"s{n:02d}", step)) for step in (1, 4) for n in range(30)]
    hidden = nameless(works, str)
    assert [w.student for w in hidden[:30]] == [w.student for w in hidden[30:]]
    orders = {tuple(w.student for w in nameless(works, str)[:30]) for _ in range(5)}
    assert len(orders) == 5
    assert sorted(hidden[0:30], key=lambda w: int(w.student)) != hidden[:30]
