"""Submissions graded by waiting workers: verdicts as a fork gives them, whoever comes first."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from autograder.bulk.coordinator import grade_all
from autograder.bulk.submissions import Submission, names_in, read
from autograder.bulk.waiting import Broken, Waiting, WorkerLost
from autograder.core.child import Job, Limits
from autograder.core.grading import grade
from autograder.core.running import run
from autograder.core.step import Step, find_step
from autograder.core.subject import Source
from autograder.core.task import Task
from autograder.core.verdict import Finding, Verdict
from autograder.wall.tiers import Tier, best, numbered

BRIEF = Limits(load=3, probe=1.0, step=3)


def alike(verdict: Verdict) -> Verdict:
    """Without what differs from run to run."""
    checks = tuple(replace(c, seconds=0.0) for c in verdict.checks)
    return replace(verdict, checks=checks, seconds=0.0)


def submission(name: str, text: str) -> Submission:
    return Submission(name, Source(text, "feed_forward.py"), sha256(text.encode()).hexdigest())


def verdicts(
    step: Step, found: Iterable[Submission], tier: Tier, jobs: int = 1, limits: Limits | None = None
) -> dict[str, Verdict]:
    graded = list(grade_all(step, found, seed=1, tier=tier, jobs=jobs, limits=limits))
    names = [g.submission.name for g in graded]
    assert len(set(names)) == len(names)
    return {g.submission.name: alike(g.verdict) for g in graded}


@pytest.mark.parametrize("number", [0, 1, 2])
def test_workers_give_the_verdicts_that_a_fork_gives(
    tmp_path: Path, step: Step, right: str, wrong: str, number: int
) -> None:
    if number > best().number:
        pytest.skip(f"this machine gives tier {best().number}")
    (tmp_path / "alice.py").write_text(right)
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "feed_forward.py").write_text(wrong)
    (tmp_path / "carol.py").symlink_to("alice.py")
    (tmp_path / "dave.py").write_text("1 / 0")
    found = [read(tmp_path, name, step) for name in names_in(tmp_path)]
    seen = verdicts(step, found, numbered(number))
    assert {name: v.points for name, v in seen.items()} == {
        "alice.py": 10,
        "bob": 7,
        "carol.py": 0,
        "dave.py": 0,
    }
    for one in found:
        assert seen[one.name] == alike(grade(step, one.source, seed=1))


@pytest.mark.parametrize("number", [9, 18])
def test_given_pieces_are_at_hand_in_the_worker(number: int) -> None:
    step = find_step(number)
    source = Source.of(step.solution.read_bytes(), f"{step.slug}.py")
    seen = verdicts(step, [Submission("a", source, "")], best())
    assert seen["a"].passed, seen["a"]


def test_no_order_and_no_number_of_jobs_changes_a_verdict(step: Step, right: str) -> None:
    mistakes = [m.applied_to(right) for m in step.misconceptions[:4]]
    found = [submission(f"s{i}", text) for i, text in enumerate([right, *mistakes, "1 / 0"])]
    shuffled = random.Random(5).sample(found, len(found))
    one, two, three = (
        verdicts(step, order, best(), jobs)
        for order, jobs in ((found, 1), (shuffled, 3), (found[::-1], 2))
    )
    assert one == two == three


def test_who_sleeps_delays_nobody_at_another_worker(step: Step, right: str) -> None:
    asleep = submission("asleep", "import time\ntime.sleep(60)\n")
    awake = [submission(f"s{i}", f"{right}# {i}\n") for i in range(4)]
    graded = grade_all(step, [asleep, *awake], seed=1, tier=best(), jobs=2)
    order = [(g.submission.name, g.verdict) for g in graded]
    assert [name for name, _ in order][-1] == "asleep"
    states = {name: v.checks[0].state for name, v in order}
    assert states == {"asleep": "timeout", **{s.name: "passed" for s in awake}}


def test_nothing_is_left_for_the_next_submission(step: Step, right: str) -> None:
    notes = f"{right}\nimport os\nprint(os.listdir('.'), os.environ.get('NOTE'))\n"
    notes += "with open('note', 'w') as f: f.write('x')\n"
    notes += "os.environ['NOTE'] = 'x'; os.makedirs('a/b/c')\n"
    seen = verdicts(step, [submission(f"s{i}", f"{notes}# {i}") for i in range(3)], best())
    assert {v.printed for v in seen.values()} == {"[] None\n"}


def test_a_submission_that_ends_its_worker_costs_itself_only(step: Step, right: str) -> None:
    """Only where there is no wall."""
    killer = submission("killer", "import os\nos.kill(os.getppid(), 9)\nos._exit(0)\n")
    order = [submission("a", right), killer, submission("b", f"{right}# b\n")]
    seen = verdicts(step, order, numbered(0))
    assert {name: v.points for name, v in seen.items()} == {"a": 10, "killer": 0, "b": 10}
    assert seen["killer"].checks[0].findings[0].text == "lost.worker"


def test_a_worker_that_cannot_start_breaks_the_run(step: Step, right: str) -> None:
    class Nowhere(Tier):
        def command(self, argv, folders=()):  # type: ignore[no-untyped-def]
            return [*argv[:1], "-c", "import sys; sys.exit('no such place')"]

    with pytest.raises(Broken, match="no such place"):
        verdicts(step, [submission("a", right)], Nowhere(0, "nowhere"))


def children() -> set[int]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return set(map(int, text.split()))


def test_whoever_stops_half_way_leaves_no_process(step: Step, right: str) -> None:
    before = children()
    asleep = [submission(f"a{i}", f"import time\ntime.sleep(60)\n# {i}") for i in range(2)]
    found = [submission("s", right), *asleep]
    started = time.monotonic()
    with closing(grade_all(step, found, seed=1, tier=best(), jobs=2)) as graded:
        assert next(graded).submission.name == "s"
        ready = time.monotonic()
    assert time.monotonic() - ready < 3, ready - started
    assert children() == before


def test_problems_need_no_worker(step: Step) -> None:
    refused = Source("", "a.py", Finding("submission.link"))
    before = children()
    many = (Submission(f"s{i}", refused, "") for i in range(100))
    with closing(grade_all(step, many, seed=1, tier=best(), jobs=2)) as graded:
        assert next(graded).verdict.checks[0].findings == (Finding("submission.link"),)
        assert children() == before


def test_submissions_are_taken_as_they_are_needed(step: Step) -> None:
    taken = []

    def endless() -> Iterable[Submission]:
        while True:
            taken.append(len(taken))
            source = Source("", "a.py", Finding("submission.link"))
            yield Submission(f"s{len(taken)}", source, "")

    with closing(grade_all(step, endless(), seed=1, tier=best(), jobs=2)) as graded:
        for _ in range(10):
            next(graded)
    assert len(taken) < 20


# ---------------------------------------------------------------- one worker


def test_a_worker_runs_one_job_after_the_other(step: Step, right: str) -> None:
    task = Task.of(step)
    exports = {c.probe: c.export for c in step.checks}
    worker = Waiting(task, best())
    try:
        worker.until_ready()
        for text, kind in ((right, None), ("import os; os._exit(3)", "exit"), (right, None)):
            job = Job(Source(text, "feed_forward.py"), task, tuple(exports), 1)
            seen = run(job, exports, limits=BRIEF, start=worker.start)
            assert getattr(seen.loaded, "kind", None) == kind
        worker.cancel()
        with pytest.raises(WorkerLost):
            run(job, exports, limits=BRIEF, start=worker.start)
    finally:
        worker.close()


def test_a_worker_knows_nothing_of_what_is_right(
    step: Step, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What learners' code finds in the memory that it has inherited: no text, no later piece."""
    monkeypatch.setenv("GRADEBOOK_TOKEN", "x")
    spy = f"""{right}
import gc, os, sys
names = sorted(n for n in sys.modules if n.startswith("transformer_ref."))
gc.unfreeze()
everything = gc.get_objects()
modules = [vars(o).get("__name__", "") for o in everything if type(o) is type(sys)]
print(names)
print([n for n in modules if n.startswith("transformer_ref.") and n not in names])
print([n for n in modules if n.endswith((".expected", ".diagnosis", ".grading"))])
print([o for o in everything if type(o).__name__ in ("Step", "Misconception", "Check")])
print([k for k in os.environ if "TOKEN" in k])
"""
    (seen,) = verdicts(step, [submission("a", spy)], best()).values()
    given = sorted(f"transformer_ref.{slug}" for slug in set(Task.of(step).given.values()))
    assert seen.printed.splitlines() == [str(given), "[]", "[]", "[]", "[]"]
