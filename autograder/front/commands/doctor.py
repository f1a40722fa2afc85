"""`autograder doctor`: how well this machine keeps learners' code away from everything else."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.core.speech import Language
from autograder.front.commands.shared import PASSED, Lang
from autograder.front.troubles import language
from autograder.front.wording import say

if TYPE_CHECKING:
    from autograder.wall.parts import Parts
    from autograder.wall.tiers import Reason, Tier, Trial

SCHEMA = 1


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object, for programs")] = False,
    lang: Lang = None,
) -> int:
    """Say which tier of isolation this machine gives, and why not a higher one."""
    speech = language(lang)
    from autograder.wall.parts import parts
    from autograder.wall.tiers import best, trial

    tier, trials, found = best(), [trial(1), trial(2)], parts()
    if as_json:
        print(json.dumps(_object(tier, trials, found, speech), ensure_ascii=False))
    else:
        print("\n".join(report(tier, trials, found, speech)))
    return PASSED


def why(reason: Reason, lang: Language) -> str:
    """Why a tier is not to be had, in words."""
    detail = reason.detail
    if reason.key in ("leak", "lost"):
        detail = ", ".join(say(f"doctor.attempt.{n}", lang) for n in detail.split(", "))
    return say(f"doctor.why.{reason.key}", lang, detail=detail)


def _versions() -> dict[str, str]:
    from autograder.wall.parts import installed, system

    return {
        "kit": installed("transformer-by-building"),
        "python": platform.python_version(),
        "torch": installed("torch"),
        "system": system(),
    }


def _object(tier: Tier, trials: list[Trial], found: Parts, lang: Language) -> dict[str, Any]:
    reasons = [{"key": r.key, "detail": r.detail, "text": why(r, lang)} for r in tier.reasons]
    return {
        "schema": SCHEMA,
        "tier": tier.number,
        "name": tier.name,
        "reasons": reasons,
        "parts": asdict(found),
        "trials": {str(t.number): dict(t.outcomes) for t in trials},
        "versions": _versions(),
    }


def report(tier: Tier, trials: list[Trial], found: Parts, lang: Language) -> Iterator[str]:
    """Everything, line by line."""
    yield say("doctor.versions", lang, **_versions())
    yield ""
    name = say(f"doctor.name.{tier.number}", lang)
    yield say("doctor.tier", lang, number=tier.number, name=name)
    for number, reason in zip((2, 1), tier.reasons, strict=False):
        yield "  " + say("doctor.higher", lang, number=number, why=why(reason, lang))
    yield ""
    yield say("doctor.parts", lang)
    for part, value in asdict(found).items():
        yield f"  {'✓' if value else '✗'} {say(f'doctor.part.{part}', lang, found=value or '–')}"
    yield from _tried(trials, lang)
    stopped = range(tier.number + 1)
    for group, numbers in (("stops", stopped), ("open", [tier.number])):
        yield ""
        yield say(f"doctor.title.{group}", lang, number=tier.number)
        yield from ("  " + say(f"doctor.{group}.{number}", lang) for number in numbers)
    yield ""
    yield say("doctor.more", lang)


def _tried(trials: list[Trial], lang: Language) -> Iterator[str]:
    from autograder.wall.tiers import NEEDED

    names = dict.fromkeys(name for trial in reversed(trials) for name in trial.outcomes)
    for title, good, group in (
        ("doctor.tried", "refused", [n for n in names if n not in NEEDED]),
        ("doctor.needed", "done", [n for n in names if n in NEEDED]),
    ):
        if group:
            yield ""
            yield say(title, lang)
        for name in group:
            seen = [trial.outcomes.get(name) for trial in trials]
            marks = ["–" if s is None else "✓" if s == good else "✗" for s in seen]
            yield f"  {' '.join(marks)} {say(f'doctor.attempt.{name}', lang)}"
