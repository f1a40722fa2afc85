"""What stops a command: no judgement on anybody's code, and one line for a person."""

from __future__ import annotations


class Trouble(Exception):
    """Something asked for cannot be done; `key` names the text, `facts` fill its placeholders."""

    def __init__(self, key: str, /, **facts: object) -> None:
        super().__init__(key)
        self.key = key
        self.facts = facts
