"""The gate: every rule that the kit must keep, and what each one finds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.authoring import languages, layout, soundness
from autograder.authoring.kit import Kit, Problem, Rule

# By the name of its text; those that grade nothing come first, since they are quick.
RULES: dict[str, Rule] = {
    "files": layout.files_are_in_place,
    "fresh": layout.stubs_are_fresh,
    "notebooks": layout.notebooks_are_fresh,
    "slugs": layout.slugs_are_no_exports,
    "filled": layout.nothing_is_left_to_fill_in,
    "names": layout.check_names_are_kept,
    "texts": languages.texts_are_in_both,
    "docstrings": languages.docstrings_are_in_both,
    "pages": languages.pages_tell_the_same,
    "gradable": soundness.steps_are_gradable,
    "lists": soundness.lists_are_fresh,
    "stubs": soundness.stubs_fail,
    "solutions": soundness.solutions_pass,
    "mistakes": soundness.mistakes_are_named,
    "variations": soundness.variations_pass,
}


@dataclass(frozen=True)
class Outcome:
    """What one rule found, and how long it looked."""

    rule: str
    problems: list[Problem]
    seconds: float


def outcomes(kit: Kit) -> Iterator[Outcome]:
    """Apply every rule, whatever the others find."""
    for name, rule in RULES.items():
        started = time.perf_counter()
        problems = list(rule(kit))
        yield Outcome(name, problems, time.perf_counter() - started)
