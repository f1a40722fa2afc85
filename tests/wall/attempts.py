"""Run as a worker would be: what a child of it can do, tried a child each, as harmlessly as it can.

    python attempts.py TIER OUTSIDE

prints a JSON object: for each attempt "done", or the error's name. OUTSIDE is a folder with a file
`secret` in it that is none of the child's business. Signals are 0, or go nowhere.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from autograder.wall import visible
from autograder.wall.tiers import Tier, numbered

Attempt = Callable[[], object]

LIBC = ctypes.CDLL(None, use_errno=True)
OUTSIDE = Path(sys.argv[-1]) / "secret"
WORKER = os.getpid()

# By their numbers on x86-64. What they are given makes no sense, or no difference.
CALLS: dict[str, tuple[int, ...]] = {
    "unshare": (272, 0x10000000),
    "setns": (308, -1, 0),
    "mount": (165, 0, 0, 0, 0, 0),
    "umount2": (166, 0, 0),
    "pivot_root": (155, 0, 0),
    "chroot": (161, 0),
    "ptrace": (101, 0, 0, 0, 0),
    "process_vm_readv": (310, WORKER, 0, 0, 0, 0, 0),
    "process_vm_writev": (311, WORKER, 0, 0, 0, 0, 0),
    "pidfd_open": (434, WORKER, 0),
    "pidfd_getfd": (438, -1, 0, 0),
    "pidfd_send_signal": (424, -1, 0, 0, 0),
    "kcmp": (312, WORKER, WORKER, 0, 0, 0),
    "perf_event_open": (298, 0, 0, -1, -1, 0),
    "bpf": (321, -1, 0, 0),
    "io_uring_setup": (425, 0, 0),
    "keyctl": (250, 0xFFFF),
    "add_key": (248, 0, 0, 0, 0, 0),
    "memfd_create": (319, 0, 0),
    "shmget": (29, 0x5EED, 0, 0),
    "msgget": (68, 0x5EED, 0),
    "semget": (64, 0x5EED, 0, 0),
    "mq_open": (240, 0, 0, 0, 0),
    "userfaultfd": (323, 0),
    "inotify_init1": (294, 0),
    "fanotify_init": (300, 0, 0),
    "setxattr": (188, 0, 0, 0, 0, 0),
    "chown": (92, 0, -1, -1),
    "fchmodat2": (452, -100, 0, 0, 0),
    "truncate": (76, 0, 0),
    "settimeofday": (164, 0, 0),
    "setpriority": (141, 0, 0, 0),
    "ioprio_set": (251, 9, 0, 0),
    "sched_setaffinity": (203, 0, 0, 0),
    "sched_setscheduler": (144, 0, 0, 0),
    "personality": (135, 0xFFFFFFFF),
    "syslog": (103, 10, 0, 0),
    "name_to_handle_at": (303, -100, 0, 0, 0, 0),
    "splice": (275, -1, 0, -1, 0, 0, 0),
    "vmsplice": (278, -1, 0, 0, 0),
    "move_pages": (279, WORKER, 0, 0, 0, 0, 0),
    "seccomp": (317, 2, 0, 0),
    "landlock_create_ruleset": (444, 0, 0, 1),
    "dumpable": (157, 4, 1, 0, 0, 0),
    "death_signal": (157, 1, 0, 0, 0, 0),
    "others_limits": (302, WORKER, 7, 0, 0),
    "kill_worker": (62, WORKER, 0),
    "kill_group": (62, 0, 0),
    "kill_all": (62, -1, 0),
    "tkill": (200, WORKER, 0),
    "tgkill": (234, WORKER, WORKER, 0),
    "rt_sigqueueinfo": (129, WORKER, 0, 0),
    "own_group": (109, 0, 0),
    "session": (112,),
    "terminal_input": (16, 0, 0x5412, 0),
    "clone_vm": (56, 0x80000000 | 0x10000, 0, 0, 0, 0),
    "x32": (0x40000000 + 39,),
}  # fmt: skip


def calls() -> dict[str, Attempt]:
    """The calls by their numbers."""
    if platform.machine() != "x86_64":
        return {}
    return {name: partial(_call, *numbers) for name, numbers in CALLS.items()}


def _call(*numbers: int) -> None:
    checked(LIBC.syscall(*map(ctypes.c_long, numbers)))


def checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "")


def files(scratch: Path) -> dict[str, Attempt]:
    """What is tried with files and folders that are others'."""
    reference = next(p for p in visible.kit() if p.name == "transformer_ref")
    return {
        "read_secret": lambda: OUTSIDE.read_text(),
        "read_passwd": lambda: Path("/etc/passwd").read_text(),
        "read_reference": lambda: (reference / "__init__.py").read_text(),
        "read_environment": lambda: Path("/proc/self/environ").read_bytes(),
        "read_workers_environment": lambda: Path(f"/proc/{WORKER}/environ").read_bytes(),
        "read_memory": lambda: os.open(f"/proc/{WORKER}/mem", os.O_RDONLY),
        "list_outside": lambda: os.listdir(OUTSIDE.parent),
        "list_root": lambda: os.listdir("/"),
        "list_temporary": lambda: os.listdir(scratch.parent),
        "write_secret": lambda: OUTSIDE.write_text("mine"),
        "write_beside": lambda: os.close(_touched(scratch.parent)),
        "write_shared": lambda: os.close(_touched(Path("/dev/shm"))),
        "remove_secret": lambda: OUTSIDE.unlink(),
        "take_secret": lambda: OUTSIDE.rename(scratch / "taken"),
        "put_there": lambda: _made(scratch).rename(OUTSIDE.parent / "put"),
        "link_secret": lambda: (scratch / "linked").hardlink_to(OUTSIDE),
        "empty_secret": lambda: os.truncate(OUTSIDE, 0),
        "empty_secret_unasked": lambda: os.open(OUTSIDE, os.O_RDONLY | os.O_TRUNC),
        "change_mode": lambda: OUTSIDE.chmod(0o600),
        "change_time": lambda: os.utime(OUTSIDE, (1, 1)),
        "symbolic_link": lambda: (scratch / "symbolic").symlink_to("/"),
        "pipe": lambda: os.mkfifo(scratch / "pipe"),
    }


def _touched(folder: Path) -> int:
    handle, name = tempfile.mkstemp(dir=folder)
    os.unlink(name)
    return handle


def _made(scratch: Path) -> Path:
    (scratch / "made").touch()
    return scratch / "made"


def others() -> dict[str, Attempt]:
    """Processes, programs, sockets and limits."""
    return {
        "fork": lambda: os.fork() or os._exit(0),
        "spawn": lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "shell": lambda: checked(-os.system("true")),
        "tcp": lambda: socket.socket(socket.AF_INET),
        "udp": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
        "unix": lambda: socket.socket(socket.AF_UNIX),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
        "socketpair": lambda: socket.socketpair(),
        "setuid": lambda: os.setuid(os.getuid()),
        "nice": lambda: os.nice(1),
        "send_by_owner": lambda: fcntl.fcntl(_pipe(), fcntl.F_SETOWN, WORKER),
        "send_by_signal": lambda: fcntl.fcntl(_pipe(), fcntl.F_SETSIG, 0),
        "watch_folder": lambda: fcntl.fcntl(os.open("/lib", os.O_RDONLY), fcntl.F_NOTIFY, 0),
        "raise_limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)),
    }


def _pipe() -> int:
    return os.pipe()[0]


def honest(scratch: Path) -> dict[str, Attempt]:
    """What must be possible."""
    return {
        "own_signal": lambda: os.kill(os.getpid(), 0),
        "lower_limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        "thread": _thread,
        "import": lambda: __import__("colorsys"),
        "list_libraries": lambda: os.listdir(Path(os.__file__).parent),
        "random": lambda: os.urandom(8) + Path("/dev/urandom").open("rb").read(8),
        "nothing": lambda: Path(os.devnull).open("r+b").write(b"gone"),
        "temporary_file": lambda: tempfile.TemporaryFile().write(b"mine"),
        "own_files": lambda: _files_of_its_own(Path.cwd()),
        "home": lambda: (Path.home() / "note").write_text("mine"),
        "names": lambda: os.uname(),
        "time": lambda: (signal.setitimer(signal.ITIMER_REAL, 9), signal.alarm(0)),
        "file_locks": lambda: fcntl.lockf((scratch / "lock").open("w"), fcntl.LOCK_EX),
        "reap": lambda: _no_child(),
    }


def _thread() -> None:
    seen: list[int] = []
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
    assert seen


def _files_of_its_own(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "note").write_text("one")
    (folder / "a" / "note").rename(folder / "a" / "b" / "note")
    with (folder / "a" / "b" / "note").open("r+") as f:
        f.truncate(1)
        os.fsync(f.fileno())
    (folder / "a" / "b" / "note").unlink()
    (folder / "a" / "b").rmdir()
    (folder / "a").rmdir()


def _no_child() -> None:
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def outcome(tier: Tier, scratch: Path, attempt: Attempt) -> str:
    """What came of it in a child behind the walls."""
    with suppress(OSError):  # what an attempt has done to it where there is no wall
        OUTSIDE.write_text("marks")
    answer, end = os.pipe()
    walls = tier.walls(scratch)
    child = tier.fork()
    if not child:
        signal.alarm(20)
        try:
            for wall in walls:
                wall()
            os.write(end, b"(")
            attempt()
            os.write(end, b"done")
        except OSError as e:
            os.write(end, errno.errorcode.get(e.errno or 0, str(e)).encode())
        except BaseException as e:
            os.write(end, repr(e).encode())
        finally:
            os._exit(0)
    os.close(end)
    with os.fdopen(answer, "rb") as f:
        told = f.read().decode()
    status = os.waitpid(child, 0)[1]
    if told == "(" and status == 0:
        return "done"  # it became another program, and that one has ended well
    return told.removeprefix("(") or f"status {status}"


def main() -> None:
    tier = numbered(int(sys.argv[-2]))
    tier.enter()
    scratch = Path(tempfile.mkdtemp())
    groups = {
        "calls": calls(),
        "files": files(scratch),
        "others": others(),
        "honest": honest(scratch),
    }
    found = {
        group: {name: outcome(tier, scratch, attempt) for name, attempt in attempts.items()}
        for group, attempts in groups.items()
    }
    found["left"] = {name: "left" for name in os.listdir(scratch)}
    print(json.dumps(found))
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
