"""What was handed in: a folder of files, or of one folder a student; whatever lies there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from autograder.core.step import Step
from autograder.core.subject import Source
from autograder.core.verdict import Finding

SUFFIXES = (".py", ".ipynb")
LARGEST = {".py": 2 * 2**20, ".ipynb": 20 * 2**20}
_OTHERS = ("__MACOSX", "__pycache__")  # folders that packing and running leave behind


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


class _Refused(Exception):
    """Why it cannot be graded: a key of the texts in the group `submission`, and its facts."""

    def __init__(self, key: str, **facts: object) -> None:
        super().__init__(key)
        self.finding = Finding(f"submission.{key}", facts)


def names_in(folder: Path, leave: Sequence[Path] = ()) -> list[str]:
    """The names of all submissions, in order; hidden files are none, nor are those to `leave`."""
    left = {p.name for p in leave if p.parent.resolve() == folder.resolve()}
    found = (n for n in os.listdir(folder) if not n.startswith(".") and n not in _OTHERS)
    return sorted(n for n in found if n not in left)


def read(folder: Path, name: str, step: Step) -> Submission:
    """The submission of that name; nothing that lies there stops anything.

    Raises:
        OSError: the folder itself cannot be read.
    """
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    file, data = name, b""
    try:
        for file, data in _found(place, name, step):
            source = Source.of(data, os.path.basename(file))
    except _Refused as e:
        source = Source("", file, e.finding)
    except OSError as e:
        reason = e.strerror or type(e).__name__
        source = Source("", file, Finding("submission.unreadable", {"reason": reason}))
    finally:
        os.close(place)
    told = repr((source.filename, source.problem)).encode()
    return Submission(name, source, sha256(sha256(told).digest() + data).hexdigest())


def _found(place: int, name: str, step: Step) -> Iterator[tuple[str, bytes]]:
    """The file to grade, and what is in it."""
    kind = os.lstat(name, dir_fd=place).st_mode
    if stat.S_ISDIR(kind):
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
        try:
            file = _chosen(os.listdir(folder), step)
            yield file, _content(folder, file)
        finally:
            os.close(folder)
    else:
        yield name, _content(place, name)


def _chosen(files: list[str], step: Step) -> str:
    """The step's own file, one that holds everything, or the only one."""
    files = sorted(f for f in files if f.endswith(SUFFIXES) and not f.startswith("."))
    known = [f"{stem}{s}" for stem in (step.slug, step.name, "transformer") for s in SUFFIXES]
    for name in known:
        if name in files:
            return name
    if len(files) == 1:
        return files[0]
    raise _Refused("several", files=files[:5]) if files else _Refused("empty")


def _content(place: int, name: str) -> bytes:
    kind = os.lstat(name, dir_fd=place).st_mode
    if stat.S_ISLNK(kind):
        raise _Refused("link")
    if not stat.S_ISREG(kind):
        raise _Refused("no_file")
    suffix = os.path.splitext(name)[1]
    if suffix not in SUFFIXES:
        raise _Refused("kind")
    # Whatever has been put in its place meanwhile is not followed, and not waited for.
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    with open(file, "rb") as f:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise _Refused("no_file")
        data = f.read(LARGEST[suffix] + 1)
    if len(data) > LARGEST[suffix]:
        raise _Refused("large", limit=LARGEST[suffix] // 2**20)
    return data
