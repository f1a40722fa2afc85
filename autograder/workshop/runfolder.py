"""A training's folder: what is needed to go on with it, and to translate with what it has made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from autograder.core.trouble import Trouble
from autograder.desk.sources import Origin
from autograder.workshop.cache import whole_file
from autograder.workshop.settings import Settings, from_data

DEFAULT = Path("translator")  # in the current folder

_SCHEMA = 1


@dataclass(frozen=True)
class RunFolder:
    """Its files."""

    root: Path

    @property
    def last(self) -> Path:
        """The checkpoint to go on from."""
        return self.root / "last.pt"

    @property
    def best(self) -> Path:
        """The checkpoint with the lowest validation loss."""
        return self.root / "best.pt"

    @property
    def card(self) -> Path:
        """What the checkpoints belong to."""
        return self.root / "run.json"

    @property
    def curves(self) -> Path:
        """The losses, as a picture."""
        return self.root / "curves.png"


@dataclass(frozen=True)
class Card:
    """Whose code was trained, how, and what its ids mean."""

    origin: Origin
    preset: str
    settings: Settings
    source: tuple[str, ...]  # the tokens of a vocabulary, by id
    target: tuple[str, ...]

    def write(self, path: Path) -> None:
        """Write it as JSON (Trouble if that cannot be)."""
        data = {
            "schema": _SCHEMA,
            "origin": self.origin,
            "preset": self.preset,
            "settings": self.settings.as_data(),
            "source": self.source,
            "target": self.target,
        }
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")


def read_card(folder: RunFolder) -> Card:
    """What a training's folder says of itself.

    Raises:
        Trouble: there is no training in it, or its card is not one.
    """
    try:
        data = json.loads(folder.card.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Trouble("no_run", path=folder.root) from None
    except OSError as e:
        raise Trouble("unreadable", path=folder.card, reason=e.strerror or str(e)) from None
    except ValueError:
        raise Trouble("card_foreign", path=folder.card) from None
    try:
        return _card(data)
    except (KeyError, TypeError, ValueError):
        raise Trouble("card_foreign", path=folder.card) from None


def _card(data: Any) -> Card:
    if data["schema"] != _SCHEMA or data["origin"] not in get_args(Origin):
        raise ValueError("another schema")
    settings = from_data(data["settings"])
    words = _words(data["source"]), _words(data["target"])
    return Card(data["origin"], str(data["preset"]), settings, *words)


def _words(data: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(word, str) for word in data):
        raise ValueError("no list of words")
    return tuple(data)
