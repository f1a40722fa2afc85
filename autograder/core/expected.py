"""What the reference and the known mistakes look like under the same probes: computed once, then looked up."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache, lru_cache

from autograder.core.draw import Draw
from autograder.core.observation import Observation
from autograder.core.probing import observe
from autograder.core.step import Misconception, Step, find_step
from autograder.core.subject import Source, Subject, reference, trusted

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
        """The observation of the solution with these mistakes in it; None where they cannot stand together."""
        chosen = tuple(slugs)
        if _variant(self.step.name, chosen) is None:
            return None
        return _observed(self.step.name, chosen, probe, self.seed, _key(terms))


def _key(terms: dict[str, list[str]]) -> _Terms:
    return tuple(sorted(terms.get("absent", ())))


@lru_cache(maxsize=4096)
def _observed(
    step: str, slugs: tuple[str, ...] | None, probe: str, seed: int, absent: _Terms
) -> Observation:
    found = find_step(step)
    subject = reference(found) if slugs is None else _variant(step, slugs)
    assert subject is not None
    return observe(found.probes[probe], subject, Draw(seed, {"absent": list(absent)}))


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
    return trusted(Source(text, name), name)


def home(step: Step, mistake: Misconception) -> str:
    """The export in whose definition the mistake is made."""
    if mistake.definition:
        return _definitions(mistake.definition)[0].name
    text = step.solution.read_text(encoding="utf-8")
    line = text[: text.index(mistake.edits[0][0])].count("\n") + 1
    for node in _definitions(text):
        if node.lineno <= line <= (node.end_lineno or line):
            return node.name
    return step.exports[0]


def _definitions(text: str) -> list[ast.ClassDef | ast.FunctionDef]:
    return [n for n in ast.parse(text).body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
