"""All tests compute with one thread, as the kit does; the whole of them runs on every core."""

import os

import pytest
import torch

torch.set_num_threads(1)  # on small tensors a second one only waits


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """`pytest` alone, or with `-m`: as `-n` with the number of cores. What is named runs in one."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if hasattr(config, "workerinput"):  # one of those processes: it must start no others
        return
    if whole and getattr(config.option, "numprocesses", 0) is None and not config.option.usepdb:
        config.option.numprocesses = _cores()


def _cores() -> int:
    """Those that this process may use, where the system tells: a machine may have many more."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
