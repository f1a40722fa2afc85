"""Given pieces: what a subject may import from `transformer_ref`, and what it is refused."""

from __future__ import annotations

import importlib
import importlib.abc
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import NamedTuple

REFERENCE = "transformer_ref"

Offer = Callable[[str, ModuleType], None]


class Names(NamedTuple):
    """What the reference package has: its modules by their full names, its exports."""

    modules: tuple[str, ...]
    exports: tuple[str, ...]


class NotGiven(ImportError):
    """The subject imports what this step, or a later one, asks it to write."""

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class _Refuse(importlib.abc.MetaPathFinder):
    """Stands before every other finder and lets no module of the reference through."""

    def __init__(self, modules: Collection[str]) -> None:
        self.modules = modules

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname in self.modules:
            raise NotGiven(fullname)


@contextmanager
def only_given(given: Mapping[str, str], names: Names | None = None) -> Iterator[Offer]:
    """Inside, `transformer_ref` offers the given pieces (export -> slug) and refuses all others.

    What it gives is called with a slug and a module to have that module's pieces offered instead.

    Args:
        given: the pieces.
        names: all there are, where the package's other files are not to be read.
    """
    names = names or all_names()
    slugs = set(given.values())
    modules = {slug: importlib.import_module(f"{REFERENCE}.{slug}") for slug in sorted(slugs)}
    pieces = {*names.exports, *(name.rpartition(".")[2] for name in names.modules[1:])}
    facade = ModuleType(REFERENCE, "The pieces of earlier steps.")
    facade.__path__ = []
    facade.__dict__["__all__"] = sorted(given)

    def offer(slug: str, module: ModuleType) -> None:
        sys.modules[f"{REFERENCE}.{slug}"] = module
        setattr(facade, slug, module)
        for export in (name for name, home in given.items() if home == slug):
            setattr(facade, export, getattr(module, export))

    def refuse(name: str) -> object:
        if name in pieces:
            raise NotGiven(f"{REFERENCE}.{name}")
        raise AttributeError(f"module {REFERENCE!r} has no attribute {name!r}")

    facade.__dict__["__getattr__"] = refuse
    before = {name: sys.modules.pop(name) for name in names.modules if name in sys.modules}
    finder = _Refuse(names.modules)
    sys.meta_path.insert(0, finder)
    try:
        sys.modules[REFERENCE] = facade
        for slug, module in modules.items():
            offer(slug, module)
        yield offer
    finally:
        sys.meta_path.remove(finder)
        for name in names.modules:
            sys.modules.pop(name, None)
        sys.modules.update(before)


@cache
def all_names() -> Names:
    """All that the package has, from its folder: walking `sys.modules` is slow."""
    package = importlib.import_module(REFERENCE)
    found = pkgutil.iter_modules(package.__path__)
    modules = (REFERENCE, *(f"{REFERENCE}.{module.name}" for module in found))
    return Names(modules, tuple(package.__all__))
