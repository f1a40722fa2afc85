"""The comment beside a solution cell: which file was graded, or that nothing was written."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_solution

from autograder.front.classroom.record import recorded
from autograder.front.wording import escape, say


class Comment(NbGraderPreprocessor):
    """After nbgrader's `SaveAutoGrades`, which says "No response." of a cell that was left alone.

    That is no news where a student has answered in another cell, or in a file of Python.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """See `nbconvert.preprocessors.Preprocessor`."""
        where = resources["nbgrader"]
        text = _comment(list(recorded(nb).values()), f"{where['notebook']}.ipynb")
        with Gradebook(where["db_url"]) as gradebook:
            for cell in nb.cells:
                if text is not None and is_solution(cell):
                    comment = gradebook.find_comment(
                        cell.metadata["nbgrader"]["grade_id"],
                        where["notebook"],
                        where["assignment"],
                        where["student"],
                    )
                    comment.auto_comment = text or None
            gradebook.db.commit()
        return nb, resources


def _comment(lines: list[dict[str, Any]], notebook: str) -> str | None:
    """What to say: None leaves nbgrader's word, '' takes it back."""
    if len(lines) != 1:
        return None
    (line,) = lines
    if line["file"] != notebook:
        return say("classroom.graded_file", line["lang"], file=escape(line["file"]))
    return "" if line["points"] else None
