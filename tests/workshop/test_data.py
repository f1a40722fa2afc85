"""`autograder data multi30k` against a local server: good, broken, wrong, missing, none."""

import hashlib
import http.server
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from autograder.core.trouble import Trouble
from autograder.workshop import multi30k as data
from autograder.workshop.fetch import fetch

FILES = {"one.gz": b"one" * 50_000, "two.gz": b"two"}
SUMS = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; names in `short` are broken off in the middle."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = dict(FILES)
        self.short: set[str] = set()
        self.asked: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        if name not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if name in self.server.short else content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()
    thread = threading.Thread(target=partial(served.serve_forever, poll_interval=0.02))
    thread.start()
    yield served
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.fixture
def get(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Fetches the two files from the server into a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MULTI30K_URL", server.address)
    return lambda announce=lambda name: lambda received, total: None: data.get(announce, SUMS)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file in it, hidden ones too."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_come_whole_and_only_once(get, server):
    seen: dict[str, list] = {}

    def announce(name: str):
        seen[name] = []
        return lambda *progress: seen[name].append(progress)

    folder = get(announce)
    assert contents(folder) == FILES
    for name, content in FILES.items():
        received = [r for r, _ in seen[name]]
        assert received == sorted(received) and received[-1] == len(content)
        assert {total for _, total in seen[name]} == {len(content)}
    get()
    assert server.asked == list(FILES)


def test_what_broke_off_is_not_kept_and_begins_anew(get, server):
    server.short = {"two.gz"}
    with pytest.raises(Trouble) as told:
        get()
    assert told.value.key == "download_short"
    assert (told.value.facts["received"], told.value.facts["total"]) == (1, 3)
    assert contents(data.kept_folder()) == {"one.gz": FILES["one.gz"]}
    server.short, server.asked = set(), []
    assert contents(get()) == FILES
    assert server.asked == ["two.gz"]


def test_another_file_than_it_should_be_is_not_kept(get, server):
    server.files["one.gz"] = b"other"
    with pytest.raises(Trouble) as told:
        get()
    assert told.value.key == "download_differs"
    assert contents(data.kept_folder()) == {}


def test_a_file_that_was_spoilt_on_disk_is_fetched_again(get, server):
    path = get() / "two.gz"
    path.write_bytes(b"spoilt")
    assert contents(get()) == FILES


def test_an_interruption_leaves_nothing_half_done(get):
    def announce(name: str):
        def stop(received: int, total: int | None) -> None:
            raise KeyboardInterrupt

        return stop

    with pytest.raises(KeyboardInterrupt):
        get(announce)
    assert contents(data.kept_folder()) == {}
    assert contents(get()) == FILES


def test_a_folder_that_cannot_be_written_is_told(get, tmp_path):
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    with pytest.raises(Trouble) as told:
        get()
    assert told.value.key == "unwritable"


@pytest.mark.parametrize("address", ["nonsense", "http://[", "ftp5://a/b", "http://a b/"])
def test_what_is_no_address_is_told(tmp_path, address):
    with pytest.raises(Trouble) as told:
        fetch(address, tmp_path / "file", "", lambda received, total: None)
    assert told.value.key == "download_failed"
    assert contents(tmp_path) == {}


# ---------------------------------------------------------------- the command


def complaint(result) -> str:
    assert (result.status, result.err.count("\n")) == (2, 1)
    return result.err


def test_complaints_say_what_to_do(run, server, monkeypatch):
    monkeypatch.setenv("MULTI30K_URL", server.address)
    missing = complaint(run("data", "multi30k"))
    assert "404" in missing and "--data-dir" in missing and "MULTI30K_DIR" in missing
    server.files = dict.fromkeys(data.SUMS, b"something else")
    assert "sha256" in complaint(run("data", "multi30k"))
    server.short = set(data.SUMS)
    assert "7 of 14 bytes" in complaint(run("data", "multi30k"))
    monkeypatch.setenv("MULTI30K_URL", "http://127.0.0.1:9")
    nobody = complaint(run("data", "multi30k"))
    assert "--data-dir" in nobody and "MULTI30K_DIR" in nobody


def test_the_true_files_are_known(run, server, multi30k, monkeypatch):
    server.files = {name: (multi30k / name).read_bytes() for name in data.SUMS}
    monkeypatch.setenv("MULTI30K_URL", server.address)
    result = run("data", "multi30k")
    assert (result.status, result.err) == (0, "")
    assert "non-commercial research and education" in result.out
    assert all(f"fetching {name}" in result.out for name in data.SUMS)
    again = run("data", "multi30k")
    assert again.status == 0 and "fetching" not in again.out


def test_a_named_folder_is_verified(run, multi30k, tmp_path, monkeypatch):
    assert run("data", "multi30k", "--data-dir", multi30k).status == 0
    monkeypatch.setenv("MULTI30K_DIR", str(multi30k))
    assert run("data", "multi30k").status == 0
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in data.SUMS:
        shutil.copyfile(multi30k / name, copy / name)
    with (copy / "val.en.gz").open("ab") as file:
        file.write(b"more")
    assert "val.en.gz" in complaint(run("data", "multi30k", "--data-dir", copy))
    (copy / "val.en.gz").unlink()
    assert "val.en.gz is missing" in complaint(run("data", "multi30k", "--data-dir", copy))


def test_a_folder_that_is_none_is_told(run, tmp_path):
    assert "is not a folder" in complaint(run("data", "multi30k", "--data-dir", tmp_path / "none"))
