"""The reference Transformer of "Attention Is All You Need": one module a step, loaded on demand.

`from transformer_ref import attention` finds the module that lists the name in its `__all__`
and imports that module only. Importing the package alone does not import torch.
"""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # For type checkers and editors; a step missing here still works, untyped.
    from .batching import *
    from .copy_task import *
    from .decoder import *
    from .embeddings import *
    from .encoder import *
    from .feed_forward import *
    from .inference import *
    from .loading import *
    from .masks import *
    from .model import *
    from .multi_head import *
    from .residual import *
    from .scaled_dot_product import *
    from .schedule import *
    from .smoothing import *
    from .training import *
    from .translation import *
    from .vocabulary import *


@cache
def _homes() -> dict[str, str]:
    """Map each export to its module's name, read from the source so that nothing is imported."""
    homes = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                homes.update(dict.fromkeys(ast.literal_eval(node.value), path.stem))
    return homes


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_homes())
    if name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_homes()[name]}"), name)
    globals()[name] = value  # The next access is an ordinary one.
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})
