"""What the demos share: loading the code of a step, choosing a language, printing.

A demo is a small program beside a stub. It runs the learner's own code, or with `--against` the
model answer or the reference package, and prints what came out of it.
"""

import argparse
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from autograder.authoring.stubs import UNWRITTEN
from autograder.core.speech import LANGUAGES, choose
from autograder.core.step import kit_file
from autograder.workshop import corpus

SOURCES = ("mine", "solutions", "reference")

COMMON = {
    "en": {
        "running": "code: {where}",
        "unfinished": (
            "Nothing to show yet: {name} is not implemented in {where}.\n"
            "Fill it in and run this again, or look ahead with --against solutions."
        ),
        "broken": "The demo stopped at an error in {where}: line {line}: {error}",
        "outside": "The demo stopped: what {where} computed did not fit. {error}",
        "missing": "The demo cannot find {where}.",
    },
    "ko": {
        "running": "실행한 코드: {where}",
        "unfinished": (
            "아직 보여 줄 것이 없어요. {where}에서 {name} 부분이 구현되지 않았어요.\n"
            "채운 다음 다시 실행하거나, --against solutions로 먼저 구경해 보세요."
        ),
        "broken": "{where}에서 오류가 나서 데모를 멈췄어요. {line}번째 줄: {error}",
        "outside": "{where}의 계산 결과가 데모와 맞지 않아서 멈췄어요. {error}",
        "missing": "{where} 파일을 찾을 수 없어요.",
    },
}

Say = Callable[..., None]
Show = Callable[[ModuleType, Say, argparse.Namespace], None]
Place = Callable[[Exception], tuple[str, int | None]]  # whose code, as it is called, and the line


def run(demo: str, texts: Mapping[str, Mapping[str, str]], show: Show, **sizes: int | None) -> None:
    """Run a demo from the command line.

    Args:
        demo: the demo's own `__file__`; the code of the step lies beside it.
        texts: for each language the demo's lines, by name, as format strings.
        show: called with the loaded module, `say(name, **values)` and the chosen sizes.
        sizes: the demo's sizes and their defaults; each becomes an option (`d_ff=2048` gives
            `--d-ff`). None stands for a file that may be named (`plot=None` gives `--plot FILE`).

    Raises:
        SystemExit: with status 1 when the code of the step is unfinished or fails, after a line
            that says so.
    """
    options = _parse(sizes)
    language = choose(options.lang)
    say = saying({**COMMON[language], **texts[language]})
    path = _step_file(Path(demo))
    if options.against == "solutions":
        path = _answer_to(path)
    if options.against != "reference" and not path.is_file():
        say("missing", where=_shown(path))
        raise SystemExit(1)
    reference = f"transformer_ref/{path.name}" if options.against == "reference" else ""
    where = reference or _shown(path)

    def load() -> ModuleType:
        module = import_module(f"transformer_ref.{path.stem}") if reference else load_file(path)
        say("running", where=where)
        return module

    try:
        done = perform(load, show, options, say, lambda error: (where, _line_of(error, path)))
        sys.stdout.flush()
    except BrokenPipeError:  # who read this has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    if not done:
        raise SystemExit(1)


def perform(
    load: Callable[[], ModuleType],
    show: Show,
    options: argparse.Namespace,
    say: Say,
    place: Place,
) -> bool:
    """Load the code and show it; what stops it in the learner's code is told in a line or two.

    Args:
        load: gives the module.
        show, options, say: as in `run`.
        place: where in the learner's code an error came from.

    Returns:
        Whether it came to its end.
    """
    try:
        show(load(), say, options)
        return True
    except BrokenPipeError:
        raise
    except NotImplementedError as error:
        found = UNWRITTEN.fullmatch(str(error))
        name = found[1] if found else printable(str(error))
        say("unfinished", name=name, where=place(error)[0])
    except Exception as error:
        text = printable(f"{type(error).__name__}: {error}")
        where, line = place(error)
        say("outside" if line is None else "broken", where=where, line=line, error=text)
    return False


def saying(lines: Mapping[str, str]) -> Say:
    """Return what prints the line of a name, with its values filled in."""

    def say(name: str, /, **values: object) -> None:
        print(lines[name].format(**values))

    return say


def load_file(path: Path, name: str = "") -> ModuleType:
    """Execute a file as a module of that name, or of the file's own."""
    spec = importlib.util.spec_from_file_location(name or path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Where dataclasses look for the module of a class.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def captions() -> list[tuple[str, str]]:
    """Return the kit's own small corpus, pairs of a German sentence and its English translation."""
    return list(corpus.captions())


def words(text: str) -> list[str]:
    """Cut a simple sentence into words and punctuation marks; enough for the small corpus."""
    return re.findall(r"\w+|[^\w\s]", text)


def printable(text: str) -> str:
    """Return a learner's text with control characters spelt out, safe for a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _parse(sizes: Mapping[str, int | None]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", choices=SOURCES, default="mine", help="whose code to run")
    parser.add_argument("--lang", choices=LANGUAGES, help="language of the output")
    for name, default in sizes.items():
        option = "--" + name.replace("_", "-")
        if default is None:
            parser.add_argument(option, type=Path, metavar="FILE", help="write a file of this name")
            continue
        parser.add_argument(option, type=_positive, default=default, help=f"default {default}")
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _step_file(demo: Path) -> Path:
    """Return the step's code: the one module beside the demo that is neither demo nor test."""
    for path in sorted(demo.resolve().parent.glob("*.py")):
        if path.stem not in ("demo", "conftest", "__init__") and not path.stem.startswith("test_"):
            return path
    # The learner has moved it away. The test beside the demo still tells its name.
    for path in sorted(demo.resolve().parent.glob("test_*.py")):
        return path.with_name(path.name.removeprefix("test_"))
    raise SystemExit(f"no code of a step beside {demo}")


def _answer_to(path: Path) -> Path:
    """Return the model answer: in the checkout that the demo lies in, or else in the kit."""
    place = ("solutions", path.parent.name, path.name)
    here = path.parents[2].joinpath(*place)
    return here if here.is_file() else kit_file(*place)


def _shown(path: Path) -> str:
    """Return the path as a reader knows it: exercises/step04/feed_forward.py."""
    return "/".join(path.parts[-3:])


def _line_of(error: Exception, path: Path) -> int | None:
    """Return the innermost line of the step's file that the error passed through."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return lines[-1] if lines else None
