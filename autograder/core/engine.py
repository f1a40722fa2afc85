"""Load torch once, quickly, and such that learners' code can be forked off afterwards."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def start() -> None:
    """Import torch if nobody has yet. Call it before anything of the core that computes.

    Verdicts are computed on the CPU: autograd starts a thread for every GPU that it sees, and a
    child forked after that can compute no gradient. So GPUs are hidden from this process: one that
    grades and does nothing else. Never call it in a learner's own, such as a notebook's kernel.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if "torch" in sys.modules:
        return
    with _threads("1"), _no_collection():
        import torch
    torch.set_num_threads(1)  # a pool of threads does not survive a fork


@contextmanager
def _threads(count: str) -> Iterator[None]:
    """Inside, numeric libraries that are loaded start no threads of their own."""
    missing = [n for n in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if n not in os.environ]
    os.environ.update(dict.fromkeys(missing, count))
    try:
        yield
    finally:
        for name in missing:
            del os.environ[name]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Inside, no garbage is looked for: an import makes many objects and hardly any garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
        gc.freeze()  # what is loaded stays: no collection needs to look at it, here or in a child
