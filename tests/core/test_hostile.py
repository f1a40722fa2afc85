"""Code that dies, hangs, floods, eats or lies loses its own checks, and nobody else theirs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.core.child import Limits
from autograder.core.step import find_step
from autograder.core.verdict import CheckVerdict, Verdict

Graded = Callable[..., Verdict]
Network = Callable[..., str]
HonestPasses = Callable[[], None]

BRIEF = Limits(load=2.0, probe=0.6, step=4.0)
CHECKS = {c.name for c in find_step(4).checks}
# The checks that call the module in train mode, and the points that are left without them.
IN_TRAINING = {"output", "gradients", "dropout", "scaling"}
FIRST = next(c.name for c in find_step(4).checks if c.name in IN_TRAINING)
LEFT = sum(c.points for c in find_step(4).checks if c.name not in IN_TRAINING)


def lost(verdict: Verdict) -> dict[str, CheckVerdict]:
    return {c.check: c for c in verdict.checks if c.state != "passed"}


def texts(verdict: Verdict) -> set[str]:
    return {f.text for c in verdict.checks for f in c.findings}


# ---------------------------------------------------------------- dying

DEADLY = {
    "leave": "os._exit(0)",
    "kill oneself": "os.kill(os.getpid(), 9)",
    "abort": "os.abort()",
    "a real-time signal": "os.kill(os.getpid(), 40)",
    "segfault": "ctypes.string_at(0)",
    "overflow the C stack": "sys.setrecursionlimit(10**8); f = lambda *a: list(map(f, a)); f(1)",
    "leave from a thread": "threading.Thread(target=os._exit, args=(3,)).start(); time.sleep(5)",
    "close everything": "os.closerange(0, 256)",
    "close everything and go on": "os.closerange(0, 256); time.sleep(60)",
    "leave, a child behind": "os.fork() or time.sleep(30); os._exit(0)",
    "flood every descriptor": "[os.write(fd, bytes(4096)) for fd in range(3, 256) if is_open(fd)]",
    "answer half": "[os.write(fd, b'{') for fd in range(3, 256) if is_open(fd)]; os._exit(0)",
    "break the answer": "json.dumps = lambda *a: 1",
    "write no answer": "os.write = lambda *a: 1 / 0",
    "leave nothing in place": "os._exit = os.kill = os.write = sys.exit = None",
}
IS_OPEN = "is_open = lambda fd: os.path.exists(f'/dev/fd/{fd}')"


@pytest.mark.parametrize("forward", DEADLY.values(), ids=DEADLY.keys())
def test_dying_costs_the_checks_that_die(
    graded: Graded, network: Network, honest_passes: HonestPasses, forward: str
) -> None:
    verdict = graded(network(top=IS_OPEN, forward=f"if self.training:\n    {forward}"))
    assert lost(verdict).keys() == IN_TRAINING
    assert {c.state for c in lost(verdict).values()} == {"error"}
    assert verdict.points == LEFT
    honest_passes()


def test_a_death_is_told_by_its_cause(graded: Graded, network: Network) -> None:
    left = graded(network(init="os._exit(7)")).checks[0].findings[0]
    killed = graded(network(init="os.abort()")).checks[0].findings[0]
    assert (left.text, left.facts) == ("lost.exit", {"detail": "7"})
    assert (killed.text, killed.facts) == ("lost.signal", {"detail": "SIGABRT"})


def test_prints_before_a_death_are_kept(graded: Graded, network: Network) -> None:
    verdict = graded(network(init="print('so far', end='\\n'); os._exit(0)"))
    assert verdict.printed.startswith("so far\n")


# ---------------------------------------------------------------- hanging

HANGING = {
    "loop": "while True: pass",
    "loop through all": "while True:\n    try: time.sleep(9)\n    except BaseException: pass",
    "loop in __del__": "type('Odd', (), {'__del__': lambda self: time.sleep(60)})()",
    "loop in C": "sum(iter(int, 1))",
    "huge product": "torch.ones(9000, 9000) @ torch.ones(9000, 9000) @ torch.ones(9000, 9000)",
    "hopeless pattern": "import re; re.match('(a+)+$', 'a' * 64 + 'b')",
    "wait for a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "ignore signals": "[signal.signal(s, signal.SIG_IGN) for s in (2, 15, 24)]; time.sleep(60)",
    "stop oneself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "own process group": "os.setpgid(0, os.getpgid(os.getppid())); time.sleep(60)",
    "wait for input": "signal.pause()",
}


@pytest.mark.parametrize("forward", HANGING.values(), ids=HANGING.keys())
def test_hanging_is_stopped(graded: Graded, network: Network, forward: str) -> None:
    forward = f"if self.training:\n{chr(10).join('    ' + f for f in forward.splitlines())}"
    started = time.monotonic()
    verdict = graded(network(forward=forward), limits=BRIEF)
    assert time.monotonic() - started < 2.5
    assert lost(verdict)[FIRST].state == "timeout"
    assert verdict.checks[0].state == "passed"  # seen before
    others = {c.state for name, c in lost(verdict).items() if name != FIRST}
    assert others == {"skipped"}


def test_default_limits_end_within_ten_seconds(
    graded: Graded, network: Network, honest_passes: HonestPasses
) -> None:
    """Each probe takes as long as it may without being stopped; `graded` looks at the clock."""
    verdict = graded(network(init="time.sleep(3.0)"))
    assert {"timeout", "skipped"} & {c.state for c in verdict.checks}
    honest_passes()


def test_standard_input_is_empty(graded: Graded, network: Network) -> None:
    assert graded(network(init="assert sys.stdin.read() == ''")).points == 10


# ---------------------------------------------------------------- eating

EATING = {
    "tensor": "torch.empty(2**33, dtype=torch.uint8).fill_(1)",
    "bytes": "bytearray(2**33)",
    "growing list": "kept = []\nwhile True: kept.append(bytearray(2**26))",
    "growing for good": "while True: KEPT.append(bytearray(2**26))",
}


@pytest.mark.parametrize("forward", EATING.values(), ids=EATING.keys())
def test_memory_is_limited(
    graded: Graded, network: Network, honest_passes: HonestPasses, forward: str
) -> None:
    forward = f"if self.training:\n{chr(10).join('    ' + f for f in forward.splitlines())}"
    verdict = graded(network(top="KEPT = []", forward=forward), limits=Limits(memory=2**28))
    assert lost(verdict).keys() >= IN_TRAINING
    assert verdict.checks[0].state == "passed"
    honest_passes()


def test_recursion_without_end_is_stopped(graded: Graded, network: Network) -> None:
    forward = "sys.setrecursionlimit(10**8); f = lambda: f(); f()"
    verdict = graded(network(forward=forward), limits=Limits(probe=0.8, memory=2**28))
    assert lost(verdict).keys() == CHECKS


def test_files_are_limited(graded: Graded, network: Network, tmp_path: Path) -> None:
    init = f"open({str(tmp_path / 'big')!r}, 'wb').write(bytes(2**21))"
    verdict = graded(network(init=init), limits=Limits(file=2**20))
    assert verdict.checks[0].findings[0].facts["kind"] == "OSError"
    assert (tmp_path / "big").stat().st_size <= 2**20


FLOODS = {
    "print": "for _ in range(100): print('x' * 10**6)",
    "print lines": "for _ in range(10**5): print('x' * 10)",
    "descriptor 1": "for _ in range(1000): os.write(1, b'x' * 10**6)",
    "descriptor 2": "for _ in range(100): os.write(2, b'x' * 10**6)",
    "another program": "os.system('head -c 100000000 /dev/zero')",
    "without line end": "sys.stdout.write('x' * 10**8)",
    "warnings": "for i in range(1000): warnings.warn('x' * 1000 + str(i))",
    "no encoding": "print('\\ud800' * 10**6)",
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_prints_cost_nothing_and_are_cut(graded: Graded, network: Network, flood: str) -> None:
    verdict = graded(network(top=flood))
    assert verdict.points == 10
    assert 4000 <= len(verdict.printed) <= 4096


# ---------------------------------------------------------------- leaving things behind


def test_forked_grandchild_is_dead_afterwards(
    graded: Graded, network: Network, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    start = "pid = os.fork()\nif not pid: time.sleep(30); os._exit(0)"
    top = f"{start}\nopen({str(note)!r}, 'w').write(str(pid))"
    assert graded(network(top=top)).points == 10
    assert _is_dead(int(note.read_text()))


def test_program_left_running_is_dead_afterwards(
    graded: Graded, network: Network, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    start = "import subprocess\npid = subprocess.Popen(['sleep', '30']).pid"
    top = f"{start}\nopen({str(note)!r}, 'w').write(str(pid))"
    assert graded(network(top=top)).points == 10
    assert _is_dead(int(note.read_text()))


def _is_dead(pid: int) -> bool:
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True  # dead; whoever inherits it has not looked yet
        time.sleep(0.01)
    return False


def test_parents_descriptors_are_out_of_reach(
    graded: Graded, network: Network, tmp_path: Path
) -> None:
    with (tmp_path / "gradebook").open("w+b") as gradebook:
        init = f"os.write({gradebook.fileno()}, b'full marks')"
        verdict = graded(network(init=init))
        assert verdict.points == 0
        assert gradebook.seek(0, os.SEEK_END) == 0


HARMLESS = {
    "thread": "threading.Thread(target=time.sleep, args=(60,)).start()",
    "busy thread": "threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()",
    "no stdout": "sys.stdout = None",
    "closed stdout": "sys.stdout.close()",
    "odd stdout": "sys.stdout = type('S', (), {'write': len, '__getattr__': lambda s, n: 1 / 0})()",
    "closed descriptors 1 and 2": "os.close(1); os.close(2)",
    "other folder": "os.chdir('/')",
    "no folder": "import tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)",
    "float64": "torch.set_default_dtype(torch.float64)",
    "meta device": "torch.set_default_device('meta')",
    "no gradients": "torch.set_grad_enabled(False)",
    "inference mode": "torch.inference_mode().__enter__()",
    "deterministic": "torch.use_deterministic_algorithms(True)",
    "seeded": "torch.manual_seed(0); random.seed(0)",
    "more threads": "torch.set_num_threads(4); torch.ones(500, 500) @ torch.ones(500, 500)",
    "signal handlers": "[signal.signal(s, signal.SIG_IGN) for s in (2, 15, 17)]",
    "timer": "signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(0, 0.01, 0.01)",
    "warnings as errors": "warnings.simplefilter('error')",
    "no collection": "import gc; gc.enable(); gc.collect()",
    "os.fork": "os.fork = os.system = os.kill = None",
    "os._exit": "os._exit = lambda code: None",
    "dunder all": "__all__ = 5; __name__ = '__main__'; __file__ = None",
    "main guard": "if __name__ == '__main__': raise SystemExit",
    "path": "sys.path.clear(); sys.meta_path.clear()",
    "names that are no names": "globals()[5] = 5",
}


@pytest.mark.parametrize("top", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_hurts_nobody_costs_nothing(graded: Graded, network: Network, top: str) -> None:
    patient = Limits(load=60, probe=60, step=120)  # some load half of torch: slow where all is busy
    verdict = graded(network(top=top), limits=patient)
    assert not lost(verdict), verdict


# ---------------------------------------------------------------- lying

LIES = {
    "torch.allclose": "torch.allclose = torch.equal = torch.isclose = lambda *a, **k: True",
    "Tensor.__eq__": "torch.Tensor.__eq__ = lambda *a: torch.tensor(True)",
    "builtins": "import builtins; builtins.all = builtins.isinstance = lambda *a: True",
    "safetensors": "import safetensors.torch; safetensors.torch.save = lambda *a, **k: b''",
    "the kit's comparison": "import autograder.core.compare as c; c.difference = lambda *a: None",
    "the kit's probes": "import autograder.core.probing as p; p.observe = lambda *a: None",
    "the kit's encoder": "import autograder.core.child as c; c.encode = lambda *a: b''",
    "struct": "import struct; struct.Struct.pack = None",
}


@pytest.mark.parametrize("top", LIES.values(), ids=LIES.keys())
def test_patches_earn_nothing(
    graded: Graded, network: Network, honest_passes: HonestPasses, top: str
) -> None:
    top = f"try:\n    {top}\nexcept TypeError: pass"
    verdict = graded(network(top=top, forward="return x * 0"), limits=Limits(probe=1.5, step=4))
    assert {"output", "dropout"} <= lost(verdict).keys()
    assert verdict.points <= 4  # shape, positions and the honest number of parameters
    honest_passes()


UNRULY = {
    "no parameters": "self.parameters = lambda *a, **k: iter(())",
    "other parameters": "self.parameters = lambda *a, **k: iter([nn.Parameter(torch.ones(3))])",
    "another each time": "self.w_3 = nn.Linear(d_ff, random.randint(1, 9**3))",
    "no mode": "self.eval = lambda: None",
    "another class": "self.__class__ = type('Odd', (), {'__call__': lambda s, x: x})",
}


@pytest.mark.parametrize("init", UNRULY.values(), ids=UNRULY.keys())
def test_unruly_modules_get_a_verdict(
    graded: Graded, network: Network, honest_passes: HonestPasses, init: str
) -> None:
    verdict = graded(network(init=init))
    assert lost(verdict)
    assert not {"timeout", "skipped"} & {c.state for c in verdict.checks}
    honest_passes()


@pytest.mark.parametrize(
    ("definition", "key"),
    [
        ("PositionwiseFeedForward = 5", "unusable.not_callable"),
        ("PositionwiseFeedForward = nn.Linear", "unusable.ready_made"),
        ("PositionwiseFeedForward = lambda *a: 5", "unusable.not_module"),
        ("PositionwiseFeedForward = type('M', (), {'__getattr__': lambda s, n: 1 / 0})()", None),
    ],
)
def test_exports_that_are_no_modules(graded: Graded, definition: str, key: str | None) -> None:
    verdict = graded(f"from torch import nn\n{definition}\n")
    assert verdict.points == 0
    assert key is None or key in texts(verdict)
