"""The autograder: one probe on many subjects, compared, and named where it is a known mistake.

`from autograder import check, watch` is for notebooks: they look at live objects. Nothing is
imported for them before they are asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.front.notebook import check, watch

__all__ = ["check", "watch"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.front.notebook"), name)
