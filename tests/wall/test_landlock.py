"""Landlock alone, in the version of this kernel and as older ones would: what each leaves open."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from autograder.wall import landlock, process, seccomp

NEWEST = landlock.version()
pytestmark = pytest.mark.skipif(not NEWEST, reason="this kernel has no Landlock")
VERSIONS = range(1, NEWEST + 1)
InAChild = Callable[[Callable[[], object]], str]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "module.py").write_text("x = 1")
    return tmp_path / "library"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def enclosed(library: Path, scratch: Path, version: int) -> None:
    process.powerless()
    stays = landlock.Open((library,), (Path(os.devnull),), scratch)
    landlock.enclose(stays, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_only_what_stays_open_is_reached(
    in_a_child: InAChild, library: Path, scratch: Path, version: int
) -> None:
    (library.parent / "secret").write_text("marks")

    def work(attempt: Callable[[], object]) -> Callable[[], object]:
        return lambda: (enclosed(library, scratch, version), attempt())

    module, secret = library / "module.py", library.parent / "secret"
    for attempt in (
        secret.read_text,
        lambda: (scratch / ".." / "secret").read_text(),
        lambda: os.listdir(library.parent),
        lambda: module.write_text("x = 2"),
        lambda: (library / "new").touch(),
        module.unlink,
        lambda: (library.parent / "new").mkdir(),
        lambda: (scratch / "pipe").symlink_to(secret),
        lambda: os.mkfifo(scratch / "pipe"),
        lambda: os.execv("/bin/true", ["true"]),
    ):
        assert in_a_child(work(attempt)) == "PermissionError"
    for attempt in (
        module.read_text,
        lambda: os.listdir(library),
        lambda: (scratch / "note").write_text("mine"),
        lambda: (scratch / "note").rename(scratch / "other"),
        lambda: (scratch / "other").unlink(),
        lambda: (scratch / "folder").mkdir(),
        lambda: os.truncate(_made(scratch), 0),
        lambda: Path(os.devnull).write_text("gone"),
    ):
        assert in_a_child(work(attempt)) == "done"
    assert module.read_text() == "x = 1" and secret.read_text() == "marks"


def _made(folder: Path) -> Path:
    (folder / "made").touch()
    return folder / "made"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("flags", (os.O_RDONLY, os.O_ACCMODE))
def test_what_can_be_read_cannot_be_emptied(
    in_a_child: InAChild, library: Path, scratch: Path, version: int, flags: int
) -> None:
    """Old versions do not see it, so the filter of calls has to."""
    module = library / "module.py"

    def work(walls: int) -> None:
        enclosed(library, scratch, version)
        if walls == 2:
            seccomp.refuse(seccomp.table())
        os.close(os.open(module, flags | os.O_TRUNC))

    seccomp.table()
    assert in_a_child(lambda: work(2)) == "PermissionError"
    assert module.read_text() == "x = 1"
    assert in_a_child(lambda: work(1)) == ("done" if version < 3 else "PermissionError")
    assert module.read_text() == ("" if version < 3 else "x = 1")


@pytest.mark.parametrize("version", VERSIONS)
def test_tcp_is_refused_where_landlock_knows_it(
    in_a_child: InAChild, library: Path, scratch: Path, version: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        seen = in_a_child(
            lambda: (enclosed(library, scratch, version), socket.socket().connect(address))
        )
    assert seen == ("PermissionError" if version >= landlock.NETWORK else "done")


@pytest.mark.parametrize("version", VERSIONS)
def test_signals_and_abstract_sockets_are_refused_where_landlock_knows_them(
    in_a_child: InAChild, library: Path, scratch: Path, version: int
) -> None:
    name, parent = f"\0test-{os.getpid()}", os.getpid()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        expected = "PermissionError" if version >= landlock.SCOPES else "done"
        for attempt in (
            lambda: os.kill(parent, 0),
            lambda: socket.socket(socket.AF_UNIX).connect(name),
        ):
            seen = in_a_child(lambda a=attempt: (enclosed(library, scratch, version), a()))
            assert seen == expected


def test_a_second_enclosure_only_takes_away(
    in_a_child: InAChild, library: Path, scratch: Path
) -> None:
    def work() -> None:
        enclosed(library, scratch, NEWEST)
        landlock.enclose(landlock.Open((library.parent,)), NEWEST)
        (library / "module.py").read_text()
        (library.parent / "secret").read_text()

    (library.parent / "secret").write_text("marks")
    assert in_a_child(work) == "PermissionError"


def test_what_is_not_there_is_left_out(in_a_child: InAChild, library: Path, scratch: Path) -> None:
    stays = landlock.Open((library / "none", library / "module.py" / "none", library), (), scratch)

    def work() -> None:
        process.powerless()
        landlock.enclose(stays, NEWEST)
        (library / "module.py").read_text()

    assert in_a_child(work) == "done"


def test_each_version_takes_away_what_the_one_before_does() -> None:
    words = [landlock.attributes(v) for v in range(1, 8)]
    numbers = [int.from_bytes(w, "little") for w in words]
    for older, newer in pairwise(numbers):
        assert older & newer == older
