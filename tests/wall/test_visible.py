"""What may be seen is the interpreter and its libraries, wherever the kit is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import venv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.wall import visible
from autograder.wall.tiers import trial

NAMES = st.sampled_from("abc")
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@settings(deadline=None)  # a busy disk
@given(files=st.sets(PATHS, min_size=1, max_size=12), hidden=st.sets(PATHS, max_size=3))
def test_everything_but_the_hidden_stays(files: set[str], hidden: set[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        for file in files:
            (root / file / "leaf").mkdir(parents=True)
        behind = [root / h for h in hidden]
        kept = visible.without([root], behind)
        for leaf in root.rglob("leaf"):
            seen = any(k == leaf or k in leaf.parents for k in kept)
            assert seen != any(h == leaf or h in leaf.parents for h in behind)
        for place in behind:
            assert not any(place == k or k in place.parents for k in kept)


def test_links_do_not_lead_to_the_hidden(tmp_path: Path) -> None:
    (tmp_path / "kit").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("kit")
    assert visible.without([tmp_path], [tmp_path / "kit"]) == (tmp_path / "other",)


def test_the_libraries_are_seen_and_the_kit_is_not() -> None:
    seen = visible.readable()
    for module in (json, pytest):
        home = Path(str(module.__file__)).resolve()
        assert any(f in home.parents for f in seen)
    for folder in visible.kit():
        assert not any(f == folder.resolve() or f in folder.resolve().parents for f in seen)
    assert not any(p == Path.home() or p in Path.home().parents for p in seen)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment in which the kit lies as a wheel would put it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    packages = next((folder / "lib").glob("python*/site-packages"))
    for source in {f.resolve() for f in visible.kit()}:
        shutil.copytree(source, packages / source.name, ignore=shutil.ignore_patterns("*.pyc"))
    answers = packages / "autograder" / "_kit" / "solutions"
    answers.mkdir(parents=True, exist_ok=True)
    (answers / "answer.py").write_text("x = 1")
    (packages / "library").mkdir()
    (packages / "library" / "__init__.py").touch()
    return folder / "bin" / "python"


def ask(python: Path, code: str, number: int = 0) -> str:
    """What the code prints, started as the worker of that tier (0: as it is)."""
    start = "from autograder.wall import tiers, visible\n"
    argv = [str(python), "-I", "-B", "-c", start + code]
    if number:
        needed = "[visible.kit()[0] / name for name in ('wall', '__init__.py')]"
        command = f"tiers.numbered({number}).command({argv!r}, {needed})"
        argv[-1] = f"{start}import subprocess\nsubprocess.run({command}, check=True)"
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("number", (1, 2))
def test_walls_hold_where_the_kit_lies_among_the_libraries(installed: Path, number: int) -> None:
    if (here := trial(number).reason) is not None:
        pytest.skip(f"no tier {number} here: {here.key}")
    assert ask(installed, f"print(tiers.trial({number}).reason)").strip() == "None"


def test_the_other_libraries_beside_it_are_seen(installed: Path) -> None:
    seen = ask(installed, "print(*visible.readable(), sep='\\n')").splitlines()
    packages = next(installed.parents[1].glob("lib/python*/site-packages")).resolve()
    beside = {Path(p).name for p in seen if Path(p).parent == packages}
    assert "library" in beside
    assert not beside & {"autograder", "transformer_ref"}
    assert not {str(packages), str(packages.parent)} & {*seen}


def test_a_worker_of_tier_2_reads_of_the_kit_what_it_needs_only(installed: Path) -> None:
    if (here := trial(2).reason) is not None:
        pytest.skip(f"no tier 2 here: {here.key}")
    kit = "visible.kit()[0]"
    code = f"print(sorted(p.name for p in {kit}.iterdir()), sum(1 for p in {kit}.rglob('*.toml')))"
    assert "_kit" in ask(installed, code, number=1)
    assert ask(installed, code, number=2).strip() == "['__init__.py', 'wall'] 1"
