"""The table of attacks, by tier and user: printed at the end of a run, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

PROPERTY = "attacks"  # what a test records: [tier, user, [[attack, what came of it], ...]]


def lines(properties: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """What was recorded, a line for each attack and a column for each tier and user."""
    columns = sorted(value for name, value in properties if name == PROPERTY)
    if not columns:
        return
    heads = [f"tier {tier}, {user}" for tier, user, _ in columns]
    cells = [dict(found) for _, _, found in columns]
    yield "| attack | " + " | ".join(heads) + " |"
    yield "| --- |" + " --- |" * len(heads)
    for attack in cells[0]:
        yield f"| {attack} | " + " | ".join(column.get(attack, "") for column in cells) + " |"
    stopped = [sum(cell == "stopped" for cell in column.values()) for column in cells]
    yield f"| stopped, of {len(cells[0])} | " + " | ".join(map(str, stopped)) + " |"
