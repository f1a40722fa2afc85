"""The grader that the kit is not: it compares in the process that runs the submission."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time

import torch

SECONDS = 10.0
ENVIRONMENT = "ATTACK_SECRET"


def naive(text: str, right: str) -> tuple[bool, str]:
    """Whether it holds the submission for right, and what was printed.

    A status of 0 is what it goes by, as a test runner that is started for each submission would.
    """
    answer, end = os.pipe()
    leave, write = os._exit, os.write  # the submission may put something else in their place
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            os.dup2(end, 1)
            os.dup2(end, 2)
            sys.stdout = sys.stderr = open(1, "w", closefd=False)  # noqa: SIM115
            _grade(text, right)
            leave(0)
        except SystemExit as e:
            leave(int(e.code or 0))
        except BaseException as e:
            write(2, repr(e).encode())
        finally:
            leave(1)
    os.close(end)
    printed, until = b"", time.monotonic() + SECONDS
    poll = select.poll()
    poll.register(answer, select.POLLIN)
    while poll.poll(max(0.0, until - time.monotonic()) * 1000):
        data = os.read(answer, 1 << 16)
        printed += data
        if not data:
            break
    else:
        os.kill(child, signal.SIGKILL)
    os.close(answer)
    status = os.waitpid(child, 0)[1]
    return status == 0, printed.decode("utf-8", "replace")


def _grade(text: str, right: str) -> None:
    """As many published graders do it; the verdict is also told at the end."""
    # Learners' code finds it in memory, as it would in the process of such a grader.
    model: dict[str, object] = {"answer": right}
    exec(compile(right, "right.py", "exec"), model)
    mine: dict[str, object] = {"__name__": "mine"}
    torch.manual_seed(0)
    exec(compile(text, "mine.py", "exec"), mine)
    name = "PositionwiseFeedForward"
    one, other = model[name](8, 16, 0.0), mine[name](8, 16, 0.0)  # type: ignore[operator]
    other.load_state_dict(one.state_dict())
    x = torch.randn(2, 3, 8)
    expected = one.forward(x)
    got = other(x)
    assert got.shape == expected.shape
    assert torch.allclose(got, expected), "values differ"
    assert (got == expected).all() or torch.allclose(got, expected, atol=1e-5)
    os.write(1, json.dumps({"verdict": "right"}).encode())
