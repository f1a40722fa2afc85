"""What a training is told: the sizes of its model, and how it is trained."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.core.trouble import Trouble

SIZES = ("N", "d_model", "d_ff", "h", "dropout")  # what `make_model` is given


@dataclass(frozen=True)
class Settings:
    """One training's; `max_len` counts a sentence's two markers."""

    N: int
    d_model: int
    d_ff: int
    h: int
    dropout: float
    factor: float
    warmup: int
    smoothing: float
    epochs: int
    max_tokens: int
    accumulate: int
    min_freq: int
    max_len: int

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments of `make_model` behind the two vocabularies' sizes."""
        return {name: getattr(self, name) for name in SIZES}

    def changed(self, **changes: Any) -> Settings:
        """With other values, as far as they are not None."""
        return replace(self, **{k: v for k, v in changes.items() if v is not None})

    def as_data(self) -> dict[str, Any]:
        """As plain data, for `from_data`."""
        return asdict(self)


def preset(name: str) -> Settings:
    """The settings of that name.

    Raises:
        Trouble: there are none.
    """
    if name not in presets():
        raise Trouble("no_preset", name=name, presets=", ".join(presets()))
    return presets()[name]


@cache
def presets() -> dict[str, Settings]:
    """All settings that have a name."""
    text = Path(__file__).with_name("presets.toml").read_text(encoding="utf-8")
    return {name: Settings(**values) for name, values in tomllib.loads(text).items()}


def from_data(data: Any) -> Settings:
    """Settings read from a file.

    Raises:
        ValueError: something is missing, or of another type.
    """
    if not isinstance(data, dict) or set(data) != {field.name for field in fields(Settings)}:
        raise ValueError("other settings")
    for field in fields(Settings):
        kinds = (int,) if field.type == "int" else (int, float)
        if not isinstance(data[field.name], kinds):
            raise ValueError(field.name)
    return Settings(**data)
