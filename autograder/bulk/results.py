"""Results on disk: a line of JSON a submission, whole whenever the run is killed; and a table."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

with suppress(ImportError):  # there is none on Windows
    import fcntl

_FORMULA = ("=", "+", "-", "@")


class Busy(Exception):
    """Another run is writing these results."""


class Foreign(Exception):
    """The file holds something else than results; it is left as it is."""


class Unwritten(Exception):
    """The system refuses to write any more; its reason."""


@dataclass(frozen=True)
class _Place:
    """Where the newest line about a submission lies, and what it was made from."""

    start: int
    length: int
    fingerprint: str


class Results:
    """The results file, open for this process alone.

    While grading goes on, lines are only added; the newest about a submission counts. `finish` puts
    them in order. What a killed run has left half written is dropped when the file is opened.

    Raises:
        Busy: another process has it open.
        Foreign: it holds something else.
        OSError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, _Place] = {}
        self._file = self._locked()
        try:
            self._end = self._scan()
            self._file.truncate(self._end)
        except BaseException:
            self._file.close()
            raise

    def has(self, submission: str, fingerprint: str) -> bool:
        """Whether there is a line about the submission that was made from the very same."""
        place = self._places.get(submission)
        return place is not None and place.fingerprint == fingerprint

    def lacks(self, submissions: Iterable[str]) -> int:
        """About how many of these there is no line at all."""
        return sum(name not in self._places for name in submissions)

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a line; it is on the disk when this returns.

        Raises:
            Unwritten: it could not be.
        """
        data = json.dumps(line).encode() + b"\n"
        with _written():
            left = data
            while left:  # not by the file: it would keep what could not be written, for later
                left = left[os.write(self._file.fileno(), left) :]
            os.fsync(self._file.fileno())
        self._note(line, self._end, len(data))
        self._end += len(data)

    def line(self, submission: str) -> dict[str, Any] | None:
        """The newest line about a submission."""
        place = self._places.get(submission)
        return None if place is None else json.loads(self._read(place))

    def lines(self, submissions: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The newest lines about these, in this order, read one by one."""
        for name in submissions:
            line = self.line(name)
            if line:
                yield line

    def finish(self, submissions: Iterable[str]) -> None:
        """Keep the newest lines about these alone, in this order; the table is written anew.

        Raises:
            Unwritten: it could not be; the lines are still there as they were.
        """
        names = [name for name in submissions if name in self._places]
        with _written(), _replaced(self.path) as file:
            for name in names:
                file.write(self._read(self._places[name]))
        with _written(), _replaced(table_of(self.path)) as file:
            write_table(file, self.lines(names))

    def close(self) -> None:
        """Let others have the file."""
        self._file.close()

    def _locked(self) -> BinaryIO:
        while True:
            file = open(self.path, "a+b")  # noqa: SIM115
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self.path)):
                    return file
            except BlockingIOError:
                file.close()
                raise Busy from None
            file.close()  # whoever had it has just put another in its place

    def _scan(self) -> int:
        """Note where every line lies; the end of the last whole one."""
        end = 0
        self._file.seek(0)
        for data in self._file:
            if not data.endswith(b"\n") and data.startswith(_BEGIN[: len(data)]):
                break  # the writer was stopped
            line = _line(data)
            if line is None:
                raise Foreign
            self._note(line, end, len(data))
            end += len(data)
        return end

    def _note(self, line: Mapping[str, Any], start: int, length: int) -> None:
        self._places[line["submission"]] = _Place(start, length, line["fingerprint"])

    def _read(self, place: _Place) -> bytes:
        return os.pread(self._file.fileno(), place.length, place.start)


def newest(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The newest line about each submission, and its number; the file is only read.

    What a killed run has left half written is passed over.

    Raises:
        Foreign: the file holds something else; its argument is the number of the line.
        OSError: it cannot be read.
    """
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    with open(path, "rb") as file:
        for number, data in enumerate(file, 1):
            if not data.endswith(b"\n") and data.startswith(_BEGIN[: len(data)]):
                break
            line = _line(data)
            if line is None:
                raise Foreign(number)
            found[line["submission"]] = number, line
    yield from found.values()


_BEGIN = b'{"schema": '


def _line(data: bytes) -> dict[str, Any] | None:
    """The line, if it is one of results."""
    try:
        line = json.loads(data)
        known = isinstance(line["submission"], str) and isinstance(line["fingerprint"], str)
        return line if known and isinstance(line["seed"], int) else None
    except (ValueError, TypeError, KeyError):
        return None


@contextmanager
def _written() -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise Unwritten(e.strerror or type(e).__name__) from e


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """What is written inside takes the place of the file at once, or not at all."""
    new = path.with_name(f".{path.name}.new")
    with open(new, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def table_of(path: Path) -> Path:
    """Where the table lies that belongs to a results file."""
    if path.suffix in ("", ".csv"):
        return path.with_name(f"{path.name}.csv")
    return path.with_suffix(".csv")


def write_table(file: BinaryIO, lines: Iterable[Mapping[str, Any]]) -> None:
    """A row a submission: points, the points of each check, the mistakes that were recognised."""
    # With its mark at the start, for spreadsheets: they would take it for another encoding.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    table = csv.writer(text)
    for number, line in enumerate(lines):
        checks = [c for c in line["checks"] if c["max_points"]]
        if not number:
            names = [c["name"] for c in checks]
            table.writerow(["submission", "points", "max_points", *names, "misconceptions"])
        mistakes = dict.fromkeys(m for c in line["checks"] for m in c["misconceptions"])
        points = [c["points"] for c in checks]
        name = _cell(line["submission"])
        table.writerow([name, line["points"], line["max_points"], *points, " ".join(mistakes)])
    text.flush()
    text.detach()


def _cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula; what acts on a terminal is spelt out."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"'{plain}" if plain.lstrip().startswith(_FORMULA) else plain
