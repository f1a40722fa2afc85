"""What a check cell asks for, read from its text; nothing is executed."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from autograder.core.speech import Language, choose
from autograder.core.step import NoSuchStep, Step, find_step


@dataclass(frozen=True)
class CheckCall:
    """`check("step04", "output", lang="ko")`; without a check's name all of them are asked for."""

    step: Step
    check: str | None
    lang: Language


def call_in(text: str) -> CheckCall | None:
    """What the last line of a cell asks to have checked; None where it is no call of the kit's."""
    try:
        last = ast.parse(text).body[-1]
    except (SyntaxError, ValueError, RecursionError, IndexError):
        return None
    match last:
        case ast.Expr(ast.Call(ast.Name("check"), arguments, keywords)):
            told = [a.value for a in arguments if isinstance(a, ast.Constant)]
            named = {k.arg: k.value.value for k in keywords if isinstance(k.value, ast.Constant)}
        case _:
            return None
    names = [*map(str, told), *[str(named[key]) for key in ("step", "name") if key in named]]
    if not 1 <= len(names) <= 2:
        return None
    try:
        step = find_step(names[0])
    except NoSuchStep:
        return None
    check = names[1] if len(names) == 2 else None
    if check is not None and check not in {c.name for c in step.checks}:
        return None
    return CheckCall(step, check, choose(str(named.get("lang", "en"))))
