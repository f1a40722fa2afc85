"""Pictures: how the losses went, and where a translation looked. In English, for the fonts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from autograder.core.trouble import Trouble
from autograder.workshop.cache import whole_file

_COLUMNS = 4  # heads beside each other
_LARGEST = 12.0  # inches of one head's map, each way


def curves(history: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the losses of each epoch.

    Args:
        history: as `train_model` gives it.
        path: a picture's file; its suffix says the format.

    Raises:
        Trouble: matplotlib is not installed, or the file cannot be written.
    """
    figure = _figure(7, 4.5)
    axes = figure.subplots()
    epochs = [entry["epoch"] for entry in history]
    valid = [entry["valid_loss"] for entry in history]
    axes.plot(epochs, [entry["train_loss"] for entry in history], "o-", label="training")
    axes.plot(epochs, valid, "s-", label="validation")
    best = min(range(len(valid)), key=valid.__getitem__)
    axes.plot(epochs[best], valid[best], "k*", ms=14, label=f"the best: {valid[best]:.3f}")
    axes.set(xlabel="epoch", ylabel="loss per token", title="What is learnt")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    axes.legend()
    _save(figure, path)


def maps(weights: Tensor, source: Sequence[str], target: Sequence[str], path: Path) -> None:
    """Draw where the decoder's last layer looked in the source: all heads' mean, then each head.

    Args:
        weights: (layers, heads, target words, source words).
        source: the words that were looked at.
        target: the words that were said, one for each row.
        path: a picture's file; its suffix says the format.

    Raises:
        Trouble: matplotlib is not installed, or the file cannot be written.
    """
    layers, heads = weights.shape[:2]
    rows = -(-heads // _COLUMNS)
    wide, high = (min(max(2.2, 0.2 * len(words)), _LARGEST) for words in (source, target))
    figure = _figure(_COLUMNS * wide + 1.5, (2 + rows) * high + 2)
    grid = figure.add_gridspec(2 + rows, _COLUMNS)
    large = figure.add_subplot(grid[:2, :])
    image = _heat(large, weights[-1].mean(0), source, target)
    large.set(title=f"layer {layers}, mean of {heads} heads", xlabel="looked at", ylabel="to say")
    figure.colorbar(image, ax=large, fraction=0.025, pad=0.02, label="weight")
    for head in range(heads):
        row, column = divmod(head, _COLUMNS)
        small = figure.add_subplot(grid[2 + row, column])
        lowest = head + _COLUMNS >= heads
        _heat(small, weights[-1, head], source if lowest else (), target if column == 0 else (), 6)
        small.set_title(f"head {head + 1}", fontsize=8)
    _save(figure, path)


def _heat(
    axes: Any, weights: Tensor, source: Sequence[str], target: Sequence[str], size: int = 10
) -> Any:
    image = axes.imshow(
        weights.float().cpu().numpy(), cmap="viridis", vmin=0, vmax=1, aspect="auto"
    )
    # A dollar sign would begin a formula.
    axes.set_xticks(range(len(source)), [_plain(w) for w in source], rotation=90, fontsize=size)
    axes.set_yticks(range(len(target)), [_plain(w) for w in target], fontsize=size)
    return image


def _plain(word: str) -> str:
    shown = "".join(c if c.isprintable() else "?" for c in word)
    return (shown if len(shown) <= 20 else f"{shown[:19]}…").replace("$", r"\$")


def _figure(wide: float, high: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Trouble("needs_extra", package="matplotlib", extra="plots") from None
    return Figure(figsize=(wide, high), layout="constrained")


def _save(figure: Any, path: Path) -> None:
    with whole_file(path) as temporary:
        try:
            figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=120)
        except ValueError:
            raise Trouble("no_picture_format", path=path, suffix=path.suffix) from None
