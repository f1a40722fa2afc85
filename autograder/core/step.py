"""A step as data: exports, checks, misconceptions, texts; found by scanning `autograder/steps`."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.core.draw import Draw
    from autograder.core.observation import Value
    from autograder.core.subject import Subject

    Probe = Callable[[Subject, Draw], dict[str, Value]]

Words = dict[str, str]  # the same text by language: {"en": ..., "ko": ...}

ALIKE = ".alike"  # the suffix of a step's generated list of them

_PACKAGE = Path(__file__).parents[1]
_STEPS = _PACKAGE / "steps"


class NoSuchStep(LookupError):
    """There is no step of that number or name."""


@dataclass(frozen=True)
class Check:
    """A probe with points.

    `sees` are the observed values it compares; none means all. The `main` check is what calling
    torch's ready-made part costs. `labels` tell the learner what an observed value is.
    """

    name: str
    export: str
    points: int
    title: Words
    probe: str
    sees: tuple[str, ...] = ()
    tolerance: float = 1e-4
    main: bool = False
    labels: dict[str, Words] = field(default_factory=dict)

    @property
    def graded(self) -> bool:
        """False for advice."""
        return self.points > 0


@dataclass(frozen=True)
class Misconception:
    """A known mistake: edits of the model solution, each replacing text that is found exactly once,
    or a `definition` that takes the place of the solution's own of that name.

    `convention` is one that other people follow on purpose: it costs its own check and is then
    carried. `advice` is the reason why no graded check catches it. `telling` says that the
    exception it raises is proof enough of this mistake. `shows` are the checks that it fails, where
    looking is costly: it is looked for nowhere else.
    """

    slug: str
    name: Words
    question: Words
    place: Words
    edits: tuple[tuple[str, str], ...] = ()
    definition: str = ""
    convention: bool = False
    advice: Words | None = None
    telling: bool = False
    shows: tuple[str, ...] = ()

    def applied_to(self, text: str) -> str:
        """The solution's text with this mistake in it.

        Raises:
            ValueError: an edit's text is not found exactly once.
        """
        for find, replace in self.edits:
            if text.count(find) != 1:
                raise ValueError(f"{self.slug}: found {text.count(find)} times: {find!r}")
            text = text.replace(find, replace)
        return f"{text}\n\n{self.definition}" if self.definition else text


@dataclass(frozen=True)
class Step:
    """One lesson of the course; `slug` names its files in every place.

    Calling one of `ready_made` (dotted paths in torch) costs the main check; an export in `allowed`
    may be torch's own.
    """

    number: int
    slug: str
    title: Words
    exports: tuple[str, ...]
    checks: tuple[Check, ...]
    misconceptions: tuple[Misconception, ...]
    ready_made: tuple[str, ...] = ()
    alike: frozenset[str] = frozenset()
    allowed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """'step04'."""
        return f"step{self.number:02d}"

    @cached_property
    def probes(self) -> dict[str, Probe]:
        """The step's probes by name; imports torch."""
        return probes_of(self.slug, dict.fromkeys(c.probe for c in self.checks))

    @property
    def solution(self) -> Path:
        """The model solution's file."""
        return kit_file("solutions", self.name, f"{self.slug}.py")

    @property
    def stub(self) -> Path:
        """The learner's file, in the kit's own folder."""
        return kit_file("exercises", self.name, f"{self.slug}.py")

    def misconception(self, slug: str) -> Misconception:
        """The misconception of that slug (KeyError if none)."""
        return {m.slug: m for m in self.misconceptions}[slug]


def kit_file(*parts: str) -> Path:
    """A file of exercises or solutions: beside the package in a checkout, inside it in a wheel."""
    beside = _PACKAGE.parent.joinpath(*parts)
    return beside if beside.parent.exists() else _PACKAGE.joinpath("_kit", *parts)


@cache
def all_steps() -> tuple[Step, ...]:
    """Every step, by number."""
    return read_steps(_STEPS)


def read_steps(folder: Path) -> tuple[Step, ...]:
    """The steps whose data lie in that folder, by number."""
    return tuple(sorted(map(_read, folder.glob("*.toml")), key=lambda s: s.number))


def find_step(name: str | int) -> Step:
    """The step called '4', '04' or 'step04'.

    Raises:
        NoSuchStep: none is; the message lists those there are.
    """
    match = re.fullmatch(r"(?:step)?0*(\d+)", str(name).strip().lower())
    for step in all_steps():
        if (match and step.number == int(match[1])) or step.slug == name:
            return step
    raise NoSuchStep(f"no step {name!r}; there are {', '.join(s.name for s in all_steps())}")


def probes_of(slug: str, names: Iterable[str]) -> dict[str, Probe]:
    """Those probes of the step of that slug, by name; imports torch."""
    module = importlib.import_module(f"autograder.steps.{slug}")
    return {name: getattr(module, name) for name in names}


def given_to(step: Step) -> dict[str, str]:
    """The pieces of earlier steps: export -> slug of the reference module that holds it."""
    return {e: s.slug for s in all_steps() if s.number < step.number for e in s.exports}


def _read(path: Path) -> Step:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    labels = data.get("labels", {})
    alike = path.with_suffix(ALIKE)
    checks = tuple(_check(c, labels) for c in data["checks"])
    mistakes = tuple(_misconception(slug, m) for slug, m in data.get("misconceptions", {}).items())
    return Step(
        number=data["number"],
        slug=path.stem,
        title=data["title"],
        exports=tuple(data["exports"]),
        checks=checks,
        misconceptions=mistakes,
        ready_made=tuple(data.get("ready_made", ())),
        alike=frozenset(alike.read_text(encoding="utf-8").split() if alike.exists() else ()),
        allowed=tuple(data.get("allowed", ())),
    )


def _check(data: dict[str, Any], labels: dict[str, Words]) -> Check:
    return Check(
        name=data["name"],
        export=data["export"],
        points=data["points"],
        title=data["title"],
        probe=data.get("probe", data["name"]),
        sees=tuple(data.get("sees", ())),
        tolerance=data.get("tolerance", 1e-4),
        main=data.get("main", False),
        labels={**labels, **data.get("labels", {})},
    )


def _misconception(slug: str, data: dict[str, Any]) -> Misconception:
    return Misconception(
        slug=slug,
        name=data["name"],
        question=data["question"],
        place=data["place"],
        edits=tuple((e["find"], e["replace"]) for e in data.get("edits", ())),
        definition=data.get("definition", ""),
        convention=data.get("convention", False),
        advice=data.get("advice"),
        telling=data.get("telling", False),
        shows=tuple(data.get("shows", ())),
    )
