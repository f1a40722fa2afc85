"""Elements of HTML as strings; whatever is not HTML already is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = ("meta",)


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *content: str, **attributes: str | bool | None) -> Html:
    """An element: `element("a", "3 < 4", href="#x")`.

    Args:
        name: of the tag.
        content: elements as they are, other text escaped.
        attributes: values are escaped; True stands alone, False and None are left out. A name
            that is a word of Python has a `_` behind it; other `_` stand for `-`.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{together(content)}</{name}>")


def together(parts: Iterable[str]) -> Html:
    """One after the other; text is escaped."""
    return Html("".join(p if isinstance(p, Html) else escape(p, quote=False) for p in parts))


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
