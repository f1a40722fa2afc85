"""Where to compute: a device that is there."""

from __future__ import annotations

import torch

from autograder.core.trouble import Trouble


def find_device(name: str) -> torch.device:
    """The device of that name, once a number has been put there.

    Raises:
        Trouble: there is no such device on this machine; those there are are named.
    """
    try:
        device = torch.device(name)
        torch.ones(1, device=device).sum().item()
    except Exception:  # each backend complains in its own way
        raise Trouble("no_device", name=name, devices=", ".join(_devices())) from None
    return device


def _devices() -> list[str]:
    names = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    return [*names, "mps"] if torch.backends.mps.is_available() else names
