"""Probes of step 17: checkpoints, and a training on a toy model that is stopped and goes on.

Whatever is written goes to a temporary folder, which is removed.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value
from autograder.core.probing import attempt
from autograder.core.subject import Subject
from autograder.toys.checkpoints import content, state, writes_over
from autograder.toys.entries import both, count, losses, numbers
from autograder.toys.epochs import KEYS, Stop, Training, read, same_weights, weights_in
from autograder.toys.files import Acts, Breaks, as_if_from, temporary_folder

_NAMES = ("last.pt", "best.pt")

# What the rate is multiplied by in each epoch; where that is negative, the loss rises.
_COURSES = {
    "worse_later": (1, 1, -2, 0.2),
    "better_later": (1, 1, 1),
    "worse_at_once": (1, -2),
    "level": (1, 1),
}


def saved(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is found in a file that was saved, and in one that was saved over another."""
    one, other = state(draw, "saved"), state(draw, "other")
    with temporary_folder() as folder:
        subject.save_checkpoint(folder / "state.pt", **one)
        names = os.listdir(folder)
        more = len(set(names) - {"state.pt"})
        found: dict[str, Value] = {"written": "state.pt" in names, "others": more}
        found |= content("saved", read(folder / "state.pt"))
        subject.save_checkpoint(str(folder / "state.pt"), **other)
        return {**found, **content("over", read(folder / "state.pt"))}


def whole(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the old file stays whole while it is written over, and when that breaks off.

    It breaks off half way: one of the values to be saved raises when it is asked for its content.
    """
    one, other = state(draw, "saved"), state(draw, "other")
    elsewhere: list[int] = []
    with temporary_folder() as base:
        folder = base / "run"
        folder.mkdir()
        path, link = folder / "state.pt", folder / "link"
        late = Breaks(lambda: elsewhere.append(len(os.listdir(base)) - 1))
        subject.save_checkpoint(path, **one)
        with contextlib.suppress(FileNotFoundError):
            os.link(path, link)
        before = read(link)
        subject.save_checkpoint(path, **other)
        replaced = before is not None and _same(read(link), before)
        subject.save_checkpoint(path, **one)
        before = read(path)
        raises = attempt(lambda: subject.save_checkpoint(path, **other, late=late))
        old = before is not None and _same(read(path), before)
        return {"replaced": replaced, "raises": raises, "old": old, "outside": any(elsewhere)}


def tidy(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The files that are left after saving, and after saving that breaks off half way."""
    values = state(draw, "saved")
    with temporary_folder() as folder:
        full = Breaks(torchs=True)
        attempt(lambda: subject.save_checkpoint(folder / "new.pt", **values, late=full))
        found: dict[str, Value] = {"left_new": len(os.listdir(folder))}
        for name in ("one", "two", "two"):
            subject.save_checkpoint(folder / f"{name}.pt", **values)
        attempt(lambda: subject.save_checkpoint(folder / "two.pt", **values, late=Breaks()))
        left = [name for name in os.listdir(folder) if name not in ("one.pt", "two.pt")]
        return {**found, "left_over": len(left)}


def loaded(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What comes of a file that torch has written."""
    with temporary_folder() as folder:
        found: dict[str, Value] = {}
        for name, path in (("loaded", folder / "state.pt"), ("text", str(folder / "text.pt"))):
            torch.save(state(draw, name), path)
            found |= content(name, subject.load_checkpoint(path))
        return found


def safe(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether code in a file is run, half a file taken for a whole one, another device's read."""
    with temporary_folder() as folder:
        names = ("trap", "half", "other", "usual")
        trap, half, other, usual = (folder / f"{name}.pt" for name in names)
        torch.save({"model": Acts(folder / "was here")}, trap)
        attempt(lambda: subject.load_checkpoint(trap))
        torch.save(state(draw, "half"), half)
        half.write_bytes(half.read_bytes()[:-200])
        for path in (other, usual):
            torch.save(state(draw, "other"), path)
        as_if_from(other, "cuda:0")
        # Whether any file can be read is another check's matter.
        reads = not attempt(lambda: subject.load_checkpoint(usual))
        return {
            "executed": (folder / "was here").exists(),
            "half_refused": attempt(lambda: subject.load_checkpoint(half)),
            "other_refused": reads and attempt(lambda: subject.load_checkpoint(other)),
        }


def history(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The losses of three epochs with two batches to an update, and the weights reached."""
    with temporary_folder() as folder:
        training = Training(draw, counted=False)
        entries = training.run(subject, str(folder), epochs=3, accum_iter=2)
        return {
            "epochs": numbers(entries, "epoch"),
            "train_loss": losses(entries, "train_loss"),
            "valid_loss": losses(entries, "valid_loss"),
            "updates": len(training.optimizer.rates),
            "validated": training.modes("valid"),
            "trained": training.modes("train"),
            "weights": training.weights,
        }


def files(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The files after two epochs, in a folder that was not there, and what they hold."""
    with temporary_folder() as base:
        folder = base / "some" / "run"
        training = Training(draw)
        made = not attempt(lambda: training.run(subject, folder, epochs=2))
        if not made:
            folder.mkdir(parents=True, exist_ok=True)
        training = Training(draw)
        entries = training.run(subject, folder, epochs=2)
        new = set(base.rglob("*")) - {folder.parent}
        outside = [str(p.relative_to(base)) for p in new if not p.is_relative_to(folder)]
        last, best = (read(folder / name) or {} for name in _NAMES)
        return {
            "made": made,
            "there": [name for name in _NAMES if (folder / name).is_file()],
            "elsewhere": sorted(outside),
            "last_lacks": [key for key in KEYS if key not in last],
            "best_lacks": [key for key in ("model",) if key not in best],
            "last_model": _apart(weights_in(last), training.weights),
            "last_epoch": last.get("epoch"),
            "last_history": count(last.get("history")),
            "last_schedule": (last.get("scheduler") or {}).get("last_epoch"),
            "returned": count(entries),
        }


def stopped(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is there at the start of each epoch, when the fourth breaks off.

    And whether a file is written over, though save_checkpoint would put a new one in its place.
    """
    with temporary_folder() as folder:
        training = Training(draw, stop_at=4, folder=folder, factors=(1, 1, -2))
        with contextlib.suppress(Stop):
            training.run(subject, folder, epochs=5)
        last = read(folder / "last.pt") or {}
        names = set(os.listdir(folder)) - {held.link.name for held in training.held.values()}
        spoiled = sorted(name for name, held in training.held.items() if held.written_over())
        found: dict[str, Value] = {
            "epochs_saved": list(training.found),
            "epoch_left": last.get("epoch"),
            "instead": [] if last else sorted(names),
            "written_over": [] if spoiled and writes_over(subject) else spoiled,
        }
        if not last:
            Training(draw).run(subject, folder / "again", epochs=1)
            found["at_the_end"] = (folder / "again" / "last.pt").is_file()
        return found


def best(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Which epoch's model the best one is: where validation gets worse again, and where not.

    And where all epochs are as good as the first.
    """
    found: dict[str, Value] = {}
    courses: dict[str, Value] = {}
    for name, factors in _COURSES.items():
        with temporary_folder() as folder:
            training = Training(draw, factors=factors, level=name == "level")
            entries = training.run(subject, folder, epochs=len(factors))
            found[name] = training.epoch_of(weights_in(read(folder / "best.pt")))
            courses[f"{name}_losses"] = both(entries)
    # Where they are not the usual ones, the losses tell mistakes apart.
    return found if list(found.values()) == [2, 3, 1, 1] else {**found, **courses}


def resume(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How far a training that was stopped after two epochs and goes on is from one that was not.

    With dropout, shuffled batches, two of them to an update, momentum and a falling rate; the rest
    starts from other weights and other random numbers.
    """
    with temporary_folder() as folder:
        for name in ("a", "b"):
            (folder / name).mkdir()
        straight, first = (Training(draw, dropout=0.3, shuffled=True) for _ in range(2))
        with draw.torch_seeded("order"):
            asked = straight.run(subject, folder / "a", epochs=4, accum_iter=2)
        with draw.torch_seeded("order"):
            first.run(subject, folder / "b", epochs=2, accum_iter=2)
        second = Training(draw, dropout=0.3, shuffled=True, weights="other")
        with draw.torch_seeded("later"):
            seen = second.run(subject, folder / "b", epochs=4, accum_iter=2, resume=True)
        found: dict[str, Value] = {
            "entries": count(seen),
            "passes": second.passes("train"),
            "rates": [round(rate, 6) for rate in second.optimizer.rates],
            "losses": _apart(both(seen), both(asked)),
            "weights": second.weights - straight.weights,
        }
        third = Training(draw, weights="other")
        third.run(subject, folder / "b", epochs=4, resume=True)
        if second.passes("train") != 2:
            found["last_there"] = (folder / "b" / "last.pt").is_file()
        found["done"] = third.passes("train")
    return {**found, **_after_a_bad_epoch(subject, draw)}


def start(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Going on where there is nothing yet, not going on where there is, and the best so far."""
    with temporary_folder() as folder:
        for name in ("a", "b"):
            (folder / name).mkdir()
        new, again, first = (Training(draw, factors=(1, 1)) for _ in range(3))
        worse = Training(draw, factors=(-2,))
        attempt(lambda: new.run(subject, folder / "a", epochs=1, resume=True))
        again.run(subject, folder / "a", epochs=1)
        first.run(subject, folder / "b", epochs=2)
        before = weights_in(read(folder / "b" / "best.pt"))
        entries = worse.run(subject, folder / "b", epochs=4, resume=True)
        after = weights_in(read(folder / "b" / "best.pt"))
        found: dict[str, Value] = {
            "nothing_yet": new.passes("train"),
            "not_asked": again.passes("train"),
            "best_kept": same_weights(before, after),
        }
        if not found["best_kept"]:  # the rest tells mistakes apart
            found |= {"best_before": before is not None, "losses": both(entries)}
        return found


def _same(one: Any, two: dict[str, Any]) -> bool:
    return isinstance(one, dict) and str(one) == str(two)


def _after_a_bad_epoch(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The same where the second epoch is not the best: which file does each part come from?

    By the weights alone: an epoch done over, which last.pt lacked, is no matter of resuming.
    """
    plan: dict[str, Any] = {"dropout": 0.3, "shuffled": True, "factors": (1, -2, 0.5)}
    with temporary_folder() as folder:
        for name in ("a", "b"):
            (folder / name).mkdir()
        straight, first = Training(draw, **plan), Training(draw, **plan)
        with draw.torch_seeded("order"):
            straight.run(subject, folder / "a", epochs=3)
        with draw.torch_seeded("order"):
            first.run(subject, folder / "b", epochs=2)
        last, best = (weights_in(read(folder / "b" / name)) for name in _NAMES)
        later = Training(draw, **plan, weights="other")
        with draw.torch_seeded("later"):
            later.run(subject, folder / "b", epochs=3, resume=True)
        begun = later.begun[0] if later.begun else None
        from_best = best is not None and same_weights(begun, best) and not same_weights(last, best)
        return {"from_best": from_best, "worse": later.weights - straight.weights}


def _apart(one: Value, two: Value) -> Value:
    if not isinstance(one, Tensor) or not isinstance(two, Tensor):
        return Odd("nothing to compare")
    return one - two if one.shape == two.shape else Odd(f"{list(one.shape)} and {list(two.shape)}")
