"""Checkpoints and trainings written in more ways, all right: parts that are put together."""

from __future__ import annotations

SAVES = {
    "17 a door that closes well": """
import contextlib
import uuid


@contextlib.contextmanager
def replacing(path):
    part = path.parent / f".{uuid.uuid4().hex}"
    file = part.open("xb")
    try:
        with file:
            yield file
        part.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()


def save_checkpoint(path, **state):
    with replacing(Path(path)) as file:
        torch.save(state, file)
""",
    "17 a named temporary file": """
def save_checkpoint(path, **state):
    path = os.path.abspath(path)
    file = tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False)
    try:
        with file:
            torch.save({name: value for name, value in state.items()}, file)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except BaseException:
        Path(file.name).unlink()
        raise
""",
}
LOADS = {
    "17 bytes, and storages as they come": """
def load_checkpoint(path):
    data = Path(path).read_bytes()
    keep = lambda storage, location: storage
    return torch.load(io.BytesIO(data), map_location=keep, weights_only=True)
""",
    "17 mapped into memory": """
def load_checkpoint(path):
    state = torch.load(str(path), map_location="cpu", weights_only=True, mmap=True)
    return copy.deepcopy(state)
""",
}
TRAINS = {
    "17 an object with parts": """
class Run:
    def __init__(self, folder, **parts):
        self.folder, self.parts, self.history = Path(folder), parts, []
        os.makedirs(self.folder, exist_ok=True)

    @property
    def done(self):
        return len(self.history)

    @property
    def record(self):
        return min([entry["valid_loss"] for entry in self.history], default=float("inf"))

    def load(self):
        saved = load_checkpoint(self.folder / "last.pt")
        for name, part in self.parts.items():
            part.load_state_dict(saved[name])
        self.history = list(saved["history"])
        torch.set_rng_state(saved["rng"].cpu())

    def save(self, name):
        states = {part: self.parts[part].state_dict() for part in self.parts}
        rest = dict(epoch=self.done, history=self.history, rng=torch.get_rng_state())
        save_checkpoint(self.folder / name, **states, **rest)

    def note(self, train_loss, valid_loss):
        better = valid_loss < self.record
        entry = dict(epoch=self.done + 1, train_loss=train_loss, valid_loss=valid_loss)
        self.history.append(entry)
        for name in ("best.pt", "last.pt") if better else ("last.pt",):
            self.save(name)


def train_model(
    model, train_batches, valid_batches, loss_compute, optimizer, scheduler, epochs, folder,
    accum_iter=1, resume=False,
):
    run = Run(folder, model=model, optimizer=optimizer, scheduler=scheduler)
    if resume and "last.pt" in os.listdir(folder):
        run.load()
    while run.done < epochs:
        losses = []
        for batches, mode, tools in (
            (train_batches, "train", (optimizer, scheduler)),
            (valid_batches, "eval", (None, None)),
        ):
            model.train(mode == "train")
            loss, _ = run_epoch(
                batches, model, loss_compute, *tools, mode=mode, accum_iter=accum_iter
            )
            losses.append(torch.as_tensor(loss).item())
        run.note(*losses)
    return run.history
""",
    "17 epochs from a generator, the best a copy of the last": """
import shutil


def epochs_of(model, train_batches, valid_batches, loss_compute, optimizer, scheduler, accum):
    while True:
        model.train()
        learned = run_epoch(
            train_batches, model, loss_compute, optimizer, scheduler, accum_iter=accum
        )
        model.eval()
        with torch.no_grad():
            checked = run_epoch(valid_batches, model, loss_compute, None, None, "eval")
        yield float(learned[0]), float(checked[0])


def train_model(
    model, train_batches, valid_batches, loss_compute, optimizer, scheduler, epochs, folder,
    accum_iter=1, resume=False,
):
    last, best, new = (Path(folder, name) for name in ("last.pt", "best.pt", "best.new"))
    last.parent.mkdir(parents=True, exist_ok=True)
    state = load_checkpoint(last) if resume and last.is_file() else None
    history = [] if state is None else state["history"]
    if state is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"])
    numbers = range(len(history) + 1, epochs + 1)
    each = epochs_of(
        model, train_batches, valid_batches, loss_compute, optimizer, scheduler, accum_iter
    )
    for epoch, (train_loss, valid_loss) in zip(numbers, each):
        history += [{"epoch": epoch, "train_loss": train_loss, "valid_loss": valid_loss}]
        save_checkpoint(
            last, model=model.state_dict(), optimizer=optimizer.state_dict(), epoch=epoch,
            scheduler=scheduler.state_dict(), history=history, rng=torch.get_rng_state(),
        )
        losses = [entry["valid_loss"] for entry in history]
        if losses.index(min(losses)) == len(losses) - 1:
            shutil.copyfile(last, new)
            os.replace(new, best)
    return history
""",
    "17 the record asked of best.pt": """
def train_model(
    model, train_batches, valid_batches, loss_compute, optimizer, scheduler, epochs, folder,
    accum_iter=1, resume=False,
):
    folder = os.fspath(folder)
    Path(folder).mkdir(parents=True, exist_ok=True)
    last, best = folder + "/last.pt", folder + "/best.pt"
    history, record = [], None
    if resume and os.path.exists(last):
        saved = load_checkpoint(last)
        [
            part.load_state_dict(saved.pop(name))
            for name, part in (
                ("scheduler", scheduler), ("optimizer", optimizer), ("model", model)
            )
        ]
        history = saved["history"]
        record = load_checkpoint(best)["valid_loss"]
        torch.set_rng_state(saved["rng"])

    def go_on(epoch):
        nonlocal record
        if epoch > epochs:
            return history
        model.train()
        train_loss, state = run_epoch(
            train_batches, model, loss_compute, optimizer, scheduler, "train", accum_iter
        )
        model.eval()
        valid_loss, _ = run_epoch(valid_batches, model, loss_compute, optimizer, scheduler, "eval")
        train_loss, valid_loss = float(train_loss), float(valid_loss)
        if record is None or valid_loss < record:
            record = valid_loss
            save_checkpoint(best, model=model.state_dict(), epoch=epoch, valid_loss=valid_loss)
        history.append({"epoch": epoch, "train_loss": train_loss, "valid_loss": valid_loss})
        save_checkpoint(
            path=last,
            model=model.state_dict(),
            optimizer=optimizer.state_dict(),
            scheduler=scheduler.state_dict(),
            epoch=epoch,
            history=history,
            rng=torch.get_rng_state(),
        )
        return go_on(epoch + 1)

    return go_on(len(history) + 1)
""",
}
