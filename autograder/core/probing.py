"""Run one probe on one subject and give back what was seen, whatever the subject does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from autograder.core.draw import Draw
from autograder.core.observation import Observation, Value
from autograder.core.settings import plain_torch
from autograder.core.subject import Subject, Unreadable, Unusable

if TYPE_CHECKING:
    from autograder.core.step import Probe

Errors = tuple[type[BaseException], ...]


def observe(
    probe: Probe, subject: Subject, draw: Draw, through: Errors = (KeyboardInterrupt,)
) -> Observation:
    """What the probe saw; an exception of the subject's is part of what was seen.

    Args:
        probe: what to run.
        subject: what to run it on.
        draw: where it takes its random numbers from.
        through: exceptions that are not the subject's; none, where nobody sits at a keyboard.
    """
    started = time.perf_counter()
    subject.terms = {}
    values: dict[str, Value]
    try:
        with plain_torch(), draw.torch_seeded("torch"):
            values = probe(subject, draw)
    except Unreadable as e:
        values = {"unreadable": {"reason": e.reason, **e.facts}}
    except Unusable as e:
        values = {"unusable": {"problem": e.problem, **e.facts}}
    except through:
        raise
    except BaseException as e:  # SystemExit and home-made ones too: they are the subject's
        values = {"raised": subject.raised(e)}
    return Observation(values, subject.terms, time.perf_counter() - started)


def attempt(call: Callable[[], object]) -> bool:
    """True when the call is refused with any exception."""
    try:
        call()
    except Exception:
        return True
    return False
