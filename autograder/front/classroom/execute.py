"""In the place of nbgrader's kernel: check cells get their outputs from a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool

from autograder.core.speech import choose
from autograder.core.trouble import Trouble
from autograder.core.verdict import Verdict
from autograder.front.classroom import outputs
from autograder.front.classroom.calls import CheckCall, call_in
from autograder.front.classroom.graders import graders
from autograder.front.classroom.record import forget, record
from autograder.front.troubles import complaint
from autograder.front.wording import say


class KitExecute(NbGraderPreprocessor):
    """Grades what was handed in behind walls, and writes what `check` would have said.

    No cell of a submission is executed here, and none in a kernel. What counts is the file that
    was handed in (see `handed_in.read_from`), not the notebook that nbgrader made of it.
    """

    without_isolation = Bool(
        False, help="Grade where nothing can keep strangers' code away from your files."
    ).tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """See `nbconvert.preprocessors.Preprocessor`.

        Raises:
            NbGraderException: nothing can be graded here; the words say why.
        """
        try:
            return self._graded(nb, resources["nbgrader"]), resources
        except Trouble as e:
            raise NbGraderException(complaint(e, choose())) from None

    def _graded(self, nb: NotebookNode, where: dict[str, Any]) -> NotebookNode:
        """The notebook with the outputs of its checks."""
        forget(nb)
        converter = self._converter()
        course = converter.coursedir
        place = _folder(course, course.submitted_directory, where)
        grading = getattr(converter, "grading", None) or graders(self.without_isolation)
        verdicts: dict[str, Verdict] = {}
        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            call = call_in(cell.source) if _is_instructors(cell) else None
            if call:
                step = call.step
                if step.name not in verdicts:
                    graded = grading.graded(step, place, where["student"])
                    record(nb, step, graded, grading.tier, call.lang)
                    verdicts[step.name] = graded.verdict
                cell.outputs = _outputs(verdicts[step.name], call, cell)
            elif is_grade(cell) and not is_solution(cell):
                name = cell.metadata["nbgrader"]["grade_id"]
                self.log.warning("No check of the kit in cell %s: no points", name)
                cell.outputs = outputs.refusal(say("classroom.foreign_cell", choose(), cell=name))
        return nb

    def _converter(self) -> Autograde:
        owner = self.parent
        while not isinstance(owner, Autograde):
            owner = owner.parent
        return owner


def _is_instructors(cell: NotebookNode) -> bool:
    """Whether the text of the cell is as it was released."""
    told = cell.metadata.get("nbgrader", {})
    return bool(told.get("locked")) and not told.get("solution")


def _folder(course: CourseDirectory, directory: str, where: dict[str, Any]) -> Path:
    """The folder of one student's assignment in that directory of the course."""
    return Path(course.format_path(directory, where["student"], where["assignment"]))


def _outputs(verdict: Verdict, call: CheckCall, cell: NotebookNode) -> list[Any]:
    if call.check is None:
        return outputs.of_all(verdict, call.step, call.lang)
    most = cell.metadata["nbgrader"].get("points")
    return outputs.of_one(verdict, call.step, call.check, call.lang, most)
