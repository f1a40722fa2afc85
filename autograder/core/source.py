"""A learner's text, and why there is none where there is none; nothing here runs it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path

from autograder.core.verdict import Finding


@dataclass(frozen=True)
class Source:
    """Python text and the name its lines are reported under; `problem` says why it is no text."""

    text: str
    filename: str
    problem: Finding | None = None

    @classmethod
    def read(cls, path: Path) -> Source:
        """The file's text, in UTF-8 or the encoding that its first lines declare.

        Raises:
            OSError: no such file, a folder, not readable.
        """
        return cls.of(path.read_bytes(), str(path))

    @classmethod
    def of(cls, data: bytes, name: str) -> Source:
        """The same from what is in the file of that name."""
        if b"\0" in data:
            return cls("", name, Finding("load.null", {"line": _line_at(data, data.index(b"\0"))}))
        try:
            return cls(decode_source(data), name)
        except UnicodeDecodeError as e:
            return cls("", name, Finding("load.encoding", {"line": _line_at(data, e.start)}))
        except SyntaxError:  # the declared encoding is unknown, or the first lines are not in it
            return cls("", name, Finding("load.encoding", {"line": 1}))


def _line_at(data: bytes, position: int) -> int:
    return data[:position].count(b"\n") + 1
