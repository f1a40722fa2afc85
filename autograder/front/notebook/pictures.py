"""Pictures of a step: what the learner's code makes, what the reference makes, the difference."""

from __future__ import annotations

import base64
import html
import importlib
import math
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from autograder.authoring.stubs import UNWRITTEN
from autograder.core.compare import kind_of
from autograder.core.observation import Value, see
from autograder.core.settings import plain_torch
from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.front.notebook import drawing
from autograder.front.notebook.drawing import Panel, Row
from autograder.front.notebook.here import shell
from autograder.front.troubles import complaint
from autograder.front.wording import say

_TOLERANCE = 1e-4  # of the largest number: what checks call equal


@dataclass(frozen=True)
class Pair:
    """One thing to look at, as the learner's code and the reference have it."""

    key: str
    mine: Value
    reference: Tensor


@dataclass(frozen=True)
class Picture:
    """What the code of a step makes, beside what the reference makes: drawn, and in words."""

    pairs: list[Pair]
    demo: ModuleType
    lang: str

    def figure(self) -> Any:
        """A matplotlib `Figure`; in English where no font can write Korean.

        Raises:
            Trouble: matplotlib is not installed.
        """
        spoken = self.lang if self.lang != "ko" or drawing.writes_korean() else "en"
        return drawing.figure(_rows(self.pairs, self.demo, spoken))

    def words(self) -> str:
        """The same for who cannot see it, a line for each row."""
        lines = []
        for row in _rows(self.pairs, self.demo, self.lang):
            notes = "; ".join(f"{panel.title}: {panel.note}" for panel in row.panels if panel.note)
            lines.append(say("picture.told", self.lang, caption=row.caption, notes=notes))
        return "\n".join(lines)


def show(demo: ModuleType, step: Step, mine: ModuleType, lang: str) -> None:
    """Show in a notebook what `picture` finds; where there is nothing to draw, a line says why.

    Outside IPython nothing is shown.

    Args:
        demo, step, mine, lang: see `picture`.
    """
    try:
        found = picture(demo, step, mine, lang)
        figure = found.figure()
    except Trouble as trouble:
        print(complaint(trouble, lang))
        return
    if shell() is not None:
        from IPython.display import display

        words = found.words()
        png = base64.b64encode(drawing.png(figure)).decode("ascii")
        # As HTML, since JupyterLab gives a bare PNG no words for who cannot see it.
        told = f'alt="{html.escape(words)}" width="{drawing.width(figure)}"'
        image = f'<img src="data:image/png;base64,{png}" {told}>'
        display({"text/html": image, "text/plain": words}, raw=True)


def picture(demo: ModuleType, step: Step, mine: ModuleType, lang: str) -> Picture:
    """Run the code of a step, and the reference's, on what the demo has to look at.

    Args:
        demo: the step's demo; its `picture(step)` returns tensors by the names of their captions,
            of two dimensions for a heat map and of one for a curve. Its texts `down` and `across`
            name the axes.
        step: the step.
        mine: the learner's code, live.
        lang: "en" or "ko".

    Raises:
        Trouble: the learner's code is not written, or stops.
    """
    return Picture(_seen(demo, step, mine), demo, lang)


def _seen(demo: ModuleType, step: Step, mine: ModuleType) -> list[Pair]:
    reference = importlib.import_module(f"transformer_ref.{step.slug}")
    # Neither picture depends on the learner's settings, and neither draws from their numbers.
    with plain_torch(), torch.random.fork_rng(devices=[]):
        own = _of_learner(demo, mine)
        right = demo.picture(reference)
    return [Pair(key, own[key], right[key].detach()) for key in right]


def _of_learner(demo: ModuleType, mine: ModuleType) -> dict[str, Value]:
    try:
        return {key: see(value) for key, value in demo.picture(mine).items()}
    except NotImplementedError as error:
        found = UNWRITTEN.fullmatch(str(error))
        raise Trouble("picture_unwritten", name=found[1] if found else str(error)) from None
    except (Exception, SystemExit) as error:
        facts = {"kind": type(error).__name__, "message": str(error)}
        raise Trouble("picture_stopped", **facts) from None


def _rows(pairs: list[Pair], demo: ModuleType, lang: str) -> list[Row]:
    texts = demo.TEXTS[lang]
    return [
        Row(texts[pair.key], _panels(pair, lang), texts["down"], texts["across"]) for pair in pairs
    ]


def _panels(pair: Pair, lang: str) -> list[Panel]:
    right = _flat(pair.reference)
    assert right is not None, f"the reference's {pair.key} cannot be drawn"
    theirs = Panel(say("picture.reference", lang), right, "")
    mine = Panel(say("picture.mine", lang), None, "")
    away = Panel(say("picture.difference", lang), None, say("picture.alone", lang), difference=True)
    if not isinstance(pair.mine, Tensor):
        mine = replace(mine, note=say("picture.no_tensor", lang, kind=kind_of(pair.mine)))
    elif (values := _flat(pair.mine)) is None:
        mine = replace(mine, note=_shapes(pair, lang, "picture.no_picture"))
    else:
        mine = replace(mine, values=values, note=_not_finite(values, lang))
        if pair.mine.shape != pair.reference.shape:
            away = replace(away, note=_shapes(pair, lang, "picture.shapes"))
        else:
            away = _difference(away, values, right, lang)
    low, high = _scale(mine.values, right)
    return [replace(mine, low=low, high=high), replace(theirs, low=low, high=high), away]


def _difference(panel: Panel, mine: Tensor, right: Tensor, lang: str) -> Panel:
    away = mine - right
    finite = away.isfinite()
    largest = away.where(finite, 0.0).abs().max().item()
    size = right.abs().max().item()
    panel = replace(panel, values=away, low=-(size or 1.0), high=size or 1.0)
    if largest > _TOLERANCE * size:
        note = say("picture.largest", lang, gap=f"{largest:.2g}")
        return replace(panel, note=note, low=-largest, high=largest)
    if not finite.all():
        return replace(panel, note=say("picture.partly", lang))
    return replace(panel, values=torch.zeros_like(away), note=say("picture.none", lang))


def _flat(tensor: Tensor) -> Tensor | None:
    """The tensor as numbers of one or two dimensions, if leading ones of size 1 are all it has."""
    while tensor.dim() > 2 and tensor.size(0) == 1:
        tensor = tensor[0]
    if not tensor.numel() or tensor.dim() not in (1, 2):
        return None
    return tensor.double()


def _scale(mine: Tensor | None, right: Tensor) -> tuple[float, float]:
    """From the least to the largest number of both, as far as the reference stays visible."""
    low, high = right.min().item(), right.max().item()
    span = (high - low) or 1.0
    # A number far out would make all others of a heat map one colour.
    reach = span if right.dim() == 2 else math.inf
    known = torch.empty(0) if mine is None else mine[mine.isfinite()]
    if known.numel():
        least, most = known.min().item(), known.max().item()
        low, high = min(low, max(least, low - reach)), max(high, min(most, high + reach))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _not_finite(values: Tensor, lang: str) -> str:
    count = int((~values.isfinite()).sum())
    return say("picture.not_finite", lang, count=count, total=values.numel()) if count else ""


def _shapes(pair: Pair, lang: str, key: str) -> str:
    assert isinstance(pair.mine, Tensor)
    shapes = {"mine": pair.mine.shape, "reference": pair.reference.shape}
    return say(key, lang, **{name: str(tuple(shape)) for name, shape in shapes.items()})
