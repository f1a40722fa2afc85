"""Every attack is real, and comes to nothing behind the walls; honest work after it is not hurt."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.attack.catalogue import ATTACKS
from tests.users import ROOT

Outcome = dict[str, Any]
Outcomes = Callable[[int, str], list[Outcome]]
Record = Callable[[str, object], None]

pytestmark = pytest.mark.attack

USERS = ("root", "nobody")
TIERS = (0, 1, 2)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("number", TIERS)
def test_attacks_come_to_nothing(
    outcomes: Outcomes, record_property: Record, number: int, user: str
) -> None:
    found = outcomes(number, user)
    record_property("attacks", [number, user, [[o["attack"], cell(o)] for o in found]])
    assert [o["attack"] for o in found] == [attack.name for attack in ATTACKS]

    through = {o["attack"] for o in found if o["through"]}
    assert through <= {o["attack"] for o in found if o["since"] > number}
    hurt = {o["attack"]: o["honest"] for o in found if o["honest"] != 10}
    assert not hurt
    left = {o["attack"]: o["left"] for o in found if o["left"] and o["since"] <= number}
    assert not left
    assert not [o["attack"] for o in found if o["worker"] and number], "a worker was lost"
    wrong = [o for o in found if o["kind"] == "marks" and o["step"] == 4]
    assert wrong
    assert not [o["attack"] for o in wrong if o["points"] == 10 or o["output"]]
    if not number:
        real = {o["attack"] for o in found if o["shown"] or (o["root"] and user != "root")}
        assert real == {o["attack"] for o in found}, "not shown to succeed where nothing stops it"


def cell(outcome: Outcome) -> str:
    """What the table says of it."""
    if not outcome["through"]:
        return "stopped"
    if outcome["kind"] == "marks":
        return f"{outcome['points']} points for {outcome['most']}"
    return "done"


def test_each_attack_is_listed_once() -> None:
    names = [attack.name for attack in ATTACKS]
    rows = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8").splitlines()
    cells = [row.split("|")[1].strip() for row in rows if row.startswith("| ")]
    assert [cell for cell in cells if cell in names] == names
    assert len(set(names)) == len(names) >= 50


def test_attacks_are_refused_anywhere_else(tmp_path: Path) -> None:
    """A clear line, and nothing is run."""
    argv = [sys.executable, "-B", "-m", "tests.attack.runner", "0", str(tmp_path)]
    ended = subprocess.run(argv, capture_output=True, text=True)
    assert ended.returncode
    assert "only in a namespace" in ended.stderr
    assert not ended.stdout
    assert not list(tmp_path.iterdir())
