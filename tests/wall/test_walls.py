"""What learners' code tries behind the walls comes to nothing, and what honest code does works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Tried = Callable[[int, str], dict[str, dict[str, str]]]

USERS = ("root", "nobody")
FORBIDDEN = ("calls", "files", "others")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("tier", (1, 2))
def test_nothing_forbidden_can_be_done(tried: Tried, tier: int, user: str) -> None:
    outcomes = tried(tier, user)
    done = [n for group in FORBIDDEN for n, outcome in outcomes[group].items() if outcome == "done"]
    assert not done


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("tier", (1, 2))
def test_calls_are_refused_with_an_error_that_python_knows(
    tried: Tried, tier: int, user: str
) -> None:
    """Refused before the kernel looks at them, and nobody is killed for asking."""
    assert {outcome for outcome in tried(tier, user)["calls"].values()} <= {"EPERM"}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("tier", (0, 1, 2))
def test_honest_code_works(tried: Tried, tier: int, user: str) -> None:
    honest = tried(tier, user)["honest"]
    assert {name for name, outcome in honest.items() if outcome != "done"} == set()


def test_without_walls_it_can_all_be_done(tried: Tried) -> None:
    """The attempts are real: nothing but a wall refuses them to root."""
    if "Seccomp:\t0" not in Path("/proc/self/status").read_text():
        pytest.skip("the tests run behind a filter of somebody else's, as in a container")
    outcomes = tried(0, "root")
    refused = {"EPERM", "EACCES", "ENOSYS"}
    for group in FORBIDDEN:
        for name, outcome in outcomes[group].items():
            assert outcome not in refused or name == "x32", (name, outcome)
    assert {*outcomes["files"].values(), *outcomes["others"].values()} == {"done"}


def test_an_ordinary_user_is_no_wall(tried: Tried) -> None:
    """Whoever grades as an ordinary user has as much to lose."""
    outcomes = tried(0, "nobody")
    mine = {name: o for name, o in outcomes["files"].items() if "secret" in name}
    assert {*mine.values()} == {"done"}
    assert outcomes["others"]["fork"] == outcomes["calls"]["kill_worker"] == "done"


@pytest.mark.parametrize("user", USERS)
def test_tier_2_leaves_nothing_for_the_next(tried: Tried, user: str) -> None:
    assert tried(1, user)["left"]
    assert not tried(2, user)["left"]
