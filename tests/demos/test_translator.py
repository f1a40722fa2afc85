"""The demos of steps 15 to 18, from text to translation: figures, and what they make of faults."""

import importlib.util
import os
import re
from pathlib import Path

import pytest

SHORT = ("--epochs", "2", "--batches", "4")


def test_step15_shows_tokens_ids_and_an_unknown_word(demo):
    text = demo("step15", "--against", "solutions").figures
    assert "['Ein', 'Mann', 'fährt', 'Fahrrad', '.']" in text
    assert "86 German tokens, 82 English ones" in text
    ids = re.findall(r"^ +(\d+)  (\S+)", text, re.MULTILINE)
    assert ids[:5] == [("0", "<s>"), ("1", "</s>"), ("2", "<blank>"), ("3", "<unk>"), ("4", ".")]
    counts = [int(count) for count in re.findall(r"^ +\d+  \S+ +(\d+)$", text, re.MULTILINE)]
    assert counts == sorted(counts, reverse=True)
    assert "Ein <unk> fährt Fahrrad ." in text


def test_step15_knows_every_word_of_its_corpus_when_none_is_left_out(demo):
    text = demo("step15", "--against", "solutions", "--min-freq", "1").figures
    assert "too rare to be known: 0.0%" in text


def test_step15_goes_on_without_spacy(demo, monkeypatch: pytest.MonkeyPatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "spacy" else find_spec(name)
    )
    text = demo("step15", "--against", "solutions").figures
    assert "pip install 'transformer-by-building[translate]'" in text
    assert "['Ein', 'Mann', 'fährt', 'Fahrrad', '.']" in text
    assert "86 German tokens, 82 English ones" in text


def test_step15_tells_of_a_newline_that_became_a_token(demo, changed):
    cut = ("[token.text for token in tokens]", 'text.split(" ")')
    script = changed("step15", ("text = text.strip()", "pass"), cut)
    assert "has become a token" in demo(script).figures


@pytest.mark.slow
@pytest.mark.skipif("MULTI30K_DIR" not in os.environ, reason="MULTI30K_DIR names no corpus")
@pytest.mark.skipif(not importlib.util.find_spec("spacy"), reason="spaCy is not installed")
def test_step15_prints_the_published_sizes(demo):
    env = {"MULTI30K_DIR": os.environ["MULTI30K_DIR"]}
    text = demo("step15", "--against", "solutions", env=env).figures
    assert "8,316 German, 6,384 English tokens" in text


def test_step16_shows_a_batch_and_the_price_of_padding(demo):
    text = demo("step16", "--against", "solutions").figures
    assert "source (3, 12) and target (3, 13):" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("   <s> ")]
    assert [len(row) for row in rows] == [12] * 3 + [13] * 3 + [9] * 3
    assert all(row.count("</s>") == 1 for row in rows)
    shares = [float(share) for share in re.findall(r"([\d.]+)%$", text, re.MULTILINE)]
    assert shares == [86.8, 18.2, 6.4]


def test_step16_keeps_every_batch_within_its_area(demo):
    for limit in (60, 400):
        text = demo("step16", "--against", "solutions", "--max-tokens", str(limit)).figures
        plan = [tuple(map(int, three)) for three in re.findall(r"(\d+) x +(\d+) = +(\d+)", text)]
        assert sum(rows for rows, _, _ in plan) == 60
        assert all(rows * longest == area <= limit for rows, longest, area in plan)


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param("ids = ids[: max_len - 2]", "pass", "the first 9 ids at most", id="not cut"),
        pytest.param(
            'return [vocab["<s>"], *ids, vocab["</s>"]]',
            'return [vocab["<s>"], *ids, vocab["</s>"]][:max_len]',
            "has lost its </s>",
            id="cut behind",
        ),
        pytest.param(
            "    if batch:\n        batches.append(batch)\n\n", "", "these are not: [", id="tail"
        ),
    ],
)
def test_step16_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    edits = [(find, replace)]
    if words.startswith("has lost"):
        edits.append(("ids = ids[: max_len - 2]", "pass"))
    assert words in demo(changed("step16", *edits)).figures


def epochs(text: str) -> list[str]:
    return re.findall(r"^   epoch \d: train .*$", text, re.MULTILINE)


def test_step17_ends_where_an_uninterrupted_training_does(demo):
    text = demo("step17", "--against", "solutions").figures
    whole, again = epochs(text)[:4], epochs(text)[4:]
    assert len(whole) == 4
    assert whole == again
    assert "the same, bit for bit" in text
    assert "last.pt holds epoch, history, model, optimizer, rng, scheduler" in text
    assert "(DiskFull):\n   the old one is whole, and nothing lies beside it" in text


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param("optimizer.load_state_dict", "dict", "The losses differ by", id="optimizer"),
        pytest.param("scheduler.load_state_dict", "dict", "The losses differ by", id="scheduler"),
        pytest.param("torch.set_rng_state(", "id(", "The losses differ by", id="random numbers"),
        pytest.param("missing_ok=True)", "missing_ok=True) if 0 else 0", "beside it lies last.pt"),
        pytest.param(
            'temporary = path.with_name(path.name + ".tmp")',
            "temporary = path",
            "cannot be read any more",
            id="written over",
        ),
    ],
)
def test_step17_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    assert words in demo(changed("step17", (find, replace)), *SHORT).figures


@pytest.mark.slow
def test_step18_translates_what_it_has_seen_and_what_it_has_not(demo):
    text = demo("step18", "--against", "solutions").figures
    translations = re.findall(r"^   beam \d: (.*)$", text, re.MULTILINE)
    assert translations[:2] == ["A man in a blue shirt stands on the street ."] * 2
    assert translations[2:] == ["A brown dog sleeps in front of the house ."] * 2


def test_step18_shows_hypotheses_and_maps(demo):
    text = demo("step18", "--against", "solutions", "--updates", "8", "--beam", "3").figures
    scores = [float(score) for score in re.findall(r"^ +(-\d+\.\d+)  <s>", text, re.MULTILINE)]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    shapes = dict(re.findall(r"^   (\w+) +\((.*)\)$", text, re.MULTILINE))
    layers, heads, queries, keys = map(int, shapes["decoder_src"].split(", "))
    assert (layers, heads, keys) == (2, 4, 10)
    assert shapes["encoder"] == "2, 4, 10, 10"
    assert shapes["decoder_self"] == f"2, 4, {queries}, {queries}"
    rows = re.findall(r"^ +\S+ \|.*\|$", text, re.MULTILINE)
    assert len(rows) == queries
    assert len({len(row) for row in rows}) == 1
    assert "sums to 1: from 1.000 to 1.000" in text


def test_step18_shows_maps_made_with_dropout(demo, changed):
    script = changed(
        "step18", ("model.eval()  # Dropout would make holes in the maps.", "model.train()")
    )
    assert "sums to 1: from 1.000 to 1.000" not in demo(script, "--updates", "2").figures


@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="no matplotlib")
def test_step18_draws_the_maps(demo, tmp_path: Path):
    picture = tmp_path / "maps.png"
    options = ("--updates", "2", "--plot", str(picture))
    assert f"drawn in {picture}" in demo("step18", "--against", "solutions", *options).figures
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_step18_says_what_a_picture_needs(demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    options = ("--updates", "2", "--plot", str(tmp_path / "maps.png"))
    text = demo("step18", "--against", "solutions", *options).figures
    assert "pip install 'transformer-by-building[plots]'" in text
    assert list(tmp_path.iterdir()) == []
