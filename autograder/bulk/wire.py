"""What is said between the coordinator and a waiting worker, and how: both sides' half of it.

Over the control socket, coordinator to worker: first the task, as one packed message; then START
with three descriptors (the job to read, where results and prints go), and END for each START.
Worker to coordinator: READY when it can start a child, also after END; GONE, once a child, with how
it ended. Jobs do not travel over it: the child alone reads its own.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from autograder.core.given import Names
from autograder.core.source import Source
from autograder.core.task import Task

if TYPE_CHECKING:  # the coordinator starts its workers before it imports torch itself
    from autograder.core.child import Job, Limits

START, END, READY, GONE = b"S", b"E", b"R", b"G"

_LENGTH = struct.Struct(">I")
_STATUS = struct.Struct(">i")


class Closed(ConnectionError):
    """The other side is gone."""


def send_task(control: socket.socket, task: Task) -> None:
    """The first thing that a worker is told."""
    text = json.dumps(asdict(task)).encode()
    control.sendall(_LENGTH.pack(len(text)) + text)


def receive_task(control: socket.socket) -> Task:
    """See `send_task`.

    Raises:
        Closed: nobody is there.
    """
    (length,) = _LENGTH.unpack(_exactly(control, _LENGTH.size))
    told = json.loads(_exactly(control, length))
    names = Names(*(tuple(part) for part in told.pop("names")))
    lists: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
    return Task(**lists, names=names)


def gone(status: int) -> bytes:
    """The message that the child has ended so."""
    return GONE + _STATUS.pack(status)


def receive_status(control: socket.socket) -> int:
    """What follows GONE."""
    status: int = _STATUS.unpack(_exactly(control, _STATUS.size))[0]
    return status


def receive_one(control: socket.socket) -> bytes:
    """One byte: which message it is.

    Raises:
        Closed: nobody is there.
    """
    return _exactly(control, 1)


def _exactly(control: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        try:
            more = control.recv(count - len(data))
        except ConnectionError:
            more = b""
        if not more:
            raise Closed
        data += more
    return bytes(data)


def write_job(file: int, job: Job, limits: Limits) -> None:
    """All that the child is told, into an empty file; it is left to be read from its start."""
    told = {**asdict(job), "limits": asdict(limits)}
    del told["task"]  # the worker knows it
    data = memoryview(json.dumps(told).encode())
    while data:
        data = data[os.write(file, data) :]
    os.lseek(file, 0, os.SEEK_SET)


def read_job(file: int, task: Task) -> tuple[Job, Limits]:
    """See `write_job`."""
    from autograder.core.child import Job, Limits

    with open(file, "rb", closefd=False) as f:
        told = json.loads(f.read())
    own = {slug: Source(**source) for slug, source in told["own"].items()}
    job = Job(Source(**told["source"]), task, tuple(told["probes"]), told["seed"], own)
    return job, Limits(**told["limits"])
