"""Drawing: rows of panels, each a heat map or a curve, as a matplotlib figure. It knows no step."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from torch import Tensor

from autograder.core.trouble import Trouble

# The first of these that is installed writes Korean.
_KOREAN = (
    *("Noto Sans CJK KR", "Noto Sans KR", "NanumGothic", "Nanum Gothic", "Malgun Gothic"),
    *("Apple SD Gothic Neo", "AppleGothic", "UnDotum", "Baekmuk Dotum"),
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans KR", "Arial Unicode MS"),
)
_WIDTH = 9.6  # inches; a notebook's cell is about as wide
_DENSITY = 150  # points an inch, so that letters are sharp where pixels are small
_MANY = 12  # cells beside each other up to which their numbers fit in
_UNKNOWN = "0.5"  # grey, for what is no finite number


@dataclass(frozen=True)
class Panel:
    """One picture: of two dimensions a heat map, of one a curve, None for a note alone.

    `low` and `high` are the ends of the scale; a difference has them at equal distances from 0.
    """

    title: str
    values: Tensor | None
    note: str
    low: float = 0.0
    high: float = 1.0
    difference: bool = False


@dataclass(frozen=True)
class Row:
    """Panels beside each other, what they show, and what their axes are."""

    caption: str
    panels: Sequence[Panel]
    down: str
    across: str


def figure(rows: Sequence[Row]) -> Any:
    """Draw the rows, one under the other, as a matplotlib `Figure`.

    Raises:
        Trouble: matplotlib is not installed.
    """
    with _style():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        heights = [_height(row) for row in rows]
        whole = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
        FigureCanvasAgg(whole)
        parts = whole.subfigures(len(rows), height_ratios=heights, squeeze=False)[:, 0]
        for part, row in zip(parts, rows, strict=True):
            part.suptitle(row.caption, fontsize=11, fontweight="bold", parse_math=False)
            axes = part.subplots(1, len(row.panels))
            for one, panel in zip(axes, row.panels, strict=True):
                _draw(one, panel)
            drawn = [one for one, panel in zip(axes, row.panels, strict=True) if _has(panel)]
            for one in drawn:
                one.set_xlabel(row.across)
            for one in drawn[:1]:
                one.set_ylabel(row.down)
    return whole


def png(whole: Any) -> bytes:
    """A figure as a PNG file's bytes."""
    file = io.BytesIO()
    with _style():
        whole.savefig(file, format="png", dpi=_DENSITY)
    return file.getvalue()


def width(whole: Any) -> int:
    """How many pixels wide a page should show it."""
    return round(whole.get_figwidth() * 96)


def writes_korean() -> bool:
    """Whether a font with Korean letters is installed.

    Raises:
        Trouble: matplotlib is not installed.
    """
    with _style():
        return _korean_font() is not None


def _has(panel: Panel) -> bool:
    return panel.values is not None


def _draw(axes: Any, panel: Panel) -> None:
    words = f"{panel.title}\n{panel.note}" if panel.note else panel.title
    axes.set_title(words if _has(panel) else panel.title, fontsize=10, parse_math=False)
    if panel.values is None:
        axes.set_axis_off()
        place = {"ha": "center", "va": "center", "transform": axes.transAxes}
        axes.text(0.5, 0.5, panel.note, fontsize=10, parse_math=False, **place)
    elif panel.values.dim() == 1:
        _curve(axes, panel, panel.values)
    else:
        _heat_map(axes, panel, panel.values)


def _curve(axes: Any, panel: Panel, values: Tensor) -> None:
    axes.plot(values.numpy(), color="tab:red" if panel.difference else "tab:blue")
    margin = 0.05 * (panel.high - panel.low)
    axes.set_ylim(panel.low - margin, panel.high + margin)
    axes.ticklabel_format(axis="y", scilimits=(-3, 4))
    axes.xaxis.get_major_locator().set_params(nbins=4, integer=True)
    axes.grid(alpha=0.3)


def _heat_map(axes: Any, panel: Panel, values: Tensor) -> None:
    from matplotlib import colormaps

    colours = colormaps["coolwarm" if panel.difference else "viridis"].with_extremes(bad=_UNKNOWN)
    scale = {"vmin": panel.low, "vmax": panel.high}
    few = max(values.shape) <= _MANY
    # Large tables fill the panel, small ones have square cells.
    image = axes.imshow(values.numpy(), cmap=colours, aspect="equal" if few else "auto", **scale)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_major_locator().set_params(integer=True)
    if few:
        axes.set_xticks(range(values.shape[1]))
        axes.set_yticks(range(values.shape[0]))
        _numbers(axes, image, values)
    else:
        beyond = (values < panel.low) | (values > panel.high)
        place = {"location": "bottom", "shrink": 0.9, "aspect": 25}
        ends = "both" if bool(beyond.any()) else "neither"
        axes.figure.colorbar(image, ax=axes, extend=ends, **place)


def _numbers(axes: Any, image: Any, values: Tensor) -> None:
    """Write into each cell what it holds, dark on a light colour and light on a dark one."""
    for down, row in enumerate(values.tolist()):
        for across, number in enumerate(row):
            red, green, blue, _ = image.to_rgba(number)
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            colour = "white" if dark else "black"
            place = {"ha": "center", "va": "center", "fontsize": 9, "color": colour}
            axes.text(across, down, _short(number), **place)


def _short(number: float) -> str:
    """Two decimals, less where they are 0: '0.27', '1', '-0.5'."""
    if abs(number) >= 1000:
        return f"{number:.0e}"
    text = f"{number:z.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _height(row: Row) -> float:
    """Inches: the words, and as much as the tallest panel needs."""
    wide = _WIDTH / len(row.panels) - 0.5
    shapes = [panel.values.shape for panel in row.panels if panel.values is not None]
    squares = [s for s in shapes if len(s) == 2 and max(s) <= _MANY]
    needed = [down / across * wide for down, across in squares]
    if len(squares) < len(shapes):
        needed.append(2.2)
    return min(max([1.0, *needed]), 4.0) + 1.5


@contextmanager
def _style() -> Iterator[None]:
    """Matplotlib as it comes, whatever the learner's notebook has made of it, with our fonts."""
    try:
        from matplotlib import style
    except ImportError:
        raise Trouble("needs_extra", package="matplotlib", extra="plots") from None
    korean = _korean_font()
    families = ["DejaVu Sans", *([korean] if korean else [])]
    with style.context(["default", {"font.family": families, "font.size": 9}]):
        yield


@cache
def _korean_font() -> str | None:
    from matplotlib.font_manager import findSystemFonts, fontManager

    def installed() -> str | None:
        names = {font.name for font in fontManager.ttflist}
        return next((name for name in _KOREAN if name in names), None)

    if found := installed():
        return found
    # Matplotlib keeps a list of fonts, which may be older than the font.
    known = {font.fname for font in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:
            try:
                fontManager.addfont(path)
            except (OSError, RuntimeError):
                continue  # a kind that it cannot read
    return installed()
