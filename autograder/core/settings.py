"""What learners' code may change for the whole process: as probes expect it, and put back."""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import torch


@contextmanager
def plain_torch() -> Iterator[None]:
    """Inside: float32, the CPU, gradients, whatever a learner's file or another probe has set."""
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    _default(torch.float32, torch.device("cpu"))
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        _default(dtype, device)


def _default(dtype: torch.dtype, device: torch.device) -> None:
    if torch.get_default_dtype() != dtype:
        torch.set_default_dtype(dtype)
    if torch.get_default_device() != device:  # None, as at the start: the CPU without a detour
        torch.set_default_device(None if device.type == "cpu" else device)


def _folder() -> str | None:
    """The current folder; None where it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


@contextmanager
def put_back(filename: str) -> Iterator[None]:
    """What learners' code changes inside is put back: for code that runs in this very process.

    Args:
        filename: the learner's file; modules loaded from its folder are forgotten again.
    """
    modules, path, folder = dict(sys.modules), list(sys.path), _folder()
    streams = sys.stdin, sys.stdout, sys.stderr
    depth, numbers = sys.getrecursionlimit(), random.getstate()
    try:
        with warnings.catch_warnings(), _torch_put_back():
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        sys.setrecursionlimit(depth)
        random.setstate(numbers)
        if folder is not None:
            os.chdir(folder)
        sys.path[:] = path
        _forget(modules, Path(filename).parent)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Inside: torch as it is at the start, no warnings; afterwards all is as its owner had it.

    For a process that is a learner's own, such as a notebook's kernel: neither may what is set
    there change a verdict, nor may computing one change what is set there.
    """
    with put_back(""), plain_torch(), torch.autograd.set_detect_anomaly(False):
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)  # on small tensors others only wait, for long on a busy machine
        if torch.are_deterministic_algorithms_enabled():
            torch.use_deterministic_algorithms(False)
        precision = torch.get_float32_matmul_precision()
        if precision != "highest":
            torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            if precision != "highest":
                torch.set_float32_matmul_precision(precision)


@contextmanager
def _torch_put_back() -> Iterator[None]:
    dtype, device, grad = (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
    )
    strict = torch.are_deterministic_algorithms_enabled()
    lenient = torch.is_deterministic_algorithms_warn_only_enabled()
    threads, numbers = torch.get_num_threads(), torch.get_rng_state()
    try:
        yield
    finally:
        _default(dtype, device)
        torch.set_grad_enabled(grad)
        now = torch.are_deterministic_algorithms_enabled()
        if (now, torch.is_deterministic_algorithms_warn_only_enabled()) != (strict, lenient):
            torch.use_deterministic_algorithms(strict, warn_only=lenient)  # loads torch's compiler
        torch.set_num_threads(threads)
        torch.set_rng_state(numbers)


def _forget(before: dict[str, ModuleType], folder: Path) -> None:
    """Restore modules that were replaced, and drop new ones of the learner's own."""
    for name, module in list(sys.modules.items()):
        if name in before:
            continue
        home = getattr(module, "__file__", None)
        if home and Path(home).parent == folder:
            del sys.modules[name]
    sys.modules.update(before)
