"""Run every attack at one tier, each followed by an honest submission; a line of JSON for each.

    python -m tests.attack.runner TIER FOLDER

It starts only in a namespace of processes made for it (see `conftest.py`). FOLDER is empty, and a
small file system of its own.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.attack.ground import Ground, alone

if __name__ == "__main__":
    alone()

from autograder.core import engine

engine.start()

from autograder.bulk.waiting import Waiting, WorkerLost  # noqa: E402
from autograder.core.child import Job, Limits  # noqa: E402
from autograder.core.grading import judged  # noqa: E402
from autograder.core.observation import encode  # noqa: E402
from autograder.core.running import Lost, Seen, run  # noqa: E402
from autograder.core.step import find_step  # noqa: E402
from autograder.core.subject import Source  # noqa: E402
from autograder.core.task import Task  # noqa: E402
from autograder.core.verdict import Verdict  # noqa: E402
from autograder.wall.tiers import Tier, numbered  # noqa: E402
from tests.attack.attack import Attack, submission  # noqa: E402
from tests.attack.catalogue import ATTACKS  # noqa: E402
from tests.attack.naive import naive  # noqa: E402

SEED, EARLIER = 5, 6
USUAL = Limits()
BRIEF = Limits(load=1.0, probe=1.0, step=2.0)
OPEN = Limits(memory=2**46, file=2**40)
LATE = 6.0  # seconds after its time: nobody has stopped it


@dataclass
class Outcome:
    """What came of an attack.

    Attributes:
        attack, kind, since, root, step: see `Attack`.
        shown: whether it was seen to succeed where nothing stops it; None where that was not tried.
        through: whether it succeeded at this tier.
        points, most: what it was given, and what is no success.
        output: whether it passed the step's check of values.
        seconds: how long it took.
        honest: points of the right submission after it.
        left: what was still there afterwards.
        worker: whether the worker was lost.
        printed: by the attack.
    """

    attack: str
    kind: str
    since: int
    root: bool
    step: int
    shown: bool | None = None
    through: bool = False
    points: int = 0
    most: int = 0
    output: bool = False
    seconds: float = 0.0
    honest: int = 0
    left: list[str] = field(default_factory=list)
    worker: bool = False
    printed: str = ""


class Desk:
    """Grades single submissions at a tier, by workers that wait."""

    def __init__(self, tier: Tier) -> None:
        self.tier = tier
        self.workers: dict[int, Waiting] = {}
        self.lost = False

    def seen(self, number: int, text: str, limits: Limits, seed: int = SEED) -> Seen:
        """What is seen of a submission for a step; nothing where it has ended its worker."""
        step = find_step(number)
        exports = {c.probe: c.export for c in step.checks}
        worker = self.worker(number)
        job = Job(Source(text, f"{step.slug}.py"), Task.of(step), tuple(exports), seed)
        try:
            return run(job, exports, limits=limits, start=worker.start)
        except (WorkerLost, ChildProcessError):
            self.lost = True
            self.workers.pop(number).close()
            return Seen(Lost("worker"))

    def worker(self, number: int) -> Waiting:
        """The step's, started when it is first asked for."""
        if number not in self.workers:
            self.workers[number] = Waiting(Task.of(find_step(number)), self.tier)
            self.workers[number].until_ready()
        return self.workers[number]

    def verdict(self, number: int, text: str, seen: Seen) -> Verdict:
        """On what was seen of a text."""
        return judged(find_step(number), Source(text, "a.py"), seen, SEED)

    def close(self) -> None:
        """All workers leave."""
        for worker in self.workers.values():
            worker.close()


class Trial:
    """All attacks, one after the other, at one tier."""

    def __init__(self, number: int, folder: Path) -> None:
        self.number, self.ground = number, Ground(folder)
        self.desk = Desk(numbered(number))
        self.right = {n: find_step(n).solution.read_text(encoding="utf-8") for n in (1, 4)}
        self.facts = dict(self.ground.facts())
        earlier = self.desk.seen(4, self.right[4], USUAL, EARLIER)
        self.replay = b"".join(
            encode(o) for o in earlier.probes.values() if not isinstance(o, Lost)
        )
        self.baseline: dict[int, int] = {}

    def outcome(self, attack: Attack) -> Outcome:
        """Try it, show that it is real, and grade honest work after it."""
        told = Outcome(attack.name, attack.kind, attack.since, attack.root, attack.step)
        facts = self.facts | ({"REPLAY": self.replay} if "REPLAY" in attack.code else {})
        text = submission(attack, facts)
        self.desk.worker(attack.step)
        self.desk.lost = False
        self.ground.remember()
        if self.number == 0:
            told.shown = self._shown(attack, text)
        started = time.monotonic()
        # Without walls is at tier 0 already, but for the limits.
        again = not (told.shown and attack.kind == "reach" and attack.since)
        for _ in range(attack.times if again else 0):
            seen = self.desk.seen(attack.step, text, BRIEF if attack.kind == "hang" else USUAL)
            told.printed += seen.printed[:200]
            told.through |= "GOT" in seen.printed and attack.kind == "reach"
        told.through |= not again
        told.seconds = round(time.monotonic() - started, 3)
        told.worker = self.desk.lost
        if attack.kind == "hang":
            told.through = told.seconds > BRIEF.load + LATE
        if attack.kind == "marks":
            told.most = self._most(attack)
            verdict = self.desk.verdict(attack.step, text, seen)
            told.points = verdict.points
            told.output = any(c.check == "output" and c.state == "passed" for c in verdict.checks)
            told.through = told.points > told.most
        told.left = self.ground.left()
        changed = self.ground.changed()
        if attack.kind == "reach":
            told.through |= changed or self.ground.reached()
        elif changed:
            told.left.append("files or mounts")
        right = self.desk.seen(4, self.right[4], USUAL)
        told.honest = self.desk.verdict(4, self.right[4], right).points
        return told

    def _shown(self, attack: Attack, text: str) -> bool:
        """Where nothing stops it."""
        if attack.shown == "naive":
            passed, printed = naive(text, self.right[4])
            shown = {"dies": '"verdict"' not in printed, "marks": passed, "reach": "GOT" in printed}
            return shown[attack.kind]
        for _ in range(attack.times):
            seen = self.desk.seen(attack.step, text, BRIEF if attack.kind == "hang" else OPEN)
        self.ground.left()
        changed = self.ground.changed() or self.ground.reached()
        if attack.kind == "hang":
            return isinstance(seen.loaded, Lost) and seen.loaded.kind == "timeout"
        return "GOT" in seen.printed or (attack.kind == "reach" and changed)

    def _most(self, attack: Attack) -> int:
        """The points of the same code without the attack."""
        if attack.most is not None:
            return attack.most
        if attack.step not in self.baseline:
            text = submission(attack, self.facts, armed=False)
            seen = self.desk.seen(attack.step, text, USUAL)
            self.baseline[attack.step] = self.desk.verdict(attack.step, text, seen).points
        return self.baseline[attack.step]


def main() -> None:
    """Print the outcomes."""
    alone()
    number, folder, *names = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    trial = Trial(int(number), Path(folder))
    try:
        for attack in ATTACKS:
            if not names or any(name in attack.name for name in names):
                print(json.dumps(asdict(trial.outcome(attack))), flush=True)
    finally:
        trial.desk.close()
        trial.ground.victim.kill()


if __name__ == "__main__":
    main()
