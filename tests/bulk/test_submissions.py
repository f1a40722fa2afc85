"""What lies in a folder of submissions: each is a submission or a reason, and nothing stops it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.authoring.notebooks import notebook_of
from autograder.bulk.submissions import LARGEST, Submission, names_in, read
from autograder.core.step import Step, find_step
from autograder.desk.init import init
from autograder.desk.work import work_in
from autograder.desk.workspace import Workspace

IGNORED = shutil.ignore_patterns("__pycache__")


def one(folder: Path, step: Step, name: str) -> Submission:
    assert name in names_in(folder)
    return read(folder, name, step)


def reason(folder: Path, step: Step, name: str) -> str:
    found = one(folder, step, name)
    assert found.source.text == ""
    assert found.source.problem
    return found.source.problem.text


def test_a_file_and_a_folder_are_a_submission_each(tmp_path: Path, step: Step) -> None:
    (tmp_path / "alice.py").write_text("a = 1")
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "feed_forward.py").write_text("b = 1")
    (tmp_path / "carol.ipynb").write_text("{}")
    assert names_in(tmp_path) == ["alice.py", "bob", "carol.ipynb"]
    found = [one(tmp_path, step, name) for name in names_in(tmp_path)]
    assert [s.source.text for s in found] == ["a = 1", "b = 1", "{}"]
    assert [s.source.filename for s in found] == ["alice.py", "feed_forward.py", "carol.ipynb"]


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["feed_forward.py", "notes.py"], "feed_forward.py"),
        (["helper.py", "transformer.py"], "transformer.py"),
        (["step04.ipynb", "scratch.ipynb"], "step04.ipynb"),
        (["step04.ko.ipynb", "scratch.ipynb"], "step04.ko.ipynb"),
        (["step04.ko.ipynb", "step04.ipynb"], "step04.ipynb"),
        (["my work.py", "report.pdf", ".hidden.py"], "my work.py"),
        (["feed_forward.py", "transformer.py"], "feed_forward.py"),
    ],
)
def test_in_a_folder_the_file_is_found_by_its_name(
    tmp_path: Path, step: Step, files: list[str], chosen: str
) -> None:
    (tmp_path / "alice").mkdir()
    for file in files:
        (tmp_path / "alice" / file).write_text(f"# {file}")
    assert one(tmp_path, step, "alice").source.text == f"# {chosen}"


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("written", ["feed_forward.py", "step04.ipynb", "step04.ko.ipynb", ""])
def test_what_is_as_it_was_given_is_not_chosen_where_there_is_work(
    tmp_path: Path, step: Step, written: str, lang: str
) -> None:
    """The whole folder of a step, as `autograder init` makes it."""
    init(tmp_path / "work", lang)
    alice = tmp_path / "class" / "alice"
    shutil.copytree(tmp_path / "work" / "exercises" / "step04", alice)
    if written:
        (alice / written).write_text("# mine")
    source = one(tmp_path / "class", step, "alice").source
    assert source.filename == (written or "feed_forward.py")
    assert (source.text == "# mine") == bool(written)


def test_what_was_given_is_known_where_the_kits_own_copy_was_worked_in(tmp_path: Path) -> None:
    """An instructor has tried the exercise in the checkout that grades the class."""
    root = Path(__file__).parents[2]
    for name in ("autograder", "exercises", "solutions", "transformer_ref"):
        shutil.copytree(root / name, tmp_path / "kit" / name, ignore=IGNORED)
    exercise = tmp_path / "kit" / "exercises" / "step04"
    for name in ("feed_forward.py", "step04.ipynb"):
        (exercise / name).write_text("# tried")
    init(tmp_path / "work")
    alice = tmp_path / "class" / "alice"
    shutil.copytree(tmp_path / "work" / "exercises" / "step04", alice)
    (alice / "step04.ko.ipynb").write_text("# mine")
    code = (
        "import sys; from pathlib import Path; from autograder.core.step import find_step\n"
        "from autograder.bulk.submissions import read\n"
        "print(read(Path(sys.argv[1]), 'alice', find_step(4)).source.filename)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "class")],
        cwd=tmp_path / "kit",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "kit")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "step04.ko.ipynb\n", done.stderr


TOUCHED = {
    "as it was": lambda stub: stub,
    "a comment": lambda stub: stub + "# later\n",
    "blank lines": lambda stub: stub + "\n\n",
    "no line end": lambda stub: stub.rstrip("\n"),
    "other line ends": lambda stub: stub.replace("\n", "\r\n"),
    "a byte order mark": lambda stub: "\ufeff" + stub,
    "an import": lambda stub: stub.replace("import torch\n", "import math\nimport torch\n", 1),
    "empty": lambda stub: "",
}


@pytest.mark.parametrize("touched", TOUCHED)
def test_a_class_and_a_learner_at_home_take_the_same_file(
    tmp_path: Path, step: Step, touched: str
) -> None:
    """A finished notebook counts, whatever has become of the stub beside it without an answer."""
    place = Workspace(tmp_path / "work")
    init(place.root)
    file = place.file(step)
    book = file.with_name("step04.ipynb")
    book.write_text(notebook_of(step, "en", solved=True), encoding="utf-8")
    text = TOUCHED[touched](file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8", newline="")
    assert work_in(file.parent, step) == book
    alice = tmp_path / "class" / "alice"
    shutil.copytree(file.parent, alice)
    assert one(tmp_path / "class", step, "alice").source.filename == book.name
    file.write_text(step.solution.read_text(encoding="utf-8"), encoding="utf-8")
    assert work_in(file.parent, step) == file
    shutil.copy(file, alice)
    assert one(tmp_path / "class", step, "alice").source.filename == file.name


def test_a_folder_in_the_folder_is_looked_into_once(tmp_path: Path, step: Step) -> None:
    (tmp_path / "alice" / "step04").mkdir(parents=True)
    (tmp_path / "alice" / "step04" / "feed_forward.py").write_text("a = 1")
    (tmp_path / "bob" / "unpacked").mkdir(parents=True)
    (tmp_path / "bob" / "unpacked" / "work.py").write_text("b = 1")
    (tmp_path / "bob" / "__MACOSX").mkdir()
    (tmp_path / "eve" / "exercises" / "step04").mkdir(parents=True)
    (tmp_path / "eve" / "exercises" / "step04" / "feed_forward.py").write_text("e = 1")
    (tmp_path / "eve" / "exercises" / "step05").mkdir()
    (tmp_path / "deep" / "a" / "b").mkdir(parents=True)
    (tmp_path / "deep" / "a" / "b" / "work.py").write_text("c = 1")
    assert one(tmp_path, step, "alice").source.text == "a = 1"
    assert one(tmp_path, step, "bob").source.text == "b = 1"
    assert one(tmp_path, step, "eve").source.text == "e = 1"
    assert reason(tmp_path, step, "deep") == "submission.empty"


def test_what_cannot_be_graded_says_why(tmp_path: Path, step: Step) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("marks = 10")
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "link.py").symlink_to(secret)
    (folder / "to_folder").symlink_to(tmp_path)
    (folder / "inside").mkdir()
    (folder / "inside" / "feed_forward.py").symlink_to(secret)
    os.mkfifo(folder / "fifo.py")
    (folder / "empty").mkdir()
    (folder / "two").mkdir()
    for name in ("a.py", "b.py"):
        (folder / "two" / name).write_text("")
    (folder / "report.pdf").write_bytes(b"%PDF")
    (folder / "large.py").write_bytes(b"#" * (LARGEST[".py"] + 1))
    with open(folder / "huge.ipynb", "wb") as f:
        f.truncate(200 * 2**20)
    (folder / "utf16.py").write_bytes("a = 1".encode("utf-16"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket.py"))
    found = {name: reason(folder, step, name) for name in names_in(folder)}
    assert found == {
        "link.py": "submission.link",
        "to_folder": "submission.link",
        "inside": "submission.link",
        "fifo.py": "submission.no_file",
        "socket.py": "submission.no_file",
        "empty": "submission.empty",
        "two": "submission.several",
        "report.pdf": "submission.kind",
        "large.py": "submission.large",
        "huge.ipynb": "submission.large",
        "utf16.py": "load.null",
    }


def test_as_large_as_may_be_is_read(tmp_path: Path, step: Step) -> None:
    (tmp_path / "alice.py").write_bytes(b"#" * LARGEST[".py"])
    assert one(tmp_path, step, "alice.py").source.problem is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_says_why(tmp_path: Path, step: Step) -> None:
    (tmp_path / "alice.py").write_text("")
    (tmp_path / "alice.py").chmod(0)
    (tmp_path / "bob").mkdir(mode=0)
    assert reason(tmp_path, step, "alice.py") == "submission.unreadable"
    assert reason(tmp_path, step, "bob") == "submission.unreadable"


def test_a_file_that_is_swapped_for_a_link_is_not_followed(tmp_path: Path, step: Step) -> None:
    secret, name = tmp_path / "secret", "alice.py"
    secret.write_text("marks = 10")
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / name).write_text("a = 1")
    (folder / "link").symlink_to(secret)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(folder / name, folder / "kept")
            os.rename(folder / "link", folder / name)
            os.rename(folder / name, folder / "link")
            os.rename(folder / "kept", folder / name)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        end = time.monotonic() + 0.5
        seen = set()
        while time.monotonic() < end:
            seen.add(read(folder, name, step).source.text)
    finally:
        stop.set()
        swapping.join()
    assert seen <= {"a = 1", ""}


ODD = ["-rf.py", "a\nb.py", "\x1b[31m.py", "=1+1.py", " .py", "a'b\".py", "한글.py", "%s.py"]


def test_odd_names_are_names(tmp_path: Path, step: Step) -> None:
    for name in ODD:
        (tmp_path / name).write_text("a = 1")
    with open(os.fsencode(tmp_path) + b"/\xff\xfe.py", "w") as f:
        f.write("a = 1")
    names = names_in(tmp_path)
    assert len(names) == len(ODD) + 1
    assert {read(tmp_path, name, step).source.text for name in names} == {"a = 1"}


def test_results_that_lie_in_the_folder_are_no_submission(tmp_path: Path) -> None:
    for name in ("alice.py", "results.jsonl", "results.csv"):
        (tmp_path / name).write_text("")
    leave = (tmp_path / "results.jsonl", tmp_path / "results.csv")
    assert names_in(tmp_path, leave) == ["alice.py"]
    assert len(names_in(tmp_path, [Path("/elsewhere/results.csv")])) == 3


def test_a_submission_that_is_gone_meanwhile_says_why(tmp_path: Path, step: Step) -> None:
    gone = read(tmp_path, "alice.py", step)
    assert gone.source.problem
    assert gone.source.problem.text == "submission.unreadable"


@settings(max_examples=30, deadline=None)
@given(one=st.binary(max_size=60), two=st.binary(max_size=60))
def test_digests_differ_where_contents_do(
    tmp_path_factory: pytest.TempPathFactory, one: bytes, two: bytes
) -> None:
    folder = tmp_path_factory.mktemp("class")
    digests = []
    for data in (one, two):
        (folder / "alice.py").write_bytes(data)
        digests.append(read(folder, "alice.py", find_step(4)).digest)
    assert (digests[0] == digests[1]) == (one == two)


def test_the_only_other_file_counts_where_the_known_one_was_left_alone(tmp_path: Path) -> None:
    step = find_step(4)
    released = step.stub.with_name("step04.ipynb")
    folder = tmp_path / "ada"
    folder.mkdir()
    (folder / released.name).write_bytes(released.read_bytes())
    (folder / "step04 (1).py").write_text("x = 1\n")
    assert read(tmp_path, "ada", step).source.filename == "step04 (1).py"
    (folder / "another.py").write_text("x = 2\n")
    assert read(tmp_path, "ada", step).source.filename == released.name
