"""The variables of somebody whose settings, and whose data, are all in one folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def settings_in(home: Path) -> dict[str, str]:
    """Nothing of this machine's user is found; programs are those beside this Python, first.

    The folder is made if it is missing: IPython warns of a home that it cannot write to.
    """
    home.mkdir(parents=True, exist_ok=True)
    found = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "AUTOGRADER"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), found.get("PATH", os.defpath)])
    folders = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    return {
        **found,
        **{f"JUPYTER_{name}": str(home / name.lower()) for name in folders},
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PATH": path,
    }
