"""The forked child's limits, its walls, and the same work done in this very process."""

from __future__ import annotations

import os
import random
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from autograder.core.child import Job, Limits
from autograder.core.grading import grade
from autograder.core.observation import Observation, encode
from autograder.core.running import Lost, run
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.task import Task
from autograder.core.verdict import Verdict

Graded = Callable[..., Verdict]
Network = Callable[..., str]

STEP = find_step(4)
EXPORTS = {c.probe: c.export for c in STEP.checks}


def job(text: str, seed: int = 1) -> Job:
    return Job(Source(text, "feed_forward.py"), Task.of(STEP), tuple(EXPORTS), seed)


def test_child_and_this_process_see_the_same(network: Network) -> None:
    text = network()
    there, here = (run(job(text), EXPORTS, in_process=i) for i in (False, True))
    assert there.probes.keys() == here.probes.keys() == set(EXPORTS)
    for name in EXPORTS:
        one, two = there.probes[name], here.probes[name]
        assert isinstance(one, Observation)
        assert isinstance(two, Observation)
        one.seconds = two.seconds = 0.0
        assert encode(one) == encode(two)


def test_walls_stand_before_learners_code(network: Network) -> None:
    def wall() -> None:
        os.environ["WALL"] = "up"

    text = network(top="assert os.environ['WALL'] == 'up'")
    assert grade(STEP, Source(text, "feed_forward.py"), walls=[wall]).points == 10
    assert "WALL" not in os.environ


def test_wall_that_cannot_be_put_up_lets_nothing_run(network: Network, tmp_path: Path) -> None:
    def wall() -> None:
        raise OSError("no wall here")

    note = tmp_path / "ran"
    with pytest.raises(ChildProcessError):  # the kit's fault, and never the learner's
        run(job(network(top=f"open({str(note)!r}, 'w')")), EXPORTS, walls=[wall])
    assert not note.exists()


def test_a_lost_probe_costs_itself_only(network: Network) -> None:
    init = "if sys._getframe(1).f_code.co_name == 'parameters': os._exit(9)"
    seen = run(job(network(init=init)), EXPORTS)
    lost = {n for n, o in seen.probes.items() if isinstance(o, Lost)}
    assert lost == {"parameters"}
    assert seen.probes["parameters"] == Lost("exit", "9")


def test_step_has_an_end_even_if_every_probe_comes_back(network: Network) -> None:
    started = time.monotonic()
    text = network(init="time.sleep(0.3)")
    seen = run(job(text), EXPORTS, limits=Limits(probe=3.0, step=1.5))
    assert time.monotonic() - started < 2.5
    kinds = [o.kind for o in seen.probes.values() if isinstance(o, Lost)]
    assert kinds[0] == "timeout"
    assert set(kinds[1:]) == {"skipped"}
    assert seen.probes.keys() == set(EXPORTS)


def writing(frames: bytes) -> str:
    """Code that writes these bytes where answers are expected."""
    return f"""
for fd in range(3, 99):
    try: os.write(fd, {frames!r})
    except OSError: pass
"""


@pytest.mark.parametrize(
    "frame",
    [
        Observation({"shape_0": [2, 6, 15]}),  # loading tells of nothing but an exception
        Observation({"unusable": {"problem": "x"}}),
    ],
)
def test_forged_loading_counts_as_nothing(network: Network, frame: Observation) -> None:
    seen = run(job(network(top=writing(encode(frame)))), EXPORTS)
    assert isinstance(seen.loaded, Lost)
    assert seen.loaded.kind == "malformed"


def test_forged_answers_earn_nothing(graded: Graded, network: Network) -> None:
    """Well-made answers, one for each probe, that hold what a lazy guess would."""
    frames = encode(Observation())
    for _ in EXPORTS:
        values = {"y": torch.zeros(2, 6, 15), "count": 1, "shape_0": [2, 6, 1], "untouched": True}
        frames += encode(Observation(dict(values)))
    assert graded(network(top=writing(frames))).points == 0


def test_too_long_an_answer_is_cut_off(network: Network) -> None:
    started = time.monotonic()
    seen = run(job(network(top=writing(b"\x7f" * 8))), EXPORTS)
    assert seen.loaded == Lost("malformed", "too long")
    assert time.monotonic() - started < 2


def test_many_open_descriptors_do_not_matter(graded: Graded, network: Network) -> None:
    many = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert graded(network()).points == 10
    finally:
        for fd in many:
            os.close(fd)


# ---------------------------------------------------------------- in this process


def state() -> tuple[object, ...]:
    return (
        list(sys.path),
        [sys.modules.get(name) for name in ("feed_forward", "my_helper", "transformer_ref")],
        list(sys.meta_path),
        os.getcwd(),
        (sys.stdin, sys.stdout, sys.stderr),
        list(warnings.filters),
        sys.getrecursionlimit(),
        random.getstate(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_num_threads(),
        torch.get_rng_state().tolist(),
        torch.nn.MultiheadAttention.__init__,
    )


CHANGES = """sys.path.insert(0, '/nowhere'); os.chdir('/'); sys.stdout = sys.stderr = None
import my_helper
warnings.simplefilter('error'); sys.setrecursionlimit(500); random.seed(1); torch.manual_seed(1)
torch.set_default_dtype(torch.float64); torch.set_default_device('meta')
torch.set_grad_enabled(False); torch.use_deterministic_algorithms(True)
"""


def test_in_process_puts_back_what_was_changed(network: Network, tmp_path: Path) -> None:
    (tmp_path / "my_helper.py").write_text("")
    source = Source(network(top=CHANGES), str(tmp_path / "feed_forward.py"))
    grade(STEP, Source(network(), "feed_forward.py"), in_process=True)  # imports what it needs
    before = state()
    assert grade(STEP, source, in_process=True).points == 10
    assert state() == before


@pytest.mark.parametrize("top", ["1 / 0", "import no_such_package", "def f(:", "sys.exit()"])
def test_in_process_puts_back_after_a_failure(network: Network, top: str) -> None:
    before = state()
    verdict = grade(STEP, Source(network(top=top), "/some/feed_forward.py"), in_process=True)
    assert verdict.checks[0].state == "error"
    assert state() == before


def test_in_process_forgets_helpers_so_that_edits_count(network: Network, tmp_path: Path) -> None:
    helper = tmp_path / "my_helper.py"
    text = network(top="from my_helper import work").replace(".relu())", ".pow(work))")
    source = Source(text, str(tmp_path / "feed_forward.py"))
    helper.write_text("work = 1  # no ReLU at all")
    assert grade(STEP, source, in_process=True).points < 10
    helper.write_text("import torch\nwork = 222")
    first = grade(STEP, source, in_process=True, seed=1)
    assert first.checks[2].state == "failed"
    assert "my_helper" not in sys.modules


def test_in_process_lets_the_keyboard_through(network: Network) -> None:
    before = state()
    source = Source(network(forward="raise KeyboardInterrupt"), "feed_forward.py")
    with pytest.raises(KeyboardInterrupt):
        grade(STEP, source, in_process=True)
    assert state() == before


def test_the_parents_own_settings_play_no_part(graded: Graded, network: Network) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    try:
        assert graded(network()).points == 10
        assert torch.get_default_dtype() == torch.float64
        assert not torch.is_grad_enabled()
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)


def test_what_is_printed_while_loading_is_shown_once(network: Network) -> None:
    top = "print('loading')"
    init = "if sys._getframe(1).f_code.co_name == 'parameters': os._exit(9)"
    verdict = grade(STEP, Source(network(top=top, init=init), "feed_forward.py"))
    assert verdict.printed.count("loading") == 1
