"""Markdown of a student's own, made harmless: it is rendered for whoever reads the notebook."""

from __future__ import annotations

import re

_NOTHING = "\u200b"  # of no width, and between two characters that mean something together
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=#?\w+;)")  # it could spell what follows
_IMAGE = re.compile(r"!(?=\[)(?!\[[^\[\]]*\]\(attachment:)")  # whoever looks would fetch it
_PROGRAM = re.compile(r"(javascript|vbscript|data)(\s*\\?):", re.IGNORECASE)


def harmless(markdown: str) -> str:
    """The same text, in which HTML is shown as it was typed and no link runs a program.

    Images are the notebook's own, or links.
    """
    text = _IMAGE.sub(f"!{_NOTHING}", markdown)
    text = _TAG.sub(f"<{_NOTHING}", _ENTITY.sub(f"&{_NOTHING}", text))
    return _PROGRAM.sub(rf"\1\2{_NOTHING}:", text)
