"""Threads that get on with others on a busy machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def let_waiting_threads_sleep() -> None:
    """Call it before torch is loaded. Threads that wait for each other spin otherwise, and where
    other programs want the same cores, training is several times slower."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch computes with one thread: on small tensors a second one only waits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
