"""A class of step 4: what each student hands in, what it earns, and a word of the reason."""

from __future__ import annotations

import json
import os
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.core.step import find_step
from tests.classroom.course import Book, Course, answered, checks, told

STEP = find_step(4)
RIGHT = STEP.solution.read_text(encoding="utf-8")
ALL = {"shape": 1, "parameters": 2, "output": 3, "positions": 1, "dropout": 2, "gradients": 1}
NONE = dict.fromkeys(ALL, 0)
MAKE_WRONG = ("hidden = hidden.relu()", "hidden = hidden")


def wrong(find: str, replace: str) -> str:
    """The model answer with something else in one place."""
    assert RIGHT.count(find) == 1
    return RIGHT.replace(find, replace)


def planted(slug: str) -> str:
    """The model answer with a known mistake in it."""
    return STEP.misconception(slug).applied_to(RIGHT)


NO_RELU = planted("no-activation")
WITHOUT_OUTPUT = {**ALL, "output": 0}

HandIn = Callable[[Path, Book], None]  # into a folder, beginning with the released notebook


@dataclass(frozen=True)
class Pupil:
    """A student; `says` stands in the feedback."""

    hand_in: HandIn
    points: dict[str, int]
    says: str = ""


def writes(text: str) -> HandIn:
    """The text in the cell to write."""
    return lambda place, book: put(place, answered(book, text))


def changed(change: Callable[[Book], None], text: str | None = NO_RELU) -> HandIn:
    """A notebook that was answered and then changed; None leaves the cell to write as it was."""

    def hand_in(place: Path, book: Book) -> None:
        own = answered(book, text) if text is not None else json.loads(json.dumps(book))
        change(own)
        put(place, own)

    return hand_in


def file(data: bytes) -> HandIn:
    """Whatever is called like the notebook."""
    return lambda place, book: put_bytes(place, data)


def put(place: Path, book: Book) -> None:
    put_bytes(place, json.dumps(book).encode())


def put_bytes(place: Path, data: bytes) -> None:
    (place / "step04.ipynb").write_bytes(data)


def code(text: str, **nbgrader: object) -> Book:
    """A cell of code of a student's own."""
    metadata = {"nbgrader": nbgrader} if nbgrader else {}
    cell = {"cell_type": "code", "metadata": metadata, "source": text, "outputs": []}
    return {**cell, "execution_count": None, "id": f"own-{abs(hash(text)) % 10**8}"}


def without(keep: Callable[[Book], bool]) -> Callable[[Book], None]:
    def change(book: Book) -> None:
        book["cells"] = [cell for cell in book["cells"] if keep(cell)]

    return change


def added(*cells: Book) -> Callable[[Book], None]:
    return lambda book: book["cells"].extend(cells)


def is_check(cell: Book) -> bool:
    return bool(told(cell).get("grade"))


def checks_first(book: Book) -> None:
    book["cells"].sort(key=lambda cell: not is_check(cell))


def twice(book: Book) -> None:
    """Every cell a second time, as copying leaves it: with its id and its metadata."""
    book["cells"] += json.loads(json.dumps(book["cells"]))


def three(book: Book) -> None:
    """The number of points in the place of each call."""
    for cell in checks(book):
        cell["source"] = str(told(cell)["points"])


def telling(**facts: object) -> Callable[[Book], None]:
    """Other metadata on every check."""

    def change(book: Book) -> None:
        for cell in checks(book):
            told(cell).update(facts)

    return change


def metadata_of(book: Book, value: object) -> None:
    """Something that is no metadata of nbgrader's, in its place on every check."""
    for cell in checks(book):
        cell["metadata"]["nbgrader"] = value


def markdown(book: Book) -> None:
    """A text of the student's own, with HTML in it."""
    text = "So:\n\n<script>alert(1)</script>\n<b>x</b> <i>noise</i> [y](javascript:alert(1))"
    book["cells"].insert(1, {"cell_type": "markdown", "id": "own", "metadata": {}, "source": text})


def only_checks(book: Book) -> None:
    """The cells to write are gone, and the answer stands at the end."""
    without(lambda cell: not told(cell).get("solution"))(book)
    book["cells"].append(code(RIGHT))


def own_marks(book: Book) -> None:
    """What the kit would record, written by the student."""
    line = {"step": "step04", "points": 10, "max_points": 10, "checks": [], "file": "step04.ipynb"}
    book["metadata"]["autograder"] = {"step04": line}


def forged_outputs(book: Book) -> None:
    """Outputs as of a check that was passed."""
    for cell in checks(book):
        result = {"text/plain": str(told(cell)["points"])}
        shown = {"output_type": "execute_result", "data": result, "metadata": {}}
        cell["outputs"] = [{**shown, "execution_count": 1}]


def in_a_check(book: Book) -> None:
    """The answer, typed into a copy of a check cell."""
    copy = json.loads(json.dumps(checks(book)[0]))
    copy["source"], copy["id"] = RIGHT, "copied"
    book["cells"].append(copy)


def large(megabytes: int) -> Callable[[Book], None]:
    """Outputs of that size."""

    def change(book: Book) -> None:
        printed = {"output_type": "stream", "name": "stdout", "text": "x" * 79 + "\n"}
        printed["text"] *= megabytes * 2**20 // 81
        book["cells"].insert(0, {**code("print('x')"), "outputs": [printed]})

    return change


def old_format(text: str) -> bytes:
    """A notebook in format 3, as IPython wrote it before Jupyter."""
    cell = {"cell_type": "code", "input": text, "language": "python", "metadata": {}, "outputs": []}
    sheet = {"cells": [{**cell, "collapsed": False}], "metadata": {}}
    return json.dumps(
        {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [sheet]}
    ).encode()


def broken_cells(place: Path, book: Book) -> None:
    """JSON, but no notebook."""
    put(place, {**book, "cells": [{"cell_type": "code"}, 3, None, *book["cells"]]})


def linked(place: Path, book: Book) -> None:
    """Links to the instructor's own, and one to nothing."""
    source = place.parents[2] / "source" / "step04" / "step04.ipynb"
    assert source.is_file()
    for name in ("step04.ipynb", "notes.txt"):
        (place / name).symlink_to(os.path.relpath(source, place))
    (place / "lost.txt").symlink_to("nowhere")
    (place / "all").symlink_to(os.path.relpath(source.parent, place))


def format_4_2(book: Book) -> None:
    """As it was before cells had ids; without the checks, which are then added."""
    without(lambda cell: not is_check(cell))(book)
    book["nbformat_minor"] = 2
    for cell in book["cells"]:
        del cell["id"]


def half(book: Book) -> None:
    """Half a character in a cell: JSON can name it, and no file can hold it."""
    book["cells"].append(code("'\ud800'") | {"id": "half"})


def no_files(place: Path, book: Book) -> None:
    """Links that lead nowhere, round and round, or to what never ends, beside an answer."""
    put(place, answered(book, RIGHT))
    for name, goal in (("dangling", "nowhere"), ("circle", "circle"), ("endless", "/dev/zero")):
        (place / name).symlink_to(goal)


def beside(text: str, name: str = "feed_forward.py") -> HandIn:
    """A file of Python beside a notebook that is as it was released."""

    def hand_in(place: Path, book: Book) -> None:
        put(place, book)
        (place / name).write_text(text, encoding="utf-8")

    return hand_in


FORGER = """
import sys, torch, builtins
torch.allclose = torch.equal = lambda *args, **kwargs: True
builtins.float = lambda *args: 10.0
for name, module in list(sys.modules.items()):
    if name.startswith("autograder.core"):
        for attribute in ("difference", "judged", "points"):
            if attribute in vars(module):
                setattr(module, attribute, lambda *args, **kwargs: None)
try:
    ip = get_ipython()
    ip.input_transformers_post.append(lambda lines: ["3"])
    ip.events.register("post_run_cell", print)
except Exception:
    pass


class PositionwiseFeedForward(torch.nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()

    def forward(self, x):
        return torch.zeros_like(x)
"""
MAGIC = f"%matplotlib inline\n!pip install nothing\nfiles = !ls\n{RIGHT}\ntorch?\n%time x = 1\n"
NOISY = "import sys, warnings\n" + wrong(
    "hidden = self.w_1(x)",
    'warnings.warn("careful"); print("<i>noise</i>", file=sys.stderr); hidden = self.w_1(x)',
)
ESCAPED = wrong("hidden = self.w_1(x)", 'raise ValueError("<script>alert(1)</script>")')
LEAVES = wrong("hidden = self.w_1(x)", "import os; os._exit(0)")

CLASS: dict[str, Pupil] = {
    "right": Pupil(writes(RIGHT), ALL),
    "no_relu": Pupil(writes(NO_RELU), WITHOUT_OUTPUT, "no activation between the two layers"),
    "no_dropout": Pupil(writes(planted("dropout-missing")), {**ALL, "dropout": 0}, "no dropout"),
    "no_biases": Pupil(writes(planted("no-biases")), {**ALL, "parameters": 0}, "bias"),
    "detached": Pupil(writes(planted("input-detached")), {**ALL, "gradients": 0}, "no gradient"),
    "untouched": Pupil(lambda place, book: put(place, book), NONE, "Not implemented yet"),
    "syntax": Pupil(
        writes(RIGHT.replace("def forward(", "def forward((")), NONE, "Python cannot read this yet"
    ),
    "deleted": Pupil(changed(without(lambda c: not is_check(c)), RIGHT), ALL),
    "edited": Pupil(changed(three), WITHOUT_OUTPUT, "no activation"),
    "duplicated": Pupil(changed(twice, RIGHT), ALL),
    "reordered": Pupil(changed(checks_first, RIGHT), ALL),
    "renamed": Pupil(
        writes(RIGHT.replace("PositionwiseFeedForward(", "FeedForward(")),
        NONE,
        "PositionwiseFeedForward",
    ),
    "elsewhere": Pupil(changed(added(code(RIGHT)), None), ALL),
    "in a check": Pupil(changed(in_a_check, None), ALL),
    "gone": Pupil(changed(only_checks, ""), ALL),
    "magic": Pupil(writes(MAGIC), ALL),
    "noisy": Pupil(writes(NOISY), ALL, "&lt;i&gt;noise&lt;/i&gt;"),
    "escaped": Pupil(writes(ESCAPED), NONE, "&lt;script&gt;alert(1)&lt;/script&gt;"),
    "leaves": Pupil(writes(LEAVES), NONE, "ended the whole program"),
    "forger": Pupil(writes(FORGER), {**NONE, "shape": 1}, "number of trainable parameters"),
    "hundred": Pupil(changed(telling(points=100)), WITHOUT_OUTPUT, "no activation"),
    "free": Pupil(changed(telling(solution=True, locked=False)), WITHOUT_OUTPUT),
    "tasks": Pupil(changed(telling(task=True, grade=False)), WITHOUT_OUTPUT),
    "old schema": Pupil(changed(telling(schema_version=1)), WITHOUT_OUTPUT),
    "new schema": Pupil(changed(telling(schema_version=99)), WITHOUT_OUTPUT),
    "no text": Pupil(changed(telling(grade_id=None, points="x")), WITHOUT_OUTPUT),
    "own check": Pupil(
        changed(
            added(
                code(
                    "3",
                    grade=True,
                    grade_id="output",
                    locked=True,
                    points=3,
                    schema_version=3,
                    solution=False,
                    task=False,
                )
            )
        ),
        WITHOUT_OUTPUT,
    ),
    "own marks": Pupil(changed(own_marks), WITHOUT_OUTPUT),
    "own outputs": Pupil(changed(forged_outputs), WITHOUT_OUTPUT),
    "format 3": Pupil(file(old_format(RIGHT)), ALL),
    "format 4.2": Pupil(changed(format_4_2, RIGHT), ALL),
    "BOM": Pupil(
        lambda place, book: put_bytes(place, BOM_UTF8 + json.dumps(answered(book, RIGHT)).encode()),
        ALL,
    ),
    "half": Pupil(changed(half, RIGHT), ALL),
    "metadata": Pupil(changed(lambda book: metadata_of(book, [1]), RIGHT), ALL),
    "markdown": Pupil(changed(markdown, RIGHT), ALL, "&lt;script&gt;alert(1)"),
    "no notebook": Pupil(file(b"I could not do it."), NONE, "no notebook that can be read"),
    "empty": Pupil(file(b""), NONE, "no notebook that can be read"),
    "broken": Pupil(broken_cells, NONE, "no notebook that can be read"),
    "linked": Pupil(linked, NONE, "link"),
    "no files": Pupil(no_files, ALL),
    "large": Pupil(changed(large(8), RIGHT), ALL),
    "too large": Pupil(changed(large(21), RIGHT), NONE, "20 MiB"),
    "beside": Pupil(beside(RIGHT), ALL, "feed_forward.py"),
    "beside, wrong": Pupil(beside(NO_RELU), WITHOUT_OUTPUT, "feed_forward.py"),
    "김 민수": Pupil(writes(RIGHT), ALL),
    "<b>x": Pupil(writes(NO_RELU), WITHOUT_OUTPUT, "no activation"),
}
LOOPS = Pupil(writes(wrong("hidden = self.w_1(x)", "while True: pass")), NONE, "never ends")


def hand_all_in(course: Course) -> None:
    """What the class hands in, and one who has only a file, and one with nothing."""
    book = course.released("step04")
    for name, pupil in {**CLASS, "loops": LOOPS}.items():
        pupil.hand_in(course.folder(name, "step04"), book)
    (course.folder("only a file", "step04") / "feed_forward.py").write_text(RIGHT)
