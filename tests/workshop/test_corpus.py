"""Reading sentence pairs: what is read, and what is complained of, at which line."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.trouble import Trouble
from autograder.workshop.corpus import SPLITS, read_corpus, read_pairs


@pytest.fixture
def read(tmp_path: Path):
    """The pairs of two files with these bytes."""

    def call(source: bytes, target: bytes, suffix: str = ""):
        files = tmp_path / f"de{suffix}", tmp_path / f"en{suffix}"
        for file, data in zip(files, (source, target), strict=True):
            file.write_bytes(data)
        return read_pairs(*files)

    return call


def trouble(read, *files: bytes, **more) -> tuple[str, dict]:
    with pytest.raises(Trouble) as told:
        read(*files, **more)
    return told.value.key, {
        k: v.name if isinstance(v, Path) else v for k, v in told.value.facts.items()
    }


def test_pairs_are_lines_of_one_number(read):
    pairs = (("Ein Hund .", "A dog ."), ("Zwei.", "Two."))
    german, english = b"Ein Hund .\n Zwei. \n", b"A dog .\r\nTwo."
    assert read(german, english) == pairs
    assert read(gzip.compress(german), gzip.compress(english), suffix=".gz") == pairs
    assert read(b"\xef\xbb\xbf" + german, english) == pairs


def test_a_pair_of_empty_lines_is_left_out_and_half_a_pair_is_not(read):
    assert read(b"a\n\nb\n\n", b"A\n \nB\n\n") == (("a", "A"), ("b", "B"))
    assert trouble(read, b"a\n\n", b"A\nB\n") == ("side_empty", {"path": "de", "line": 2})
    assert trouble(read, b"a\nb\n", b"A\n\n") == ("side_empty", {"path": "en", "line": 2})


def test_sides_of_different_length_are_told_with_the_line(read):
    facts = {"shorter": "en", "longer": "de", "lines": 2}
    assert trouble(read, b"a\nb\nc\nd\n", b"A\nB\n") == ("sides_differ", facts)
    facts = {"shorter": "de", "longer": "en", "lines": 0}
    assert trouble(read, b"", b"A\nB\n") == ("sides_differ", facts)
    assert trouble(read, b"", b"") == ("no_pairs", {"path": "de"})


def test_what_is_not_utf8_is_told_with_the_line(read):
    latin = "drei\nmit Fähre\n".encode("latin-1")
    assert trouble(read, latin, b"A\nB\n") == ("not_utf8", {"path": "de", "line": 2})


@pytest.mark.parametrize("damage", [lambda z: z[:-9], lambda z: b"no gzip", lambda z: z[:1] + z])
def test_a_damaged_file_is_told(read, damage):
    whole = gzip.compress(b"one\ntwo\n" * 100)
    assert trouble(read, whole, damage(whole), suffix=".gz") == ("data_damaged", {"path": "en.gz"})


def test_a_folder_may_hold_plain_or_zipped_files(tmp_path):
    for split in SPLITS:
        (tmp_path / f"{split}.de").write_text(f"{split} a\n", encoding="utf-8")
        (tmp_path / f"{split}.en.gz").write_bytes(gzip.compress(f"{split} b\n".encode()))
    corpus = read_corpus(tmp_path)
    assert corpus.all == tuple((f"{split} a", f"{split} b") for split in SPLITS)
    (tmp_path / "val.de").unlink()
    with pytest.raises(Trouble) as told:
        read_corpus(tmp_path)
    assert told.value.key == "data_missing"


word = st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1)


@given(st.lists(st.tuples(word, word), min_size=1))
def test_whatever_is_written_is_read(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("pairs")
    for i, name in enumerate(("de", "en")):
        lines = "\n".join(pair[i] for pair in pairs)
        (folder / name).write_text(f"{lines}\n", encoding="utf-8", newline="\n")
    assert read_pairs(folder / "de", folder / "en") == tuple(pairs)


def test_multi30k_has_its_known_size(multi30k):
    corpus = read_corpus(multi30k)
    assert (len(corpus.train), len(corpus.val), len(corpus.test)) == (29_000, 1_014, 1_000)
