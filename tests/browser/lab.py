"""JupyterLab as a process of its own, and a notebook in it as somebody at the keyboard uses it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.settings import settings_in

_SECONDS = 60  # for JupyterLab, a kernel or nbgrader on a busy machine
expect.set_options(timeout=_SECONDS * 1000)

_SETTINGS = {
    # No question about news, and no look-up of newer versions.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # A cell that is out of sight is part of the page, too.
    "notebook-extension/tracker": {"windowingMode": "none"},
    # What is typed is what a cell holds.
    "codemirror-extension/plugin": {"defaultConfig": {"autoClosingBrackets": False}},
}


@contextmanager
def served(folder: Path, home: Path) -> Iterator[str]:
    """JupyterLab in that folder: its address, until the block ends."""
    for name, values in _SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    options = ["--no-browser", "--ip=127.0.0.1", "--ServerApp.port=0"]
    options += ["--IdentityProvider.token=", "--LabApp.extension_manager=readonly"]
    if os.name == "posix" and os.getuid() == 0:
        options.append("--allow-root")
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            cwd=folder,
            env=settings_in(home),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield _address(server, home)
        finally:
            _end(server)


def _address(server: subprocess.Popen[bytes], home: Path) -> str:
    told = home / "runtime_dir" / f"jpserver-{server.pid}.json"
    limit = time.monotonic() + _SECONDS
    while server.poll() is None and time.monotonic() < limit:
        try:
            return str(json.loads(told.read_text())["url"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise AssertionError((home / "server.log").read_text())


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ask it to end, so that it ends its kernels; then insist."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if server.poll() is None:
            os.killpg(server.pid, number)
        try:
            server.wait(15)
            return
        except subprocess.TimeoutExpired:
            continue


class Notebook:
    """A notebook that is open in JupyterLab, with its kernel ready."""

    def __init__(self, page: Page, address: str, path: str) -> None:
        self.page = page
        page.goto(f"{address}doc/tree/{path}?reset")
        self.cells = page.locator(".jp-Notebook .jp-Cell")
        expect(self.cells.first).to_be_visible()
        ready = page.locator("#jp-main-statusbar").get_by_text(re.compile(r"Python 3 .*\| Idle"))
        expect(ready.first).to_be_visible()

    def cell(self, line: str) -> Locator:
        """The one code cell that has this line."""
        exactly = re.compile(rf"^{re.escape(line)}$")
        lines = self.page.locator(".cm-line").filter(has_text=exactly)
        return self.page.locator(".jp-CodeCell").filter(has=lines)

    def write(self, cell: Locator, text: str) -> None:
        """Type over all that the cell holds."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def run(self, cell: Locator) -> Locator:
        """Run the cell with Shift+Enter; what it shows, once it is done."""
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.text_content() or ""
        # Its first line: in the middle of a long cell there may be nothing to click on.
        cell.locator(".cm-line").first.click()
        self.page.keyboard.press("Shift+Enter")
        expect(prompt).not_to_have_text(before)
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"))
        return cell.locator(".jp-Cell-outputArea")

    def scroll(self, shown: Locator) -> None:
        """Put the end of what a cell shows at the end of the window."""
        shown.evaluate("output => output.closest('.jp-Cell').scrollIntoView({block: 'end'})")

    def validate(self) -> str:
        """Press nbgrader's Validate, which saves first, and close the answer: its text."""
        self.page.locator(".validate-button").click()
        dialog = self.page.locator(".jp-Dialog")
        expect(dialog).to_be_visible()
        text = dialog.inner_text()
        dialog.locator("button.jp-mod-accept").click()
        expect(dialog).to_be_hidden()
        return text
