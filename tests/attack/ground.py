"""The ground that attacks are run on: what they aim at, and whether it is still as it was."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

import autograder
import transformer_ref
from autograder.core.step import find_step
from tests.attack import naive
from tests.attack.attack import Facts

FIRST = "attack-ground"  # the name of the first process of the namespace made for attacks


class NotAlone(SystemExit):
    """Attacks are not run among other people's processes."""


def alone() -> None:
    """Return inside a namespace of processes that was made for attacks.

    Raises:
        NotAlone: anywhere else.
    """
    try:
        first = Path("/proc/1/cmdline").read_bytes().split(b"\0")
    except OSError:
        first = []
    if FIRST.encode() not in first:
        raise NotAlone(
            "attacks run only in a namespace of processes made for them: use `pytest -m attack`"
        )


def processes() -> set[int]:
    """All there are in this namespace."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


class Ground:
    """Somebody's class: submissions, a gradebook, sockets, another process; all of it in `folder`.

    The folder is a small file system, made for this.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secret = secrets.token_hex(8)
        self.tmp = folder / "tmp"
        self.tmp.mkdir()
        os.environ["TMPDIR"] = str(self.tmp)
        self._fill()
        self.sockets = self._listening()
        self.victim = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.known: set[int] = set()
        self.before: object = None

    def facts(self) -> Facts:
        """Names for the attacks' code."""
        tcp, udp, unix, abstract = (s.getsockname() for s in self.sockets)
        return {
            "CLASS": f"{self.folder}/class",
            "BOOK": f"{self.folder}/marks.csv",
            "TMP": str(self.tmp),
            "REFERENCE": str(Path(transformer_ref.__path__[0])),
            "KIT": str(Path(autograder.__path__[0])),
            "SOLUTION": str(find_step(4).solution),
            "VICTIM": self.victim.pid,
            "COORDINATOR": os.getpid(),
            "SECRET_NAME": naive.ENVIRONMENT,
            "TCP": tcp[1],
            "UDP": udp[1],
            "UNIX": unix,
            "ABSTRACT": abstract,
        }

    def _fill(self) -> None:
        (self.folder / "class").mkdir(exist_ok=True)
        for name in ("ada", "bob"):
            (self.folder / "class" / f"{name}.py").write_text(f"# by {name} {self.secret}\n")
        book = self.folder / "marks.csv"
        book.write_text(f"ada,9\nbob,7\n{self.secret}\n")
        book.chmod(0o600)
        os.utime(book, (1e9, 1e9))

    def _listening(self) -> list[socket.socket]:
        unix = socket.AF_UNIX
        ends = [socket.socket(), socket.socket(type=socket.SOCK_DGRAM)]
        ends += [socket.socket(unix), socket.socket(unix)]
        places = (("127.0.0.1", 0), ("127.0.0.1", 0), f"{self.folder}/socket", f"\0{self.secret}")
        for end, place in zip(ends, places, strict=True):
            end.bind(place)
            end.setblocking(False)
            if end.type == socket.SOCK_STREAM:
                end.listen(64)
        return ends

    def reached(self) -> bool:
        """Whether somebody has come by one of the sockets since it was last asked."""
        found = False
        for end in self.sockets:
            with suppress(BlockingIOError):
                while True:
                    if end.type == socket.SOCK_STREAM:
                        end.accept()[0].close()
                    else:
                        end.recv(1)
                    found = True
        return found

    def remember(self) -> None:
        """What there is now is what may be there later."""
        self.known = processes()
        self.before = self._state()

    def changed(self) -> bool:
        """Whether files that are others' or mounts are not as they were; they are put back."""
        if self._state() == self.before:
            return False
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            if f"{self.folder}/class" in line.split()[4]:
                subprocess.run(["umount", f"{self.folder}/class"], check=True)
        self._fill()
        for note in (*self.folder.glob("tmp/[!a]*"), *Path("/dev/shm").iterdir(), *_notes()):
            note.unlink()
        return True

    def left(self) -> list[str]:
        """Processes that are still there a moment later; they are ended."""
        until = time.monotonic() + 1.0
        while (new := self._new()) and time.monotonic() < until:
            time.sleep(0.005)
        told = [f"process {pid}: {_name(pid)}" for pid in new]
        for pid in new:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return told

    def _new(self) -> list[int]:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return [p for p in sorted(processes() - self.known) if _state(p) not in ("", "Z")]

    def _state(self) -> object:
        found = {}
        for top, folders, files in os.walk(self.folder):
            for name in (*folders, *files):
                path = Path(top, name)
                kept = path.lstat()
                small = S_ISREG(kept.st_mode) and kept.st_size < 4096
                content = path.read_bytes() if small else b""
                when = kept.st_mtime if name == "marks.csv" else 0
                found[str(path)] = (kept.st_mode, kept.st_size * (name in files), content, when)
        mounts = len(Path("/proc/self/mountinfo").read_text().splitlines())
        return found, mounts, sorted(os.listdir("/dev/shm")), _notes()


def _notes() -> list[Path]:
    return sorted(Path("/var/tmp").glob("for the*"))


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:80]
    except OSError:
        return "?"
