"""What the tests of the demos share: running a demo, on the model answer or on a learner's code."""

import runpy
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Result:
    """How a demo ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def figures(self) -> str:
        """What it printed, of a demo that ran to its end."""
        assert (self.returncode, self.stderr) == (0, "")
        return self.stdout


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a demo as a person would, in English unless told otherwise, with torch loaded already."""

    def run(script: Path | str, *options: str, env: dict[str, str] | None = None) -> Result:
        if isinstance(script, str):
            script = ROOT / "exercises" / script / "demo.py"
        monkeypatch.setattr(sys, "argv", [str(script), *options])
        for name in ("LC_ALL", "LC_MESSAGES", "LANG", "MULTI30K_DIR"):
            monkeypatch.delenv(name, raising=False)
        for name, setting in ({"AUTOGRADER_LANG": "en"} | (env or {})).items():
            monkeypatch.setenv(name, setting)
        capsys.readouterr()
        status = 0
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            status = end.code
        return Result(status, *capsys.readouterr())

    return run


@pytest.fixture
def learner(tmp_path: Path):
    """Put a learner's code beside a copy of the demo, and return the demo."""

    def put(source: str, step: str = "step04", name: str = "feed_forward") -> Path:
        folder = tmp_path / "exercises" / step
        folder.mkdir(parents=True)
        shutil.copy(ROOT / "exercises" / step / "demo.py", folder)
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
        return folder / "demo.py"

    return put


@pytest.fixture
def changed(learner):
    """Put the model answer, with some of its text replaced, beside a copy of the demo."""

    def put(step: str, *edits: tuple[str, str]) -> Path:
        answer = next((ROOT / "solutions" / step).glob("*.py"))
        source = answer.read_text(encoding="utf-8")
        for find, replace in edits:
            assert source.count(find) == 1
            source = source.replace(find, replace)
        return learner(source, step, answer.stem)

    return put
