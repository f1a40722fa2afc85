"""`autograder translate`: a sentence through the model that was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.front.commands.shared import PASSED, Lang
from autograder.front.commands.train import MaybeWhose
from autograder.front.show import near
from autograder.front.troubles import complaint, language
from autograder.front.wording import escape, say


def translate(
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="German, in quotes")],
    run: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="what was trained; else ./translator")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="hypotheses followed; 1: greedy")] = 4,
    maps: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the attention maps; else attention.png")
    ] = None,
    origin: MaybeWhose = None,
    lang: Lang = None,
) -> int:
    """Translate a sentence with what `train translate` has made; draw where the model looked."""
    speech = language(lang)
    from autograder.core.trouble import Trouble
    from autograder.workshop.runfolder import DEFAULT
    from autograder.workshop.translating import open_translator

    translator = open_translator(run or DEFAULT, origin)
    translation = translator.translate(sentence, beam)
    unknown, all_of_it = translator.unknown(sentence)
    if unknown:
        key = "translating.nothing_known" if all_of_it else "translating.unknown"
        print(say(key, speech, words=unknown))
    print(escape(translation, 10_000))
    picture = maps or Path("attention.png")
    try:
        translator.draw(sentence, translation, picture)
    except Trouble as e:
        if maps or e.key != "needs_extra":  # who asked for a picture must know that there is none
            raise
        print(complaint(e, speech))
    else:
        print(say("made.wrote", speech, path=near(picture)))
    return PASSED
