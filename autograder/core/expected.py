"""What the reference and the known mistakes look like under the same probes; computed once."""

from __future__ import annotations

import ast
import importlib
import warnings
from collections.abc import Iterable
from functools import cache, lru_cache

from autograder.core.draw import Draw
from autograder.core.given import REFERENCE
from autograder.core.observation import Observation
from autograder.core.probing import observe
from autograder.core.step import Misconception, Step, find_step
from autograder.core.subject import Source, Subject, trusted

_Terms = tuple[str, ...]


class Expected:
    """Observations to compare with, for one step and one seed."""

    def __init__(self, step: Step, seed: int) -> None:
        self.step, self.seed = step, seed

    def right(self, probe: str, terms: dict[str, list[str]]) -> Observation:
        """The reference's observation on the subject's terms."""
        return _observed(self.step.name, None, probe, self.seed, _key(terms))

    def mistaken(
        self, slugs: Iterable[str], probe: str, terms: dict[str, list[str]]
    ) -> Observation | None:
        """The observation of the solution with these mistakes; None if they cannot be combined."""
        chosen = tuple(slugs)
        if _variant(self.step.name, chosen) is None:
            return None
        return _observed(self.step.name, chosen, probe, self.seed, _key(terms))


def _key(terms: dict[str, list[str]]) -> _Terms:
    """The terms that are granted: a bias may be missing, a matrix never, whatever is claimed."""
    return tuple(sorted({role for role in terms.get("absent", ()) if role.startswith("b")}))


@lru_cache(maxsize=4096)
def _observed(
    step: str, slugs: tuple[str, ...] | None, probe: str, seed: int, absent: _Terms
) -> Observation:
    found = find_step(step)
    subject = reference(found.slug) if slugs is None else _variant(step, slugs)
    assert subject is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a mistake may provoke one of torch's
        return observe(found.probes[probe], subject, Draw(seed, {"absent": list(absent)}))


@cache
def reference(slug: str) -> Subject:
    """The reference package's piece: one for all probes, so that its weights are read once."""
    module = importlib.import_module(f"{REFERENCE}.{slug}")
    return Subject(vars(module), "reference")


@cache
def _variant(step: str, slugs: tuple[str, ...]) -> Subject | None:
    found = find_step(step)
    text = found.solution.read_text(encoding="utf-8")
    for slug in slugs:
        try:
            text = found.misconception(slug).applied_to(text)
        except ValueError:
            if len(slugs) == 1:
                raise
            return None
    name = f"{found.slug}:{'+'.join(slugs)}"
    subject = trusted(Source(text, name), name)
    if slugs and found.alike.issuperset(slugs):
        subject.memo = _solution(step).memo
    return subject


def _solution(step: str) -> Subject:
    solution = _variant(step, ())
    assert solution is not None
    return solution


def home(step: Step, mistake: Misconception) -> str:
    """The export in whose definition the mistake is made."""
    return next((name for name in _homes(step.name, mistake.slug) if name), step.exports[0])


def touches(step: Step, mistake: Misconception, export: str) -> bool:
    """Whether a check of the export could notice: the mistake is in it, or in what it uses."""
    homes = _homes(step.name, mistake.slug)
    return "" in homes or bool(homes & _used_by(step.name, export))


@cache
def _homes(step: str, slug: str) -> frozenset[str]:
    """The definitions a mistake edits, '' standing for the text between them."""
    found = find_step(step)
    mistake = found.misconception(slug)
    names = {n.name for n in _definitions(mistake.definition)}
    text = found.solution.read_text(encoding="utf-8")
    for find, _ in mistake.edits:
        line = text[: text.index(find)].count("\n") + 1
        around = [n.name for n in _parsed(step) if n.lineno <= line <= (n.end_lineno or line)]
        names.update(around or [""])
    return frozenset(names)


@cache
def _used_by(step: str, export: str) -> frozenset[str]:
    """The export and all definitions of the solution that it refers to, directly or not."""
    definitions = {n.name: n for n in _parsed(step)}
    found, new = set[str](), {export}
    while new:
        found |= new
        trees = [definitions[name] for name in new if name in definitions]
        named = {n.id for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Name)}
        new = (named & definitions.keys()) - found
    return frozenset(found)


@cache
def _parsed(step: str) -> list[ast.ClassDef | ast.FunctionDef]:
    return _definitions(find_step(step).solution.read_text(encoding="utf-8"))


def _definitions(text: str) -> list[ast.ClassDef | ast.FunctionDef]:
    return [n for n in ast.parse(text).body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
