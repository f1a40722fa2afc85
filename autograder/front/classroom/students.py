"""The list of a course's students: a table with a heading, as nbgrader's own import takes it."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from autograder.core.trouble import Trouble

_COLUMNS = ("id", "first_name", "last_name", "email", "lms_user_id")
# It becomes a folder's name, which nbgrader finds by a pattern.
_ID = re.compile(r"[^\s/\\*?\[\]+.\0-\x1f][^/\\*?\[\]+\0-\x1f]*")


@dataclass(frozen=True)
class Student:
    """A row: `id` is what nbgrader calls the student; `details` are its other columns."""

    id: str
    details: dict[str, str]


def students_in(path: Path) -> list[Student]:
    """The students of a CSV file with a column `id`, and any of the others that nbgrader knows.

    Raises:
        Trouble: it cannot be read, is no such table, or has an id that is missing, bad or double.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            unknown = [name for name in table.fieldnames or () if name not in _COLUMNS]
            if "id" not in (table.fieldnames or ()) or unknown:
                columns = ", ".join(_COLUMNS)
                raise Trouble("students_columns", path=path, columns=columns)
            found = [(table.line_num, row) for row in table]
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        reason = getattr(e, "strerror", None) or str(e)
        raise Trouble("unreadable", path=path, reason=reason) from None
    students: dict[str, Student] = {}
    for line, row in found:
        name = (row.pop("id") or "").strip()
        if not _ID.fullmatch(name) or None in row:
            raise Trouble("students_row", path=path, line=line)
        if name in students:
            raise Trouble("students_twice", path=path, line=line, name=name)
        students[name] = Student(name, {k: v.strip() for k, v in row.items() if v})
    return list(students.values())
