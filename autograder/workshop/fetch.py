"""One file from the network, complete and verified, or not at all."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.core.trouble import Trouble
from autograder.workshop.cache import whole_file

_SECONDS = 30  # without a byte
_PIECE = 1 << 16

Progress = Callable[[int, int | None], None]  # bytes so far, and of how many if that is known


def fetch(address: str, path: Path, sha256: str, progress: Progress) -> None:
    """Download a file; `path` is written only when all of it has come and its sum is right.

    Raises:
        Trouble: there is no connection, no such file, an end too early, or another sum.
    """
    with whole_file(path) as temporary:
        sum_found = _download(address, temporary, progress)
        if sum_found != sha256:
            raise Trouble("download_differs", address=address)


def sum_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal digits.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(address: str, path: Path, progress: Progress) -> str:
    """Write what the address gives; the sha256 of it."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in _pieces(address, progress):
            file.write(piece)
            digest.update(piece)
    return digest.hexdigest()


def _pieces(address: str, progress: Progress) -> Iterator[bytes]:
    """What the address gives, until all of it has come."""
    received, total = 0, None
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            total = _length(answer)
            while piece := answer.read(_PIECE):
                received += len(piece)
                progress(received, total)
                yield piece
    except urllib.error.HTTPError as e:
        raise Trouble("download_refused", address=address, status=e.code) from None
    except (OSError, http.client.HTTPException, ValueError) as e:
        reason = str(getattr(e, "reason", "") or e) or type(e).__name__
        raise Trouble("download_failed", address=address, reason=reason) from None
    if total is not None and received < total:
        raise Trouble("download_short", address=address, received=received, total=total)


def _length(answer: http.client.HTTPResponse) -> int | None:
    told = answer.headers.get("Content-Length", "")
    return int(told) if told.isdigit() else None
