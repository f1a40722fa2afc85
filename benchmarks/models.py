"""The models whose speed is measured: their sizes, the ids that they know, and whose code they are.

The sizes are those of the presets of `autograder train translate`, so that a figure says how fast
such a training is.
"""

from __future__ import annotations

from types import ModuleType

import transformer_ref
from autograder.workshop.settings import preset

SIZES = {name: preset(name).sizes for name in ("base", "tiny")}
VOCAB = 8316, 6384  # Multi30k's
START, END, PAD = 0, 1, 2


def reference() -> ModuleType:
    """The reference package; `benchmarks.plain.plain` is what it is compared with."""
    return transformer_ref
