"""Whether an answer is in a file that began as a stub or a notebook; nothing is executed."""

from __future__ import annotations

import re
from functools import cache

from autograder.authoring.docstrings import answer_in
from autograder.authoring.notebooks import names_to_write, notebook_of
from autograder.authoring.stubs import is_filled, stub_of
from autograder.core.cells import NOTEBOOK, NoNotebook, code_cells
from autograder.core.speech import LANGUAGES
from autograder.core.step import Step, find_step

_TO_WRITE = re.compile(r"(\s*# YOUR CODE HERE)?\s*raise NotImplementedError\([^)]*\)")
_MAGIC = re.compile(r"^\s*[%!].*", re.MULTILINE)
_LONGEST = 200_000  # characters: what is longer is no stub, and takes long to read


def has_answer(name: str, data: bytes, step: Step) -> bool:
    """Whether a body of the step's pieces is written in it.

    Args:
        name: the file's.
        data: what is in it; anything.
        step: whose pieces.
    """
    text = _text(data)
    try:
        parts = [cell.text for cell in code_cells(text)] if name.endswith(NOTEBOOK) else [text]
    except NoNotebook:
        return False
    names = "|".join(_asked(step.name))
    defines = re.compile(rf"^((async +)?def|class) +({names})\b|^({names})\s*=", re.MULTILINE)
    parts = [_MAGIC.sub("", part) for part in parts if defines.search(part)]
    if sum(map(len, parts)) > _LONGEST:
        return True
    return any(_is_filled(part, step) for part in parts)


def _is_filled(text: str, step: Step) -> bool:
    try:
        return is_filled(text, _given(step.name)[0])
    except (ValueError, RecursionError, MemoryError):  # no Python, so no stub any more
        return True


def is_given(name: str, data: bytes, step: Step) -> bool:
    """Whether it is as the kit gives it out: a stub, or no other code than a notebook has then.

    Neither line ends nor white space at the end count, nor how a course has cells say what is to be
    written.
    """
    text = _text(data)
    try:
        found = _cells(text) if name.endswith(NOTEBOOK) else [text.strip()]
    except NoNotebook:
        return False
    return set(found) <= _given(step.name)[1]


@cache
def _asked(name: str) -> list[str]:
    return names_to_write(answer_in(find_step(name).solution, "en"))


@cache
def _given(name: str) -> tuple[str, frozenset[str]]:
    """A step's stub, and all that is given: stubs, and cells.

    They are made anew: in a checkout somebody may have written into those that lie there.
    """
    step = find_step(name)
    stubs = [stub_of(answer_in(step.solution, lang), step.number) for lang in LANGUAGES]
    books = [notebook_of(step, lang) for lang in LANGUAGES]
    cells = [text for book in books for text in _cells(book)]
    return stubs[0], frozenset([*(stub.strip() for stub in stubs), *cells])


def _cells(notebook: str) -> list[str]:
    return [_TO_WRITE.sub(" ...", cell.text).strip() for cell in code_cells(notebook)]


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
