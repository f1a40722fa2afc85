"""The folder that probes write to: their own, and gone afterwards, however they ended."""

import os
import subprocess
import sys
from pathlib import Path

from autograder.toys.files import temporary_folder


def test_the_folder_is_the_current_one_and_is_gone_afterwards() -> None:
    before = Path.cwd()
    with temporary_folder() as folder:
        Path("note").write_text("here")
        assert (folder / "note").read_text() == "here"
        assert Path.cwd() == folder
    assert Path.cwd() == before
    assert not folder.exists()


def test_what_a_stopped_process_left_is_removed_and_what_others_use_is_kept() -> None:
    code = """import os
from autograder.toys.files import temporary_folder
with temporary_folder() as folder:
    print(folder, flush=True)
    os._exit(1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    with temporary_folder() as mine:
        assert not left.exists()
        with temporary_folder():
            assert mine.is_dir()
    assert not os.path.exists(mine)
