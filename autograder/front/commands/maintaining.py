"""`autograder gate` and `new-step`: for those who maintain the kit, in a checkout of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from autograder.core.speech import Language
from autograder.front.commands.making import checkout
from autograder.front.commands.shared import NOT_PASSED, PASSED, Lang
from autograder.front.troubles import find_step, language
from autograder.front.wording import say

if TYPE_CHECKING:
    from autograder.authoring.gate import Outcome
    from autograder.authoring.kit import Kit


def gate(
    steps: Annotated[
        list[str] | None, typer.Argument(metavar="[STEP]...", help="which; all if none is named")
    ] = None,
    lang: Lang = None,
    seed: Annotated[int, typer.Option(help="what is drawn from where something is graded")] = 1,
) -> int:
    """Check what the kit must keep (in a checkout). Exit status: 0 nothing to mend, 1 something."""
    speech = language(lang)
    from autograder.authoring.gate import outcomes
    from autograder.authoring.kit import Kit

    kit = Kit(checkout(), tuple(find_step(name).number for name in steps or ()), seed)
    found = []
    for outcome in outcomes(kit):
        for problem in outcome.problems:
            text = say(f"gate.{problem.text}", speech, **problem.facts)
            print(f"{problem.place}: {text}", flush=True)
        found.append(outcome)
    _print_table(kit, found, speech)
    return NOT_PASSED if any(outcome.problems for outcome in found) else PASSED


def new_step(
    number: Annotated[int, typer.Argument(metavar="NN", help="the step's number")],
    slug: Annotated[str, typer.Argument(help="its name in every place, such as feed_forward")],
    lang: Lang = None,
) -> int:
    """Make the files of a new step (in a checkout): they run, and say what there is to fill in."""
    speech = language(lang)
    from autograder.authoring.newstep import new_step as write_files

    root = checkout()
    for path in write_files(root, number, slug):
        print(say("made.wrote", speech, path=str(path.relative_to(root))))
    print(say("new_step.next", speech, number=number, slug=slug))
    return PASSED


def _print_table(kit: Kit, found: list[Outcome], lang: Language) -> None:
    print()
    for outcome in found:
        count = len(outcome.problems)
        mark = "✗" if count else "✓"
        rule = say(f"gate.rule.{outcome.rule}", lang)
        print(f"  {mark} {count or '':>4} {outcome.seconds:6.1f} s  {rule}")
    count = sum(len(outcome.problems) for outcome in found)
    mistakes = sum(len(graded.mistakes) for graded in kit.graded)
    variations = sum(len(graded.variations) for graded in kit.graded)
    looked_at = {"steps": len(kit.steps), "mistakes": mistakes, "variations": variations}
    print(f"\n{say('gate.looked_at', lang, **looked_at)}")
    print(say("gate.shut" if count else "gate.open", lang, count=count))
