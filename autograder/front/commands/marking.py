"""What grading a class and an appeal have in common: what is asked for, results, the seed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.core.speech import Language
from autograder.core.step import Step
from autograder.core.trouble import Trouble
from autograder.front.wording import say

if TYPE_CHECKING:
    from autograder.bulk.results import Results
    from autograder.wall.tiers import Tier


@dataclass(frozen=True)
class Asked:
    """What is to be done, and how."""

    step: Step
    folder: Path
    tier: Tier
    jobs: int
    lang: Language

    def say(self, key: str, **facts: object) -> None:
        """Print a text of grading's."""
        print(say(f"grading.{key}", self.lang, **facts), flush=True)

    def say_tier(self) -> None:
        """Print how other people's code is kept away."""
        number = self.tier.number
        self.say("tier", number=number, name=say(f"doctor.name.{number}", self.lang))


@contextmanager
def opened(path: Path) -> Iterator[Results]:
    """The results in that file; inside, nobody else writes there."""
    from autograder.bulk.results import Busy, Foreign, Results, Unwritten

    try:
        with closing(Results(path)) as results:
            yield results
    except Unwritten as e:
        raise Trouble("unwritable", path=path, reason=str(e)) from None
    except Busy:
        raise Trouble("grading_busy", path=path) from None
    except Foreign:
        raise Trouble("grading_foreign", path=path) from None
    except OSError as e:
        if e.filename != str(path):
            raise
        raise Trouble("unwritable", path=path, reason=e.strerror or type(e).__name__) from None


def drawn(seed: int | None, earlier: int | None) -> int:
    """The seed to draw from: as asked, else that of what there is, else a new one."""
    found = earlier if seed is None else seed
    return secrets.randbelow(2**31) if found is None else found
