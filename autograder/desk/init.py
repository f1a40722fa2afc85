"""A learner's working folder, made from the kit: fresh stubs and notebooks, and pytest set up."""

from __future__ import annotations

from pathlib import Path

from autograder.authoring.notebooks import BY_LANGUAGE, name_of, notebook_of
from autograder.core.step import Step, all_steps
from autograder.core.trouble import Trouble
from autograder.desk.workspace import Workspace, companions, stub

# Two files of one name in two folders are two modules only with importlib.
_PYTEST = """\
# How pytest runs the exercises.
[pytest]
testpaths = exercises
addopts = --import-mode=importlib"""

_IGNORED = """\
# What tools leave behind, what `autograder reset` keeps, and what was trained.
__pycache__/
.pytest_cache/
.ipynb_checkpoints/
.venv/
*.bak
/translator/
/attention.png
"""


def init(folder: Path, lang: str = "en") -> tuple[Step, ...]:
    """Make a working folder.

    Args:
        folder: where.
        lang: "en" or "ko", of the stubs' docstrings and of what pytest says; lessons and notebooks
            are in both.

    Returns:
        The steps that it holds.

    Raises:
        Trouble: there is something in it already, or it cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise Trouble("not_empty", path=folder)
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "pytest.ini", _PYTEST + (" --lang ko\n" if lang == "ko" else "\n"))
        _write(folder / ".gitignore", _IGNORED)
        for step in all_steps():
            file = Workspace(folder).file(step)
            _write(file, stub(step, lang))
            for each in BY_LANGUAGE:
                _write(file.with_name(name_of(step, each)), notebook_of(step, each))
            for companion in companions(step):
                _write(file.with_name(companion.name), companion.read_text(encoding="utf-8"))
    except OSError as e:
        raise Trouble("unwritable", path=folder, reason=e.strerror or str(e)) from None
    return all_steps()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
