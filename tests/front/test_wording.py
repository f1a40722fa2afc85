"""Wording: every sentence in both languages, and learners' text made harmless."""

import os
import re
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.speech import LANGUAGES, choose
from autograder.core.step import all_steps, find_step
from autograder.core.verdict import CheckVerdict, Finding
from autograder.front import show, wording

PACKAGE = Path(wording.__file__).parents[1]
STEP = find_step(4)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("key", sorted(wording.texts()))
def test_a_text_says_the_same_in_both_languages(key: str):
    text = wording.texts()[key]
    assert text.keys() == set(LANGUAGES)
    assert placeholders(text["en"]) == placeholders(text["ko"])
    assert all(text.values())
    # Only names of options and kinds may do without a letter of the language.
    if re.search(r"[a-z]{2}", re.sub(r"\{\w+\}", "", text["en"])):
        assert re.search("[가-힣]", text["ko"])


def named_in_core(pattern: str) -> set[str]:
    folders = ("core", "weights", "steps")
    files = [p for folder in folders for p in (PACKAGE / folder).glob("*.py")]
    return {m for path in files for m in re.findall(pattern, path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    ("pattern", "group"),
    [
        (r'Finding\("([a-z_.]+)"', ""),
        (r'"(load\.[a-z_]+)"', ""),
        (r'Unusable\(\s*"(\w+)"', "unusable."),
        (r'Unreadable\(\s*"(\w+)"', "unreadable."),
        (r'Difference\(key, "(\w+)"', "difference."),
        (r'Lost\(\s*"(\w+)"', "lost."),
    ],
)
def test_whatever_the_core_can_find_has_a_text(pattern: str, group: str):
    found = {group + name for name in named_in_core(pattern)} - {"lost.timeout"}
    assert found
    assert found <= wording.texts().keys()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_difference_tells_position_values_and_share(lang: str):
    facts = {"key": "y", "where": [0, 2, 3], "seen": 0.1234, "asked": 0.5678, "share": 0.62}
    told = wording.tell(Finding("difference.value", facts), STEP, lang, check="output")
    for part in ("[0, 2, 3]", "0.1234", "0.5678", "62 %"):
        assert part in told
    label = next(c for c in STEP.checks if c.name == "output").labels["y"][lang]
    assert told.startswith(label)


@pytest.mark.parametrize(
    ("seen", "asked", "told"),
    [
        ("a b", "a b .", "yours is 'a b', asked is 'a b .'."),
        ("", "bupe", "yours is '', asked is 'bupe'."),
        (["a", ".", "\n"], ["a", "."], "yours is 'a', '.', '\\n', asked is 'a', '.'."),
        (["a", "<unk>"], ["a", "b"], "yours is a, <unk>, asked is a, b."),
    ],
)
def test_texts_that_would_run_into_the_sentence_stand_in_quotes(seen, asked, told: str):
    finding = Finding("difference.plain", {"key": "y", "seen": seen, "asked": asked})
    assert wording.tell(finding, STEP, "en", check="output").endswith(told)


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", "yours is a tensor, asked is a tuple of 2."),
        ("ko", "나온 값은 텐서, 나와야 할 값은 값이 2개인 tuple."),
    ],
)
def test_kinds_that_a_probe_noted_are_told_in_words(lang: str, told: str):
    finding = Finding("difference.plain", {"key": "y", "seen": "tensor", "asked": "tuple of 2"})
    assert wording.tell(finding, STEP, lang, check="output").endswith(told)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("step", all_steps(), ids=lambda s: s.name)
def test_every_mistake_is_told_with_its_question_and_without_its_place(step, lang: str):
    for mistake in step.misconceptions:
        told = wording.tell(Finding("mistake", {"mistake": mistake.slug}), step, lang)
        assert mistake.name[lang] in told
        assert " ".join(mistake.question[lang].split())[:60] in " ".join(told.split())
        assert mistake.place[lang] not in told


@pytest.mark.parametrize(
    ("lang", "graded", "advice"),
    [
        ("en", "Known mistake: ", "Remark: "),
        ("ko", "알려진 실수: ", "참고: "),
    ],
)
def test_what_advice_has_seen_is_a_remark_and_no_mistake(lang: str, graded: str, advice: str):
    step = find_step("embeddings")
    finding = Finding("mistake", {"mistake": step.misconceptions[0].slug})
    for check in step.checks:
        told = wording.tell(finding, step, lang, check=check.name)
        assert told.startswith(graded if check.graded else advice)


def test_a_mistake_is_explained_once_be_it_first_seen_by_advice_or_not():
    step = find_step("embeddings")
    finding = Finding("mistake", {"mistake": step.misconceptions[0].slug})
    checks = [
        CheckVerdict(name, "", "failed", 0, points, (finding,))
        for name, points in (("odd_width", 0), (step.checks[0].name, 1), ("odd_width", 0))
    ]
    told: set[str] = set()
    first, *rest = (list(show.explained(c, step, "en", "x.py", told)) for c in checks)
    assert first[0].startswith("Remark: ") and len(first) > 1
    assert [lines[0].split(":")[0] for lines in rest] == ["The same mistake"] * 2
    assert [len(lines) for lines in rest] == [1, 1]


def test_an_error_is_told_with_the_learners_own_line():
    facts = {"kind": "ValueError", "message": "no", "line": 7, "code": "boom()", "function": "f"}
    told = wording.tell(Finding("difference.raised", facts), STEP, "en", file="feed_forward.py")
    assert told.splitlines() == [
        "feed_forward.py, line 7, in f: your code stopped here.",
        "    boom()",
        "ValueError: no",
    ]


def test_an_error_outside_the_learners_file_is_told_without_a_line():
    facts = {"kind": "TypeError", "message": "too many", "line": None, "code": "", "function": ""}
    told = wording.tell(Finding("difference.raised", facts), STEP, "en", file="feed_forward.py")
    assert "TypeError: too many" in told
    assert "None" not in told and "line" not in told


@pytest.mark.parametrize("key", ["unreadable.news", "unusable.news"])
def test_an_unknown_reason_is_told_as_such(key: str):
    told = wording.tell(Finding(key, {"reason": "news", "problem": "news"}), STEP, "en")
    assert "news" in told


@pytest.mark.parametrize(
    ("value", "en", "ko"),
    [
        (True, "yes", "예"),
        (None, "nothing", "없음"),
        (0.123456789, "0.123457", "0.123457"),
        ([2, 6, 15], "(2, 6, 15)", "(2, 6, 15)"),
        ((7,), "(7,)", "(7,)"),
        (["W_in", "W_out"], "W_in, W_out", "W_in, W_out"),
        ([], "none", "하나도 없음"),
        ("\x1b[2J", r"\x1b[2J", r"\x1b[2J"),
    ],
)
def test_facts_are_shown_as_a_reader_wants_them(value: object, en: str, ko: str):
    assert (wording.shown(value, "en"), wording.shown(value, "ko")) == (en, ko)


@given(st.text())
def test_escaped_text_cannot_act_on_a_terminal(text: str):
    assert wording.escape(text).isprintable()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=300))
def test_escaping_leaves_printable_text_alone(text: str):
    if text.isprintable():
        assert wording.escape(text) == text


@given(st.text(max_size=2000), st.integers(1, 50))
def test_escaping_cuts(text: str, longest: int):
    spelt = max((len(c.encode("unicode_escape")) for c in text), default=1)
    assert len(wording.escape(text, longest)) <= longest * spelt


def test_direction_marks_and_line_ends_become_visible():
    assert wording.escape("a\u202eb\nc\x00") == r"a\u202eb\nc\x00"
    assert wording.escape_lines("one\n\ttwo\x1b[31m\n") == ["one", r"        two\x1b[31m"]


@pytest.mark.parametrize(
    ("option", "env", "chosen"),
    [
        (None, {}, "en"),
        ("ko", {"AUTOGRADER_LANG": "en"}, "ko"),
        (None, {"AUTOGRADER_LANG": "ko", "LC_ALL": "en_US.UTF-8"}, "ko"),
        (None, {"LC_ALL": "C", "LANG": "ko_KR.UTF-8"}, "en"),
        (None, {"LC_MESSAGES": "ko_KR.UTF-8", "LANG": "en_US.UTF-8"}, "ko"),
        (None, {"LANG": "ko_KR.UTF-8"}, "ko"),
        (None, {"LANG": "fr_FR.UTF-8"}, "en"),
    ],
)
def test_the_language_is_chosen_by_option_setting_and_locale(
    option: str | None, env: dict[str, str], chosen: str, monkeypatch: pytest.MonkeyPatch
):
    for name in ("AUTOGRADER_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setitem(os.environ, name, value)
    assert choose(option) == chosen


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("line", [3, None])
@pytest.mark.parametrize("key", ["load.raised", "not_implemented"])
def test_a_message_says_whether_something_is_unwritten(key: str, line: int | None, lang: str):
    facts = {"line": line, "function": "forward", "kind": "Error", "message": "Not implemented yet"}
    message = wording.tell(Finding(key, facts), STEP, lang, file="mine.py")
    assert wording.says_unwritten(message) == (key == "not_implemented")


def test_a_fault_of_the_kit_is_one_line():
    try:
        raise RuntimeError("a\nb")
    except RuntimeError as e:
        told = wording.tell_fault(e, "en")
    assert "RuntimeError: a b (test_wording.py, " in told
    assert "\n" not in told


CLAIMS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
FACTS = st.sampled_from(
    ["role", "asked", "found", "share", "where", "mistake", "key", "line", "kind", "export", "name"]
)


@given(
    st.sampled_from(["unreadable", "unusable"]),
    st.sampled_from(["size", "shared", "missing", "missing_close", "not_tensor", "never heard of"]),
    st.dictionaries(FACTS, CLAIMS),
)
def test_whatever_a_process_claims_can_be_told(
    kind: str, reason: str, facts: dict[str, object]
) -> None:
    finding = Finding(f"{kind}.{reason}", facts)
    for lang in LANGUAGES:
        assert wording.tell(finding, STEP, lang, check="output", file="x.py").strip()
