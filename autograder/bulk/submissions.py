"""What was handed in: a folder of files, or of one folder a student; whatever lies there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from autograder.authoring.answers import has_answer, is_given
from autograder.core.source import Source
from autograder.core.step import Step, kit_file
from autograder.core.verdict import Finding

KINDS = (".py", ".ipynb")
LARGEST = {".py": 2 * 2**20, ".ipynb": 20 * 2**20}
_OTHERS = ("__MACOSX", "__pycache__")  # folders that packing and running leave behind
_EXERCISES = "exercises"  # what `autograder init` puts them into
_DEEPEST = 3  # alice/exercises/step04/feed_forward.py


@dataclass(frozen=True)
class Submission:
    """One student's work.

    Attributes:
        name: as it is called in the folder; unique.
        source: its text, or why there is none (`Source.problem`).
        digest: of what was handed in, as far as it was read.
    """

    name: str
    source: Source
    digest: str


class Refused(Exception):
    """Why it cannot be graded: a key of the texts in the group `submission`, and its facts."""

    def __init__(self, key: str, **facts: object) -> None:
        super().__init__(key)
        self.finding = Finding(f"submission.{key}", facts)


def names_in(folder: Path, leave: Sequence[Path] = ()) -> list[str]:
    """The names of all submissions, in order; hidden files are none, nor are those to `leave`."""
    left = {p.name for p in leave if p.parent.resolve() == folder.resolve()}
    return sorted(n for n in os.listdir(folder) if _counts(n) and n not in left)


def _counts(name: str) -> bool:
    return not name.startswith(".") and name not in _OTHERS


def read(folder: Path, name: str, step: Step) -> Submission:
    """The submission of that name; nothing that lies there stops anything."""
    data = b""
    try:
        with _opened(folder) as place:
            file, data = _found(place, name, step)
        source = Source.of(data, file)
    except Refused as e:
        source = Source("", name, e.finding)
    except OSError as e:
        reason = e.strerror or type(e).__name__
        source = Source("", name, Finding("submission.unreadable", {"reason": reason}))
    told = repr((source.filename, source.problem)).encode()
    return Submission(name, source, sha256(sha256(told).digest() + data).hexdigest())


def content(path: Path) -> bytes:
    """What is in a file that was handed in; no link is followed, and nothing is waited for.

    Raises:
        Refused: it is no ordinary file, of another kind, or too large.
        OSError: there is none, or it cannot be read.
    """
    with _opened(path.parent) as place:
        return _content(place, path.name)


@contextmanager
def _opened(folder: str | Path, place: int | None = None) -> Iterator[int]:
    """A folder's descriptor; one inside another is not followed if it is a link."""
    follow = os.O_NOFOLLOW if place is not None else 0
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | follow, dir_fd=place)
    try:
        yield opened
    finally:
        os.close(opened)


def _found(place: int, name: str, step: Step, depth: int = _DEEPEST) -> tuple[str, bytes]:
    """The file to grade, and what is in it."""
    if not _is_folder(place, name):
        return name, _content(place, name)
    with _opened(name, place) as folder:
        inside = sorted(n for n in os.listdir(folder) if _counts(n))
        folders = [n for n in inside if _is_folder(folder, n)]
        files = _chosen([n for n in inside if n.endswith(KINDS) and n not in folders], step)
        if files:
            return _written(folder, files, step)
        known = [n for n in (step.name, _EXERCISES) if n in folders]
        if depth == _DEEPEST and len(folders) == 1:  # as it was packed
            known = folders
        if depth > 1 and known:
            return _found(folder, known[0], step, depth - 1)
    raise Refused("empty")


def _is_folder(place: int, name: str) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=place).st_mode)


def _chosen(files: list[str], step: Step) -> list[str]:
    """The files that may hold the work, the likeliest first: the step's own, one that holds
    everything, the only other one.
    """
    whole = [f"transformer{suffix}" for suffix in KINDS]
    named = [file for file in (*_to_write(step), *whole) if file in files]
    if len(files) > 1 and not named:
        raise Refused("several", files=files[:5])
    others = [file for file in files if file not in named]
    return [*named, *others] if len(others) == 1 else named


def _written(place: int, files: list[str], step: Step) -> tuple[str, bytes]:
    """The first of the files that has an answer in it, and what is in it; else the first that is
    not as the kit gives it out; without any, the first.
    """
    first = files[0], _content(place, files[0])
    if has_answer(*first, step):
        return first
    found = [first, *((file, _content(place, file)) for file in files[1:])]
    answered = (one for one in found if has_answer(*one, step))
    own = (one for one in found if not _is_given(*one, step))
    return next(answered, None) or next(own, first)


def _is_given(file: str, data: bytes, step: Step) -> bool:
    if is_given(file, data, step):
        return True
    given = kit_file("exercises", step.name, file)  # a demo, or a test
    return file not in _to_write(step) and given.is_file() and given.read_bytes() == data


def _to_write(step: Step) -> list[str]:
    """What the files are called that a learner writes into."""
    return [stem + suffix for stem in (step.slug, step.name, f"{step.name}.ko") for suffix in KINDS]


def _content(place: int, name: str) -> bytes:
    kind = os.lstat(name, dir_fd=place).st_mode
    if stat.S_ISLNK(kind):
        raise Refused("link")
    if not stat.S_ISREG(kind):
        raise Refused("no_file")
    suffix = os.path.splitext(name)[1]
    if suffix not in KINDS:
        raise Refused("kind")
    # Whatever has been put in its place meanwhile is not followed, and not waited for.
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    with open(file, "rb") as f:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Refused("no_file")
        data = f.read(LARGEST[suffix] + 1)
    if len(data) > LARGEST[suffix]:
        raise Refused("large", limit=LARGEST[suffix] // 2**20)
    return data
