"""Reading notebooks that were handed in, whatever they are: what is broken gets a stand-in."""

from __future__ import annotations

import json
import os
from glob import escape
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode, v4
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.bulk.submissions import Refused, content
from autograder.core.cells import NoNotebook, code_cells
from autograder.front.classroom.handed_in import unusual
from autograder.front.classroom.harmless import harmless

_SCHEMA = 3  # of nbgrader's metadata
_WITH_IDS = 5  # since format 4.5 cells have them


def notebook_in(path: Path) -> NotebookNode:
    """The notebook of that name in nbformat 4; a stand-in for one that is missing or broken.

    A stand-in holds the code that can be read, and no link is followed: whatever a student puts
    there, nothing of the instructor's gets into what the student is given back.
    """
    try:
        text = content(path).decode("utf-8-sig")
    except (OSError, Refused, UnicodeDecodeError):
        return _stand_in("")
    try:
        book = nbformat.reads(_written(json.loads(text)), as_version=4)
        if book.nbformat_minor < _WITH_IDS:  # the instructor's cells have some
            book = v4.upgrade(book)
        nbformat.validate(book)
    except Exception:  # whatever the format's own code raises on what is none
        return _stand_in(text)
    return book


def _written(book: object) -> str:
    """The JSON, with a "?" for each character that JSON can name and no file can hold."""
    return json.dumps(book, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")


def _stand_in(text: str) -> NotebookNode:
    try:
        found = json.loads(_written([cell.text for cell in code_cells(text)]))
    except NoNotebook:
        found = []
    cells = [v4.new_code_cell(source, id=f"read-{i}") for i, source in enumerate(found)]
    return v4.new_notebook(cells=cells)


class Exporter(NotebookExporter):
    """nbgrader's reader and writer of notebooks, that nothing handed in stops."""

    def __init__(self, *args: Any, **kw: Any) -> None:
        """`parent` is nbgrader's converter; it will copy what lies beside the notebooks."""
        super().__init__(*args, **kw)
        converter: Any = self.parent
        left = (path for place in converter.assignments for path in unusual(Path(place)))
        course = converter.coursedir
        course.ignore = list(dict.fromkeys([*course.ignore, *(escape(str(p)) for p in left)]))

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[Any, dict[str, Any]]:
        """See `nbconvert.exporters.Exporter`; the file may be broken, a link, or missing."""
        resources = resources or {}
        folder, name = os.path.split(filename)
        resources["metadata"] = {"name": os.path.splitext(name)[0], "path": folder}
        return self.from_notebook_node(notebook_in(Path(filename)), resources=resources, **kw)


class Restore(NbGraderPreprocessor):
    """Gives the instructor's cells back what makes them so: metadata as released, none missing.

    What a student has written stays: where it stands in a cell that nbgrader would overwrite with
    the instructor's, it becomes a cell of the student's own, and the instructor's is added.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """See `nbconvert.preprocessors.Preprocessor`."""
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            try:
                released = gradebook.find_notebook(where["notebook"], where["assignment"])
            except MissingEntry:
                return nb, resources
            known = {cell.name: _released(cell, released) for cell in released.source_cells}
        here: dict[str, NotebookNode] = {}
        for cell in nb.cells:
            told = cell.metadata.pop("nbgrader", None)
            name = str(told.get("grade_id")) if isinstance(told, dict) else ""
            asked = known.get(name)
            if cell.cell_type == "markdown" and (asked is None or cell.source != asked.source):
                cell.source = harmless(cell.source)
            if asked is None or name in here or _is_other(cell, asked):
                continue
            cell.metadata["nbgrader"] = asked.metadata["nbgrader"]
            here[name] = cell
        nb.cells += [cell for name, cell in known.items() if name not in here and _locked(cell)]
        return nb, resources


def _released(cell: Any, notebook: Any) -> NotebookNode:
    """A cell as the gradebook knows it."""
    grades = {c.name: c.max_score for c in notebook.grade_cells}
    told: dict[str, Any] = {
        "grade": cell.name in grades,
        "grade_id": cell.name,
        "locked": cell.locked,
        "schema_version": _SCHEMA,
        "solution": cell.name in {c.name for c in notebook.solution_cells},
        "task": cell.name in {c.name for c in notebook.task_cells},
        "checksum": cell.checksum,
        "cell_type": cell.cell_type,
    }
    if told["grade"]:
        told["points"] = grades[cell.name]
    make = v4.new_code_cell if cell.cell_type == "code" else v4.new_markdown_cell
    return make(cell.source, metadata={"nbgrader": told}, id=f"released-{cell.name}"[:64])


def _locked(cell: NotebookNode) -> bool:
    told = cell.metadata["nbgrader"]
    return bool(told["locked"] or told["grade"] or told["task"])


def _is_other(cell: NotebookNode, asked: NotebookNode) -> bool:
    """Whether a student has written into a cell that is the instructor's alone."""
    told = asked.metadata["nbgrader"]
    own = cell.cell_type == asked.cell_type and cell.source == asked.source
    return bool(told["locked"]) and not told["solution"] and not own
