"""What the tests of bulk grading share: a small class in a folder."""

from __future__ import annotations

import pytest

from autograder.core import engine

engine.start()

from autograder.core.step import Step, find_step  # noqa: E402


@pytest.fixture(scope="session")
def step() -> Step:
    return find_step(4)


@pytest.fixture(scope="session")
def right(step: Step) -> str:
    return step.solution.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def wrong(step: Step, right: str) -> str:
    return step.misconception("activation-tanh").applied_to(right)
