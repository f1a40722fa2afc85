"""What learners' code may see of the file system: the interpreter, its libraries, little else."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix")
# What the loader of shared libraries, the clock and the count of processors read.
_DETAILS = ("/etc/ld.so.cache", "/etc/localtime", "/proc/cpuinfo", "/sys/devices/system/cpu")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
# Packages that learners' code may not read: the grader, and what it holds to be right.
_PACKAGES = ("autograder", "transformer_ref")


@cache
def kit() -> tuple[Path, ...]:
    """The folders of the kit's packages."""
    specs = (find_spec(name) for name in _PACKAGES)
    found = [Path(p) for s in specs if s for p in s.submodule_search_locations or ()]
    return tuple(dict.fromkeys(p for f in found for p in (f, f.resolve())))


@cache
def libraries() -> tuple[Path, ...]:
    """Folders of the interpreter's libraries and of the shared ones they need; none in another.

    Other entries of `sys.path` are left out: a checkout that is installed as editable is none.
    """
    paths = sysconfig.get_paths()
    own = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    own += [f"{p}/{lib}" for p in (sys.prefix, sys.base_prefix) for lib in ("lib", "lib64")]
    own += [p for p in site.getsitepackages() if p in sys.path]
    own += [p for p in (site.getusersitepackages(),) if p in sys.path]
    return _outermost(Path(p) for p in (*_SYSTEM, *own) if os.path.isdir(p))


def _outermost(folders: Iterable[Path]) -> tuple[Path, ...]:
    unique = tuple(dict.fromkeys(folders))
    return tuple(f for f in unique if not any(other in f.parents for other in unique))


@cache
def readable() -> tuple[Path, ...]:
    """What learners' code may read: the libraries without the kit, and a few files."""
    # Resolved: what is hidden could be reached through a link to the folder above it.
    folders = _outermost(f.resolve() for f in libraries())
    return (*without(folders, [f.resolve() for f in kit()]), *details())


def devices() -> tuple[Path, ...]:
    """What learners' code may read and write beside its own folder."""
    return tuple(map(Path, _DEVICES))


def details() -> tuple[Path, ...]:
    """The few files, and the folder, that are read beside the libraries."""
    return tuple(map(Path, _DETAILS))


def interpreter() -> tuple[Path, ...]:
    """What has to be there for the interpreter to start, beside the libraries."""
    found = [Path(sys.executable), Path(sys.executable).resolve()]
    return (*found, Path(sys.prefix, "pyvenv.cfg"))


def without(folders: Iterable[Path], hidden: Iterable[Path]) -> tuple[Path, ...]:
    """The folders; one with something hidden in it is replaced by what else is in it.

    Both are resolved paths. Links are not followed, and left out beside something hidden.
    """
    kept: list[Path] = []
    for folder in folders:
        inside = [h for h in hidden if h == folder or folder in h.parents]
        if not inside:
            kept.append(folder)
        elif folder not in inside:
            kept += without([f for f in sorted(folder.iterdir()) if not f.is_symlink()], inside)
    return tuple(kept)
