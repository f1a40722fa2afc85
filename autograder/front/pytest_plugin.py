"""The pytest plugin: `pytest exercises/step04` shows one line a check and what went wrong."""

# Loaded whenever pytest starts in an environment with the kit: import next to nothing up here.
from __future__ import annotations

import shlex
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autograder.core.speech import LANGUAGES, Language, choose

if TYPE_CHECKING:
    from autograder.core.step import Check, Step
    from autograder.core.subject import Source
    from autograder.core.verdict import CheckVerdict, Verdict
    from autograder.front.account import Graded

_LETTERS = {"passed": ".", "failed": "F", "error": "E", "timeout": "T", "skipped": "s"}


@dataclass(frozen=True)
class StepChecks:
    """What `checks_of` leaves in a test file, for the plugin to find."""

    step: str


def checks_of(step: str) -> StepChecks:
    """The checks of a step ('step04'), as a test file names them:

        test_feed_forward = checks_of("step04")

    The file that is graded lies beside the test file and has the step's slug for its name; it is
    the step's notebook if only that has been written in.
    """
    return StepChecks(step)


class CheckFailed(Exception):
    """A check was not passed; the message is for the learner."""


_graded: pytest.StashKey[dict[tuple[Path, str], Graded | Exception]] = pytest.StashKey()


# ---------------------------------------------------------------- options


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("autograder", "Transformer by Building")
    group.addoption(
        "--against",
        dest="autograder_against",
        metavar="WHAT",
        help="grade the model answers (`solutions`) or another file instead of your own",
    )
    group.addoption(
        "--lang", dest="autograder_lang", choices=LANGUAGES, help="language of the verdicts"
    )
    group.addoption(
        "--seed", dest="autograder_seed", type=int, help="draw the numbers of an earlier run"
    )
    group.addoption(
        "--in-process",
        dest="autograder_in_process",
        action="store_true",
        help="run your code without child process and limits, for a debugger",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_graded] = {}
    against = config.getoption("autograder_against")
    if against and against != "solutions" and not _against_file(config).is_file():
        raise pytest.UsageError(f"--against: neither `solutions` nor a file: {against!r}")


def _against_file(config: pytest.Config) -> Path:
    return config.invocation_params.dir / config.getoption("autograder_against")


def _language(config: pytest.Config) -> Language:
    return choose(config.getoption("autograder_lang"))


# ---------------------------------------------------------------- collection


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> list[CheckItem] | None:
    """One item a check, in the place of the name that stands in the test file."""
    if not isinstance(obj, StepChecks):
        return None
    from autograder.core.step import NoSuchStep, find_step

    try:
        step = find_step(obj.step)
    except NoSuchStep as e:
        raise collector.CollectError(str(e)) from None
    return [
        CheckItem.from_parent(collector, name=check.name, step=step, check=check)
        for check in step.checks
    ]


class CheckItem(pytest.Item):
    """One check of a step."""

    def __init__(self, *, step: Step, check: Check, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step, self.check = step, check

    def find_file(self) -> Path:
        """The file that is graded; the learner's is looked for anew each time."""
        against = self.config.getoption("autograder_against")
        if against == "solutions":
            return self.step.solution
        if against:
            return _against_file(self.config)
        from autograder.desk.work import work_in

        return work_in(self.path.parent, self.step)

    def runtest(self) -> None:
        graded = _grade(self)
        verdict = next(c for c in graded.verdict.checks if c.check == self.check.name)
        graded.ran.add(self.check.name)
        self._note(verdict)
        words = self._words(verdict, graded.verdict.filename)
        if verdict.state != "passed" and verdict.max_points:
            raise CheckFailed(words)
        if verdict.findings:
            self.user_properties.append(("message", words))

    def _note(self, verdict: CheckVerdict) -> None:
        """For reports of every kind: --junitxml, and this plugin's own."""
        from autograder.front.show import is_remark

        state = "remark" if is_remark(verdict) else verdict.state
        if state not in ("passed", "remark") and not verdict.max_points:
            state = "skipped"  # advice that had nothing to look at
        self.user_properties += [
            ("step", self.step.name),
            ("check", verdict.check),
            ("state", state),
            ("points", verdict.points),
            ("max_points", verdict.max_points),
            ("misconceptions", ",".join(verdict.misconceptions)),
        ]

    def _words(self, verdict: CheckVerdict, filename: str) -> str:
        from autograder.front import show

        lang = _language(self.config)
        title = show.title(self.check.name, self.step, lang)
        told = show.message(verdict, self.step, lang, filename)
        return f"{title} ({verdict.points}/{verdict.max_points})\n{told}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from autograder.front.wording import tell_fault

        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        if self.config.getoption("tbstyle") in ("long", "native"):
            return super().repr_failure(excinfo, style)
        return tell_fault(excinfo.value, _language(self.config))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


def _grade(item: CheckItem) -> Graded:
    """The step graded on the item's file: found and graded once, however many checks are run."""
    from autograder.front.account import Graded

    known = item.config.stash[_graded]
    key = (item.path.parent, item.step.name)
    if key not in known:
        try:
            known[key] = Graded(item.step, _verdict(item), _again(item))
        except Exception as fault:
            known[key] = fault
    graded = known[key]
    if isinstance(graded, Exception):
        raise graded
    return graded


def _verdict(item: CheckItem) -> Verdict:
    from autograder.core import engine

    engine.start()
    from autograder.core.grading import grade

    return grade(
        item.step,
        _source(item.find_file()),
        seed=item.config.getoption("autograder_seed"),
        in_process=item.config.getoption("autograder_in_process"),
    )


def _source(file: Path) -> Source:
    from autograder.core.subject import Source
    from autograder.core.verdict import Finding

    if not file.is_file():  # a pipe would never end
        return Source("", str(file), Finding("load.no_file"))
    try:
        return Source.read(file)
    except OSError as e:
        return Source("", str(file), Finding("load.unreadable", {"reason": e.strerror or ""}))


def _again(item: CheckItem) -> str:
    """The command that grades the same once more."""
    from autograder.front.show import near

    place = near(item.path.parent)
    words = ["pytest"] if place == "." else ["pytest", place]
    against = item.config.getoption("autograder_against")
    return shlex.join([*words, "--against", against] if against else words)


# ---------------------------------------------------------------- what is shown


def _ours(report: object) -> dict[str, Any]:
    """What a check's item noted for its report; empty for anything else."""
    if not isinstance(report, pytest.TestReport) or report.when != "call":
        return {}
    noted: dict[str, Any] = dict(report.user_properties)
    return noted if noted.keys() >= {"step", "check", "state", "max_points"} else {}


def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str | tuple[str, dict[str, bool]]] | None:
    noted = _ours(report)
    if not noted:
        return None
    state = noted["state"]
    if state == "remark":
        return "remark", "r", ("REMARK", {"yellow": True})
    category = state if state in ("passed", "skipped") else "failed"
    word = f"{state.upper()} {noted['points']}/{noted['max_points']}"
    return category, _LETTERS[state], word


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> Generator[None]:
    """In the place of pytest's own account of the checks: a block a step, and the sum."""
    graded = [g for g in config.stash[_graded].values() if not isinstance(g, Exception)]
    kept = {}
    for category, reports in terminalreporter.stats.items():
        kept[category] = list(reports)
        reports[:] = [r for r in reports if not _ours(r)]
    try:
        yield
        if graded and not config.getoption("no_summary", False) and config.get_verbosity() > -2:
            from autograder.front.account import account

            ours = [(n, r) for reports in kept.values() for r in reports if (n := _ours(r))]
            details = config.getoption("tbstyle", "auto") != "no"
            for text, markup in account(graded, ours, _language(config), details):
                terminalreporter.write_line(text, **markup)
    finally:
        for category, reports in kept.items():
            terminalreporter.stats[category][:] = reports
