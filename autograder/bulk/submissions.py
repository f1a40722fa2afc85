"""What was handed in: a folder of files, or of one folder a student; whatever lies there."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from autograder.authoring.docstrings import answer_in
from autograder.authoring.notebooks import notebook_of
from autograder.authoring.stubs import stub_of
from autograder.core.cells import NoNotebook, code_cells
from autograder.core.source import Source
from autograder.core.speech import LANGUAGES
from autograder.core.step import Step, find_step, kit_file
from autograder.core.verdict import Finding

KINDS = (".py", ".ipynb")
LARGEST = {".py": 2 * 2**20, ".ipynb": 20 * 2**20}
_TO_WRITE = re.compile(r"(\s*# YOUR CODE HERE)?\s*raise NotImplementedError\([^)]*\)")
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


def _found(place: int, name: str, step: Step, depth: int = 2) -> tuple[str, bytes]:
    """The file to grade, and what is in it."""
    if not _is_folder(place, name):
        return name, _content(place, name)
    with _opened(name, place) as folder:
        inside = sorted(n for n in os.listdir(folder) if _counts(n))
        folders = [n for n in inside if _is_folder(folder, n)]
        files = _chosen([n for n in inside if n.endswith(KINDS) and n not in folders], step)
        if files:
            return _written(folder, files, step)
        folders = [step.name] if step.name in folders else folders
        if depth > 1 and len(folders) == 1:  # as it was packed
            return _found(folder, folders[0], step, depth - 1)
    raise Refused("empty")


def _is_folder(place: int, name: str) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=place).st_mode)


def _chosen(files: list[str], step: Step) -> list[str]:
    """The files that may hold the work, the likeliest first: the step's own, one that holds
    everything, the only other one.
    """
    stems = (step.slug, step.name, f"{step.name}.ko", "transformer")
    named = [stem + suffix for stem in stems for suffix in KINDS if stem + suffix in files]
    if len(files) > 1 and not named:
        raise Refused("several", files=files[:5])
    others = [file for file in files if file not in named]
    return [*named, *others] if len(others) == 1 else named


def _written(place: int, files: list[str], step: Step) -> tuple[str, bytes]:
    """The first of the files that holds work, and what is in it; without any, the first."""
    found = ((file, _content(place, file)) for file in files)
    first = next(found)
    if not _as_given(first, step):
        return first
    return next((other for other in found if not _as_given(other, step)), first)


def _as_given(found: tuple[str, bytes], step: Step) -> bool:
    """Whether a file is as the kit hands it out: the work is in another one then."""
    file, data = found
    stubs, books = _given(step.name)
    if file.endswith(".ipynb"):  # one of a course differs in what is no code
        return _code(data) in books
    text = data.replace(b"\r\n", b"\n")
    if file == f"{step.slug}.py":
        return text in stubs
    given = kit_file("exercises", step.name, file)
    return given.is_file() and given.read_bytes() == text


@cache
def _given(name: str) -> tuple[list[bytes], list[list[str] | bytes]]:
    """A step's stubs and the code of its notebooks, made anew: in a checkout somebody may have
    written into those that lie there.
    """
    step = find_step(name)
    stubs = [stub_of(answer_in(step.solution, lang), step.number) for lang in LANGUAGES]
    books = [notebook_of(step, lang) for lang in LANGUAGES]
    return [stub.encode() for stub in stubs], [_code(book.encode()) for book in books]


def _code(notebook: bytes) -> list[str] | bytes:
    """What its cells of code say, however they say what is to write; of no notebook all of it."""
    try:
        cells = code_cells(notebook.decode("utf-8-sig"))
        return [_TO_WRITE.sub(" ...", cell.text) for cell in cells]
    except (NoNotebook, UnicodeDecodeError):
        return notebook


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
