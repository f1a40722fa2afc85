"""The history of a training, as it can be observed, whatever stands in its place."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor

from autograder.core.observation import Odd, Value, see


def numbers(entries: Any, key: str) -> Value:
    """A value of each entry of a history, or what stands in the place of one."""
    try:
        return [operator.index(entry[key]) for entry in entries]
    except (TypeError, KeyError):
        return see(entries)


def count(entries: Any) -> Value:
    """How many entries a history has, or what stands in its place."""
    return len(entries) if isinstance(entries, list | tuple) else see(entries)


def losses(entries: Any, key: str) -> Value:
    """float32 (epochs,): a loss of each entry, or what stands in the place of the history."""
    try:
        return torch.tensor([float(entry[key]) for entry in entries])
    except (TypeError, KeyError, ValueError):
        return see(entries)


def both(entries: Any) -> Value:
    """float32 (2, epochs): losses of training and validation."""
    parts = [losses(entries, key) for key in ("train_loss", "valid_loss")]
    tensors = [part for part in parts if isinstance(part, Tensor)]
    return torch.stack(tensors) if len(tensors) == 2 else Odd("no losses")
