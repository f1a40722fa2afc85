"""A real browser, and JupyterLab, for tests that look at what people see."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Nothing outside of this machine is asked for anything.
_WINDOW: dict[str, Any] = {
    "viewport": {"width": 1200, "height": 800},
    "device_scale_factor": 1.5,
    "color_scheme": "light",
}
_OPTIONS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, as this machine has it; not for longer, since only one driver can be at work."""
    driver = pytest.importorskip("playwright.sync_api")
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium here")
    with driver.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=found, args=_OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """An empty page."""
    context = browser.new_context(**_WINDOW)
    yield context.new_page()
    context.close()


@pytest.fixture
def shoot() -> Callable[..., None]:
    """Take a picture of a page, where the variable AUTOGRADER_SCREENSHOTS names a folder for it."""
    folder = os.environ.get("AUTOGRADER_SCREENSHOTS")

    def picture(page: Any, name: str, **options: Any) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png", **options)

    return picture
