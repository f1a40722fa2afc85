"""Sentence pairs from two files of one sentence a line, gzipped or plain."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from autograder.core.trouble import Trouble

SPLITS = ("train", "val", "test_2016_flickr")
SOURCE, TARGET = "de", "en"

Pair = tuple[str, str]  # a German sentence and an English one


@dataclass(frozen=True)
class Corpus:
    """What a model is trained on, chosen by and measured on."""

    train: tuple[Pair, ...]
    val: tuple[Pair, ...]
    test: tuple[Pair, ...]

    @property
    def all(self) -> tuple[Pair, ...]:
        """Every pair, in this order."""
        return self.train + self.val + self.test


def read_corpus(folder: Path) -> Corpus:
    """The three parts of a folder that is laid out as Multi30k's: `train.de.gz` or `train.de`, ...

    Raises:
        Trouble: as `read_pairs`.
    """
    if not folder.is_dir():
        raise Trouble("no_data_folder", path=folder)
    parts = [
        read_pairs(_file(folder, f"{split}.{SOURCE}"), _file(folder, f"{split}.{TARGET}"))
        for split in SPLITS
    ]
    return Corpus(*parts)


def captions() -> tuple[Pair, ...]:
    """The few pairs that come with the kit."""
    source, target = (Path(__file__).with_name(f"captions.{side}") for side in (SOURCE, TARGET))
    return read_pairs(source, target)


def read_pairs(source: Path, target: Path) -> tuple[Pair, ...]:
    """The pairs of two files; a pair whose sides are both empty is left out.

    Raises:
        Trouble: a file is missing, damaged or not UTF-8, one has more lines than the other, one
            side of a pair is empty, or there is no pair at all.
    """
    pairs = []
    both = zip_longest(_lines(source), _lines(target))
    for number, (one, other) in enumerate(both, start=1):
        if one is None or other is None:
            shorter, longer = (source, target) if one is None else (target, source)
            raise Trouble("sides_differ", shorter=shorter, longer=longer, lines=number - 1)
        if bool(one) != bool(other):
            raise Trouble("side_empty", path=target if one else source, line=number)
        if one:
            pairs.append((one, other))
    if not pairs:
        raise Trouble("no_pairs", path=source)
    return tuple(pairs)


def _file(folder: Path, name: str) -> Path:
    zipped, plain = folder / f"{name}.gz", folder / name
    if not zipped.is_file() and not plain.is_file():
        raise Trouble("data_missing", path=zipped)
    return zipped if zipped.is_file() else plain


def _lines(path: Path) -> list[str]:
    """A file's lines, without what surrounds their text."""
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise Trouble("data_missing", path=path) from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise Trouble("data_damaged", path=path) from None
    except OSError as e:
        raise Trouble("unreadable", path=path, reason=e.strerror or str(e)) from None
    # Only what ends a line in a file ends a sentence: text may hold U+2028 and the like.
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    return [_text(line, path, number) for number, line in enumerate(lines, start=1)]


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise Trouble("not_utf8", path=path, line=number) from None
    return text.strip()
