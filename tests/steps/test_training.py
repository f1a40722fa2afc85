"""Step 17: checkpoints and trainings written in many ways, right and wrong."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import harness, training_builds
from tests.steps.harness import failed, named

STEP = find_step(17)

TOP = """
import copy
import io
import os
import tempfile
from pathlib import Path

import torch

from transformer_ref import run_epoch

"""
SAVE = """
def save_checkpoint(path, **state):
    part = f"{path}.part"
    try:
        torch.save(state, part)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise

"""
LOAD = """
def load_checkpoint(path):
    return torch.load(path, map_location="cpu", weights_only=True)

"""
TRAIN = """
def train_model(
    model, train_batches, valid_batches, loss_compute, optimizer, scheduler, epochs, folder,
    accum_iter=1, resume=False,
):
    os.makedirs(folder, exist_ok=True)
    last, best = os.path.join(folder, "last.pt"), os.path.join(folder, "best.pt")
    history, start, record = [], 0, float("inf")
    if resume and os.path.isfile(last):
        saved = load_checkpoint(last)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        history, start, record = saved["history"], saved["epoch"], saved["record"]
        torch.random.set_rng_state(saved["rng"])
    for epoch in range(start, epochs):
        learned, _ = run_epoch(
            train_batches, model, loss_compute, optimizer, scheduler, "train", accum_iter
        )
        checked, _ = run_epoch(valid_batches, model, loss_compute, None, None, mode="eval")
        history.append(
            {"epoch": epoch + 1, "train_loss": float(learned), "valid_loss": float(checked)}
        )
        better = checked < record
        record = min(record, float(checked))
        parts = dict(
            model=model.state_dict(),
            optimizer=optimizer.state_dict(),
            scheduler=scheduler.state_dict(),
            epoch=epoch + 1,
            history=history,
            rng=torch.random.get_rng_state(),
            record=record,
        )
        save_checkpoint(last, **parts)
        if better:
            save_checkpoint(best, **parts)
    return history

"""
SAVES = {
    "17 bytes first, a temporary file of its own": """
def save_checkpoint(path, **state):
    path = Path(path)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(buffer.getvalue())
        Path(name).replace(path)
    except Exception:
        os.unlink(name)
        raise
""",
    "17 a folder beside it": """
def save_checkpoint(path, **state):
    path = os.fspath(path)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".") as folder:
        name = os.path.join(folder, "new")
        torch.save(dict(state), name)
        os.rename(name, path)
""",
}
LOADS = {
    "17 an open file": """
def load_checkpoint(path):
    with open(path, "rb") as file:
        state = torch.load(file, map_location=torch.device("cpu"), weights_only=True)
    return dict(state)
""",
    "17 the default, which is safe": """
def load_checkpoint(path):
    return torch.load(path, "cpu")
""",
}
TRAINS = {
    "17 the best kept in the history": """
def train_model(
    model, train_batches, valid_batches, loss_compute, optimizer, scheduler, epochs, folder,
    accum_iter=1, resume=False,
):
    folder = Path(folder)
    folder.mkdir(exist_ok=True, parents=True)
    history = []
    try:
        if resume:
            history = restore(folder / "last.pt", model, optimizer, scheduler)
    except FileNotFoundError:
        pass
    while len(history) < epochs:
        losses = {}
        model.train()
        losses["train_loss"] = float(
            run_epoch(
                train_batches, model, loss_compute, optimizer, scheduler, accum_iter=accum_iter
            )[0]
        )
        model.eval()
        with torch.no_grad():
            losses["valid_loss"] = float(
                run_epoch(valid_batches, model, loss_compute, optimizer, scheduler, "eval")[0]
            )
        history = [*history, {"epoch": len(history) + 1, **losses}]
        if all(losses["valid_loss"] < before["valid_loss"] for before in history[:-1]):
            save_checkpoint(folder / "best.pt", model=copy.deepcopy(model.state_dict()))
        save_checkpoint(
            str(folder / "last.pt"),
            model=model.state_dict(),
            optimizer=optimizer.state_dict(),
            scheduler=scheduler.state_dict(),
            epoch=len(history),
            history=history,
            rng=torch.get_rng_state(),
        )
    return history


def restore(path, model, optimizer, scheduler):
    state = load_checkpoint(path)
    for name, part in (("model", model), ("optimizer", optimizer), ("scheduler", scheduler)):
        part.load_state_dict(state[name])
    torch.set_rng_state(state["rng"])
    return list(state["history"])
""",
}
TRAINS["17 batches counted where they can be"] = TRAIN.replace(
    "    for epoch in range(start, epochs):\n",
    "    count = len(train_batches) if hasattr(train_batches, '__len__') else '?'\n"
    "    print(f'{count} batches')\n"
    "    for epoch in range(start, epochs):\n",
)
WHOLE = {"17 plain": TOP + SAVE + LOAD + TRAIN}
for name, part in (SAVES | training_builds.SAVES).items():
    WHOLE[name] = TOP + part + LOAD + TRAIN
for name, part in (LOADS | training_builds.LOADS).items():
    WHOLE[name] = TOP + SAVE + part + TRAIN
for name, part in (TRAINS | training_builds.TRAINS).items():
    WHOLE[name] = TOP + SAVE + LOAD + part

HONEST = WHOLE

# Mistakes planted in the code above, by hand: what is replaced.
PLANTED: dict[str, list[tuple[str, str]]] = {
    "checkpoint-in-place": [
        ("torch.save(state, part)", "torch.save(state, path)"),
        ("        os.replace(part, path)\n", ""),
    ],
    "checkpoint-debris": [("            os.remove(part)\n", "            pass\n")],
    "checkpoint-error-swallowed": [
        ("            os.remove(part)\n        raise\n", "            os.remove(part)\n")
    ],
    "checkpoint-stays-temporary": [("        os.replace(part, path)\n", "")],
    "load-model-only": [("weights_only=True)", 'weights_only=True)["model"]')],
    "epochs-accumulation-forgotten": [('"train", accum_iter', '"train"')],
    "epochs-validated-on-train": [("run_epoch(valid_batches", "run_epoch(train_batches")],
    "epochs-from-zero": [('{"epoch": epoch + 1', '{"epoch": epoch')],
    "epochs-losses-swapped": [
        (
            '"train_loss": float(learned), "valid_loss": float(checked)',
            '"train_loss": float(checked), "valid_loss": float(learned)',
        )
    ],
    "files-elsewhere": [('os.path.join(folder, "best.pt")', '"best.pt"')],
    "files-folder-not-made": [("    os.makedirs(folder, exist_ok=True)\n", "")],
    "files-saved-at-the-end": [
        (
            "        save_checkpoint(last",
            "        if epoch + 1 == epochs:\n            save_checkpoint(last",
        )
    ],
    "best-by-train": [
        ("checked < record", "learned < record"),
        ("float(checked))\n        parts", "float(learned))\n        parts"),
    ],
    "best-is-last": [("        if better:", "        if True:")],
    "best-takes-ties": [("checked < record", "checked <= record")],
    "files-best-written-directly": [("save_checkpoint(best, **parts)", "torch.save(parts, best)")],
    "epochs-batches-counted": [
        ("    for epoch in", "    print(end='.' * (len(train_batches) > 9))\n    for epoch in")
    ],
    "best-is-first": [("        if better:", "        if epoch == 0:")],
    "best-beats-the-epoch-before": [("min(record, float(checked))", "float(checked)")],
    "best-forgotten": [(', saved["record"]', ', float("inf")')],
    "resume-never": [("if resume and", "if False and")],
    "resume-always": [("if resume and", "if")],
    "resume-needs-file": [(" and os.path.isfile(last)", "")],
    "resume-model-forgotten": [('        model.load_state_dict(saved["model"])\n', "")],
    "resume-optimizer-forgotten": [('        optimizer.load_state_dict(saved["optimizer"])\n', "")],
    "resume-scheduler-forgotten": [('        scheduler.load_state_dict(saved["scheduler"])\n', "")],
    "resume-rng-forgotten": [('        torch.random.set_rng_state(saved["rng"])\n', "")],
    "resume-mixed": [
        (
            "model.load_state_dict(saved",
            "if os.path.isfile(best):\n            model.load_state_dict(load_checkpoint(best)",
        )
    ],
    "resume-optimizer-from-best": [
        (
            'optimizer.load_state_dict(saved["o',
            'optimizer.load_state_dict(load_checkpoint(best)["o',
        ),
        (
            'scheduler.load_state_dict(saved["s',
            'scheduler.load_state_dict(load_checkpoint(best)["s',
        ),
    ],
    "resume-rng-from-best": [("set_rng_state(saved[", "set_rng_state(load_checkpoint(best)[")],
    "resume-accumulation-forgotten": [
        ('"train", accum_iter', '"train", 1 if resume else accum_iter')
    ],
    "resume-epochs-more": [("range(start, epochs)", "range(start, start + epochs)")],
    "resume-history-lost": [
        ('saved["history"], saved["epoch"], saved["record"]', '[], saved["epoch"], record')
    ],
}

# Wrong in ways the catalogue does not hold.
UNKNOWN = {
    "every second epoch": [("range(start, epochs)", "range(start, epochs, 2)")],
    "losses rounded": [("float(checked)}", "round(float(checked))}")],
    "the best two epochs late": [("        if better:", "        if better and epoch > 1:")],
    "seeds of its own": [("    for epoch in", "    torch.manual_seed(0)\n    for epoch in")],
    "the file grows": [("torch.save(state, part)", "torch.save({**state, 'epoch': 7}, part)")],
    "the rate is cut": [
        ("        better =", "        optimizer.param_groups[0]['lr'] *= 0.5\n        better =")
    ],
    "a name in capitals": [('"last.pt"', '"LAST.PT"')],
    "trained twice": [
        (
            "        checked, _",
            "        run_epoch(train_batches, model, loss_compute,"
            " optimizer, scheduler)\n        checked, _",
        )
    ],
    "history of strings": [('"epoch": epoch + 1, "train', '"epoch": str(epoch + 1), "train')],
    "half of the history": [("    return history", "    return history[1:]")],
    "nothing returned": [("    return history\n", "")],
}
BASE = WHOLE["17 plain"]


def graded(text: str, seed: int = 3) -> Verdict:
    return harness.graded(STEP, text, seed)


def edited(edits: list[tuple[str, str]]) -> str:
    return harness.edited(BASE, *edits)


@pytest.mark.parametrize("name", WHOLE)
def test_right_code_gets_full_marks_and_no_remark(name: str) -> None:
    verdict = graded(WHOLE[name])
    assert failed(verdict, advice=True) == set()
    assert verdict.points == 10


@pytest.mark.slow
@pytest.mark.parametrize("slug", PLANTED)
def test_a_planted_mistake_is_named_and_nothing_else_is(slug: str) -> None:
    verdict = graded(edited(PLANTED[slug]))
    assert named(verdict) == {slug}
    assert verdict.points < 10


@pytest.mark.slow
@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    verdict = graded(edited(UNKNOWN[name]))
    assert verdict.points < 10
    assert named(verdict) == set()


@pytest.mark.parametrize(
    "slug", ["checkpoint-in-place", "resume-rng-forgotten", "resume-mixed", "best-is-last"]
)
def test_some_planted_mistakes_are_named(slug: str) -> None:
    assert named(graded(edited(PLANTED[slug]))) == {slug}


def test_a_mistake_in_saving_costs_saving_only() -> None:
    text = edited(PLANTED["checkpoint-in-place"])
    assert failed(graded(text)) == {"whole", "tidy"}


def test_a_file_that_would_run_code_is_a_remark() -> None:
    verdict = graded(edited([("weights_only=True", "weights_only=False")]))
    assert verdict.points == 10
    assert failed(verdict, advice=True) == {"safe"}


def test_a_file_that_stays_on_its_device_is_a_remark() -> None:
    verdict = graded(edited([('map_location="cpu", ', "")]))
    assert verdict.points == 10
    assert failed(verdict, advice=True) == {"safe"}
    assert named(verdict) == {"load-stays-on-device"}


def test_where_nothing_can_be_loaded_nothing_is_said_about_devices() -> None:
    verdict = graded(edited([("return torch.load(path,", "raise OSError(path,")]))
    assert failed(verdict, advice=True) == {"loaded", "resume", "start"}
    assert named(verdict) == set()


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.getcwd()
    graded(BASE)
    assert (os.getcwd(), list(tmp_path.iterdir())) == (before, [])


# Other mistakes, in the model answer's own text: what is replaced, and what it costs.
SLIPS: dict[str, tuple[str, str, set[str]]] = {
    "only errors of the system are tidied up": (
        "    finally:\n        temporary.unlink(missing_ok=True)",
        "    except OSError:\n        temporary.unlink(missing_ok=True)\n        raise",
        {"tidy"},
    ),
    "half-written in the current folder": (
        'temporary = path.with_name(path.name + ".tmp")',
        'temporary = Path(path.name + ".tmp")',
        {"whole"},
    ),
    "last.pt in good epochs only": (
        "        save_checkpoint(\n            last,",
        "        valid_loss < lowest and save_checkpoint(\n            last,",
        {"stopped"},
    ),
    "no patience": (
        "        save_checkpoint(\n            last,",
        "        if valid_loss > lowest:\n            break\n"
        "        save_checkpoint(\n            last,",
        {"stopped"},
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_costs_its_check_only(name: str) -> None:
    find, replace, checks = SLIPS[name]
    text = STEP.solution.read_text(encoding="utf-8")
    verdict = graded(harness.edited(text, (find, replace)))
    assert failed(verdict) == checks
