"""Words: the sentence for a finding, in the reader's language; learners' text made harmless."""

from __future__ import annotations

import re
import tomllib
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from autograder.core.step import Step, Words
from autograder.core.verdict import Finding

_CLAIMED = ("unreadable.", "unusable.")  # findings whose facts come from the learner's process
_KINDS = re.compile(r"tensor|(tuple|list) of \d+")
_LONGEST = 300  # characters of a learner's text in one place


def say(key: str, lang: str, /, **facts: object) -> str:
    """The text of that key with its placeholders filled; facts that are strings are escaped.

    Raises:
        KeyError: there is no such text, or a placeholder has no fact.
    """
    return texts()[key][lang].format_map({k: shown(v, lang) for k, v in facts.items()})


def tell(finding: Finding, step: Step, lang: str, *, check: str = "", file: str = "") -> str:
    """What a finding says; it may have several lines.

    Args:
        finding: key and facts, from the core.
        step: whose labels and mistakes it speaks of.
        lang: "en" or "ko".
        check: the check it belongs to, for that check's own labels.
        file: name of the learner's file, as it is to be shown.
    """
    facts = {"file": file, "message": "", "code": "", **finding.facts}
    if facts.get("cell") is not None:
        where = "word.cell" if facts["file"] else "word.execution"  # no file: a live notebook
        facts["file"] = say(where, lang, file=facts["file"], cell=facts["cell"])
    if "key" in facts:
        facts["label"] = _label(step, check, str(facts["key"]), lang)
    if finding.text.startswith(_CLAIMED):
        return _without_gaps(texts()[_key(finding)][lang].format_map(_Claims(facts, lang)))
    if "mistake" in facts:
        mistake = step.misconception(str(facts["mistake"]))
        facts |= {"name": mistake.name[lang], "question": mistake.question[lang]}
    if "share" in facts:
        facts["share"] = _percent(float(facts["share"]))
    if "where" in facts:
        facts["where"] = str(list(facts["where"]))
    if finding.text == "difference.plain" and _unclear([facts["seen"], facts["asked"]]):
        facts |= {k: _in_quotes(facts[k]) for k in ("seen", "asked")}
    if finding.text == "difference.plain":  # some probes note what kind of thing came
        told = {k: facts[k] for k in ("seen", "asked") if _KINDS.fullmatch(str(facts[k]))}
        facts |= {k: _kind(str(kind), lang) for k, kind in told.items()}
    if finding.text == "difference.kind":
        facts |= {k: _kind(str(facts[k]), lang) for k in ("seen", "asked")}
    key = _key(finding)
    if key == "mistake" and any(c.name == check and not c.graded for c in step.checks):
        key = "remark"
    return _without_gaps(say(key, lang, **facts))


def says_unwritten(message: str) -> bool:
    """Whether a message tells, in one language or the other, that something is not written yet."""
    forms = (texts()[key] for key in ("not_implemented", "not_implemented_nowhere"))
    return message.startswith(tuple(w.split("{")[0] for words in forms for w in words.values()))


class _Claims(dict[str, str]):
    """Facts that the learner's process claims: any of them may be missing, or be anything."""

    def __init__(self, facts: Mapping[str, object], lang: str) -> None:
        super().__init__({k: shown(v, lang) for k, v in facts.items()})

    def __missing__(self, key: str) -> str:
        return "?"


def tell_fault(error: BaseException, lang: str) -> str:
    """One line about an error of the kit's own."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}, {frames[-1].lineno}" if frames else ""
    kind = type(error).__name__
    return say("cannot.fault", lang, kind=kind, message=str(error), place=place)


def escape(text: str, longest: int = _LONGEST) -> str:
    """Learners' text for one line of a terminal: whatever could act on it is spelt out.

    Control characters, escape codes, line ends and marks of writing direction become visible;
    what is longer than `longest` is cut.
    """
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def escape_lines(text: str, longest: int = 4096) -> list[str]:
    """The same for text of several lines."""
    return [escape(line.expandtabs(), longest) for line in text[:longest].splitlines()]


def shown(value: object, lang: str) -> str:
    """A fact as a reader wants it: numbers short, shapes as shapes, text escaped."""
    if value is None:
        return say("word.nothing", lang)
    if isinstance(value, bool):
        return say("word.yes" if value else "word.no", lang)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        value = [f"{k}: {shown(v, lang)}" for k, v in value.items()]
    text = _sequence(value, lang) if isinstance(value, list | tuple) else str(value)
    return escape(" ".join(text.split()) if "\n" in text else text)


def texts() -> Mapping[str, Words]:
    """Every text by key: {"load.syntax": {"en": ..., "ko": ...}}."""
    return _texts()


@cache
def _texts() -> dict[str, Words]:
    files = sorted(Path(__file__).parent.glob("*.toml"))
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]
    return dict(pair for table in tables for pair in _flat(table, ""))


def _flat(data: dict[str, Any], prefix: str) -> list[tuple[str, Words]]:
    if all(isinstance(v, str) for v in data.values()):
        return [(prefix, cast(Words, data))]
    dot = f"{prefix}." if prefix else ""
    return [pair for key, part in data.items() for pair in _flat(part, dot + key)]


def _key(finding: Finding) -> str:
    key = finding.text
    if key == "unusable.not_tensor" and finding.facts.get("kind") == "None":
        return "unusable.none"
    if key.startswith(_CLAIMED):
        return key if key in texts() else f"{key.split('.')[0]}.other"
    nowhere = finding.facts.get("line", 0) is None or finding.facts.get("where") == []
    if nowhere and f"{key}_nowhere" in texts():  # others tell no line
        key += "_nowhere"
    elif finding.facts.get("function") in ("", "<module>") and f"{key}_outside" in texts():
        key += "_outside"
    if key == "difference.kind" and finding.facts["seen"] == "None":
        return "difference.none"
    if key == "difference.kind" and finding.facts["asked"] != "tensor":
        key += "_other"
    return key if key in texts() else f"{finding.text.split('.')[0]}.other"


def _label(step: Step, check: str, key: str, lang: str) -> str:
    own_first = sorted(step.checks, key=lambda c: c.name != check)
    return next((c.labels[key][lang] for c in own_first if key in c.labels), key)


def _kind(kind: str, lang: str) -> str:
    """What stood in a tensor's place; the core says 'tensor' or 'tuple of 3'."""
    if kind in ("None", "tensor"):
        return say("word.tensor", lang) if kind == "tensor" else kind
    if several := re.fullmatch(r"(tuple|list) of (\d+)", kind):
        return say("word.several", lang, kind=several[1], count=several[2])
    if shapes := re.fullmatch(r"(\(.*\)) and (\(.*\))", kind):
        return say("word.shapes", lang, one=shapes[1], two=shapes[2])
    return say("word.type", lang, kind=kind)


def _unclear(value: object) -> bool:
    """Whether some text in it would run into the sentence: empty, or ended by a mark or a space."""
    if isinstance(value, list | tuple):
        return any(map(_unclear, value))
    return isinstance(value, str) and (value != value.strip() or value[-1:] in ".,;:!?")


def _in_quotes(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_in_quotes(v) for v in value]
    return repr(value) if isinstance(value, str) else value


def _percent(share: float) -> str:
    return "100 %" if share >= 1 else f"{min(max(share * 100, 0.1), 99):.2g} %"


def _sequence(value: list[Any] | tuple[Any, ...], lang: str) -> str:
    if not value:
        return say("word.none", lang)
    parts = [shown(v, lang) for v in value]
    if any(isinstance(v, str) for v in value):
        return ", ".join(parts)
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _without_gaps(text: str) -> str:
    """Leave out a line whose only placeholder was empty."""
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())
