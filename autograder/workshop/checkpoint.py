"""Looking into a checkpoint before anybody relies on it: nothing in it is ever executed."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

from autograder.core.trouble import Trouble


def read_checkpoint(path: Path, *keys: str) -> dict[str, Any]:
    """What a checkpoint holds, tensors on the CPU.

    Args:
        path: the file.
        keys: what it must hold at least.

    Raises:
        Trouble: it cannot be read, is cut short, or is another program's.
    """
    try:
        with warnings.catch_warnings():  # of what others' files look like
            warnings.simplefilter("ignore")
            state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise Trouble("no_file", path=path) from None
    except OSError as e:
        raise Trouble("unreadable", path=path, reason=e.strerror or str(e)) from None
    except pickle.UnpicklingError:  # it would have something executed, or is no checkpoint at all
        raise Trouble("checkpoint_foreign", path=path) from None
    except Exception:  # torch says it of a damaged file in many ways
        raise Trouble("checkpoint_damaged", path=path) from None
    if not isinstance(state, dict) or any(key not in state for key in keys):
        raise Trouble("checkpoint_foreign", path=path)
    return state


def fill(model: nn.Module, weights: Any, path: Path) -> None:
    """Give a model the weights of a checkpoint.

    Raises:
        Trouble: they are those of a model of another shape.
    """
    own = model.state_dict()
    if not isinstance(weights, dict) or not all(
        isinstance(w, torch.Tensor) for w in weights.values()
    ):
        raise Trouble("checkpoint_foreign", path=path)
    for name in [*own, *weights]:
        one, other = own.get(name), weights.get(name)
        shapes = [None if w is None else tuple(w.shape) for w in (one, other)]
        if shapes[0] != shapes[1]:
            facts = {"name": name, "asked": shapes[0], "found": shapes[1]}
            raise Trouble("checkpoint_shape", path=path, **facts)
    model.load_state_dict(weights)
