"""Whatever file a learner hands in gets a verdict in words that fit it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.authoring.stubs import stub_of
from autograder.core.child import Limits
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.verdict import Finding, Verdict

Graded = Callable[..., Verdict]
Network = Callable[..., str]

CHECKS = [c.name for c in find_step(4).checks]


def first(verdict: Verdict) -> Finding:
    return verdict.checks[0].findings[0]


def lost(verdict: Verdict) -> set[str]:
    return {c.check for c in verdict.checks if c.state != "passed"}


def states(verdict: Verdict) -> set[str]:
    return {c.state for c in verdict.checks}


# ---------------------------------------------------------------- files that are no program


def test_untouched_stub_is_not_implemented(graded: Graded) -> None:
    verdict = graded(stub_of(find_step(4).solution.read_text(encoding="utf-8"), 4))
    assert {c.findings[0].text for c in verdict.checks} == {"not_implemented"}
    assert states(verdict) == {"failed"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("def f(:\n", "load.syntax"),
        ("if True:\npass\n", "load.syntax"),
        ("x = 1\0\n", "load.syntax"),
        ("import no_such_package_at_all\n", "load.no_module"),
        ("from .helper import x\n", "load.import"),
        ("from os import no_such_name\n", "load.import"),
        ("import sys\nsys.exit(0)\n", "load.exit"),
        ("raise KeyboardInterrupt\n", "load.raised"),
        ("raise GeneratorExit\n", "load.raised"),
        ("1 / 0\n", "load.raised"),
        ("class Odd(BaseException): pass\nraise Odd('x')\n", "load.raised"),
        ("def f(): f()\nf()\n", "load.raised"),
        ("raise SyntaxError('x')\n", "load.syntax"),
        ("x = " + "(" * 500 + ")" * 500, "load.syntax"),
        ("import os\nos._exit(0)\n", "lost.exit"),
        ("import os\nos.abort()\n", "lost.signal"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "lost.signal"),
        ("import ctypes\nctypes.string_at(0)\n", "lost.signal"),
    ],
)
def test_what_cannot_be_loaded_is_told_once(graded: Graded, text: str, key: str) -> None:
    verdict = graded(text)
    assert first(verdict).text == key
    assert [c.state for c in verdict.checks] == ["error"] + ["skipped"] * (len(CHECKS) - 1)


@pytest.mark.parametrize("loop", ["while True: pass", "import time\ntime.sleep(60)"])
def test_loading_has_its_time(graded: Graded, loop: str) -> None:
    verdict = graded(loop, limits=Limits(load=0.5, step=2.0))
    assert first(verdict).text == "lost.timeout_load"
    assert [c.state for c in verdict.checks] == ["timeout"] + ["skipped"] * (len(CHECKS) - 1)


@pytest.mark.parametrize(
    ("data", "key", "line"),
    [
        (b"x = 1\ny = '\xb0\xa1'\n", "load.encoding", 2),
        ("x = 1".encode("utf-16"), "load.null", 1),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, data: bytes, key: str, line: int) -> None:
    path = tmp_path / "feed_forward.py"
    path.write_bytes(data)
    problem = Source.read(path).problem
    assert problem == Finding(key, {"line": line})


def test_empty_file_lacks_everything(graded: Graded) -> None:
    verdict = graded("")
    assert {c.findings[0].text for c in verdict.checks} == {"unusable.missing"}
    assert states(verdict) == {"error"}


def test_close_name_is_told(graded: Graded, network: Network) -> None:
    text = network().replace("PositionwiseFeedForward", "PositionWiseFeedforward")
    assert first(graded(text)).facts["close"] == "PositionWiseFeedforward"


# ---------------------------------------------------------------- wrong shapes of code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("d_model, d_ff, dropout=0.1", "d_model, d_ff"),
        ("d_model, d_ff, dropout=0.1", "d_model, d_ff, dropout, more"),
        ("forward(self, x)", "forward(self)"),
        ("forward(self, x)", "forward(self, x, mask)"),
    ],
)
def test_wrong_signature(graded: Graded, network: Network, old: str, new: str) -> None:
    verdict = graded(network().replace(old, new))
    assert verdict.points == 0
    assert first(verdict).facts["kind"] == "TypeError"


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ("None", "None"),
        ("(x, x)", "tuple of 2"),
        ("[x]", "list of 1"),
        ("self.w_1(x).detach().numpy()", "numpy.ndarray"),
        ("self.w_2(self.w_1(x)).to('meta')", "meta tensor"),
        ("'a' * 10**6", "str"),
        ("self", "feed_forward.PositionwiseFeedForward"),
    ],
)
def test_what_is_no_tensor_is_told(
    graded: Graded, network: Network, result: str, kind: str
) -> None:
    verdict = graded(network(forward=f"return {result}"))
    assert lost(verdict) == set(CHECKS) - {"parameters"}
    told = {c.check: c.findings[0] for c in verdict.checks if c.findings}
    assert str(told["shape"].facts["seen"]).removeprefix("builtins.") == kind
    assert told["output"].text == "unusable.not_tensor"
    assert told["output"].facts["kind"] == kind


@pytest.mark.parametrize(
    ("forward", "key"),
    [
        ("return self.w_2(self.w_1(x).relu()) * float('nan')", "unreadable.not_finite"),
        ("return self.w_2(self.w_1(x).relu()).double()", "difference.dtype"),
        ("return self.w_2(self.w_1(x).relu())[..., :1]", "difference.plain"),
        ("x *= 2", "difference.plain"),
        ("return self.w_2(self.dropout(self.w_1(x).relu())).to_sparse()", "difference.kind"),
    ],
)
def test_wrong_values_are_told_as_such(
    graded: Graded, network: Network, forward: str, key: str
) -> None:
    verdict = graded(network(forward=forward))
    assert "output" in lost(verdict)
    assert key in {f.text for c in verdict.checks for f in c.findings}


def test_input_changed_in_place_is_told(graded: Graded, network: Network) -> None:
    verdict = graded(network(forward="x *= 2"))
    output = next(c for c in verdict.checks if c.check == "output")
    assert output.findings[0].facts == {"key": "untouched", "seen": False, "asked": True}


def test_tensor_subclass_is_a_tensor(graded: Graded, network: Network) -> None:
    top = "class Mine(torch.Tensor): pass"
    forward = "return self.w_2(self.dropout(self.w_1(x).relu())).as_subclass(Mine)"
    assert graded(network(top=top, forward=forward)).points == 10


# ---------------------------------------------------------------- exceptions


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        ("raise ValueError('x')", "ValueError"),
        ("sys.exit(0)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise MemoryError", "MemoryError"),
        ("self.forward(x)", "RecursionError"),
        ("from transformer_ref import PositionwiseFeedForward", "NotGiven"),
        ("import no_such_package_at_all", "ModuleNotFoundError"),
    ],
)
def test_exception_is_told_with_the_learners_line(
    graded: Graded, network: Network, raised: str, kind: str
) -> None:
    verdict = graded(network(forward=raised))
    assert states(verdict) == {"failed"}
    assert first(verdict).facts["kind"] == kind
    assert first(verdict).facts["code"] == raised
    assert first(verdict).facts["function"] == "forward"


ODD_TEXTS = {
    "raises": "raise RuntimeError",
    "is huge": "return 'a' * 10**8",
    "is half a pair": "return '\\ud800'",
    "is no text": "return 5",
    "exits": "sys.exit(0)",
    "acts on terminals": "return '\\x1b[2J[bold]x[/bold]'",
    "is a liar": "return type('S', (str,), {'__getitem__': lambda s, i: 5})('x')",
}


@pytest.mark.parametrize("body", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_exception_that_cannot_be_printed(graded: Graded, network: Network, body: str) -> None:
    top = f"class Odd(Exception):\n    def __str__(self):\n        {body}"
    verdict = graded(network(top=top, init="raise Odd"))
    assert states(verdict) == {"failed"}
    facts = first(verdict).facts
    assert facts["kind"] == "Odd"
    assert len(facts["message"]) <= 1000
    facts["message"].encode()


def test_names_and_prints_pass_through_as_data(graded: Graded, network: Network) -> None:
    top = "Odd = type('[red]\\x1b[2J', (Exception,), {})\nprint('[bold]\\x1b]0;x\\x07')"
    verdict = graded(network(top=top, init="raise Odd('[link]')"))
    assert first(verdict).facts["kind"] == "[red]\x1b[2J"
    assert first(verdict).facts["message"] == "[link]"
    assert verdict.printed == "[bold]\x1b]0;x\x07\n"


def test_class_that_lies_about_its_name(graded: Graded, network: Network) -> None:
    top = (
        "class Meta(type):\n    __name__ = property(lambda cls: 1 / 0)\n"
        "class Odd(Exception, metaclass=Meta): pass"
    )
    assert first(graded(network(top=top, init="raise Odd"))).facts["kind"] == "Odd"
