"""Checkpoints to be written and read: drawn, seen, and watched while they are written over."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import torch

from autograder.core.draw import Draw
from autograder.core.observation import Value, see
from autograder.core.subject import Subject
from autograder.toys.files import temporary_folder


def state(draw: Draw, name: str) -> dict[str, Any]:
    """Values of all kinds that a training saves, drawn by a name."""
    numbers = draw.normal(name, 3, 5)
    speeds = {"speed": draw.normal(f"{name}/speed", 40)}
    entries = [{"epoch": 1, "train_loss": float(numbers[0, 0]), "valid_loss": 0.5}]
    return {"model": {"w": numbers}, "optimizer": {0: speeds}, "epoch": 3, "history": entries}


def content(name: str, found: Any) -> dict[str, Value]:
    """What was found in the place of such values, as it can be observed."""
    if not isinstance(found, dict):
        return {f"{name}_kind": see(found)}
    seen: dict[str, Value] = {f"{name}_kind": "dict", f"{name}_keys": sorted(map(str, found))}
    with contextlib.suppress(KeyError, TypeError):
        seen[f"{name}_tensors"] = torch.cat(
            [found["model"]["w"].flatten(), found["optimizer"][0]["speed"]]
        )
        seen[f"{name}_epoch"] = found["epoch"]
        seen[f"{name}_history"] = [dict(entry) for entry in found["history"]]
    return seen


class Held:
    """Keeps hold of a file as it is, whatever takes its name later."""

    def __init__(self, path: Path) -> None:
        self.link = path.with_name(f"{path.name}.held")
        os.link(path, self.link)
        self.before = path.read_bytes()

    def written_over(self) -> bool:
        """Whether its content is another one by now."""
        return self.link.read_bytes() != self.before


def writes_over(subject: Subject) -> bool:
    """Whether save_checkpoint writes into the old file, and puts no new one in its place."""
    with temporary_folder() as folder:
        path = folder / "state.pt"
        subject.save_checkpoint(path, epoch=1)
        if not path.is_file():
            return False
        held = Held(path)
        subject.save_checkpoint(path, epoch=2)
        return held.written_over()
