"""A verdict as a table in HTML, and as text where no HTML is shown."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.notebooks import name_of
from autograder.core.step import Step
from autograder.core.verdict import CheckVerdict, Verdict
from autograder.front import show
from autograder.front.wording import say

_PRINTED = 20  # lines of the learner's prints, which come anew with every probe
_BAR = "  | "

# Colours are JupyterLab's, which change with its theme; others show where there are none.
_STYLE = """
.autograder-verdict table.checks { border-collapse: collapse; margin: 0 0 .5em; width: 100%;
  max-width: 62em; table-layout: auto; font-size: inherit; color: inherit; }
.autograder-verdict table.checks caption { caption-side: top; text-align: left; font-weight: 600;
  padding: .3em 0; color: inherit; }
.autograder-verdict table.checks tr, .autograder-verdict table.checks tr:nth-child(even),
.autograder-verdict table.checks tr:hover { background: none; }
.autograder-verdict table.checks th, .autograder-verdict table.checks td { text-align: left;
  vertical-align: top; padding: .35em 1.2em .35em 0; white-space: normal; font-weight: normal;
  line-height: 1.45; border: 0; border-bottom: 1px solid var(--jp-border-color2, #8886); }
.autograder-verdict table.checks thead th { font-size: 90%; opacity: .8; }
.autograder-verdict table.checks .state, .autograder-verdict table.checks .points {
  white-space: nowrap; width: 1%; }
.autograder-verdict table.checks .points { text-align: right; font-variant-numeric: tabular-nums; }
.autograder-verdict .passed .state { color: var(--jp-success-color1, #2b8a3e); }
.autograder-verdict .failed .state, .autograder-verdict .error .state,
.autograder-verdict .timeout .state { color: var(--jp-error-color1, #d13438); }
.autograder-verdict .why { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2em 0 0; }
.autograder-verdict pre { margin: .2em 0 .5em; padding: .4em .6em; white-space: pre-wrap;
  overflow-wrap: anywhere; border-left: 3px solid var(--jp-border-color1, #8888);
  font-family: var(--jp-code-font-family, monospace); font-size: 93%; line-height: 1.35; }
.autograder-verdict p { margin: .2em 0; }
.autograder-verdict:lang(ko) { word-break: keep-all; }
"""


@dataclass(frozen=True)
class Table:
    """All checks of a step on a verdict, `warnings` above and `notes` below (harmless already).

    `folder` is the one that the learner's notebook lies in; `live` says that cells can be run.
    """

    verdict: Verdict
    step: Step
    lang: str
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    folder: Path | None = None
    live: bool = True

    def text(self) -> str:
        """Lines as in a terminal."""
        told: set[str] = set()
        lines = [*self.warnings, ""] if self.warnings else []
        for check in self.verdict.checks:
            lines.append(show.heading(check, self.step, self.lang).text)
            lines += [f"         {line}" for line in self._explained(check, told)]
        blocks = (printed(self.verdict, self.lang), [*self.notes, *self._next()])
        for block in blocks:
            lines += ["", *block] if block else []
        return "\n".join([*lines, self._sum()])

    def html(self) -> str:
        """One `div`, without scripts; everything in it is escaped."""
        told: set[str] = set()
        rows = "\n".join(self._row(check, told) for check in self.verdict.checks)
        titles = ("state", "points", "check")
        head = "".join(
            f'<th scope="col" class="{name}">{_safe(say(f"table.{name}", self.lang))}</th>'
            for name in titles
        )
        below = [f"<p>{_safe(line)}</p>" for line in [*self.notes, *self._next()]]
        about, *prints = printed(self.verdict, self.lang) or [""]
        if prints:
            lines = "\n".join(line.removeprefix(_BAR) for line in prints)
            below = [f"<p>{_safe(about)}</p>", f"<pre>{_safe(lines)}</pre>", *below]
        return "\n".join(
            [
                f'<div class="autograder-verdict" lang="{self.lang}">',
                f"<style>{_STYLE}</style>",
                *(f"<p>{_safe(line)}</p>" for line in self.warnings),
                '<table class="checks">',
                f"<caption>{_safe(self._sum().replace('  ', ' · '))}</caption>",
                f"<thead><tr>{head}</tr></thead>",
                f"<tbody>\n{rows}\n</tbody>",
                "</table>",
                *below,
                "</div>",
            ]
        )

    def _row(self, check: CheckVerdict, told: set[str]) -> str:
        state = _state(check)
        mark = "·" if state == "remark" else show.MARKS[state]
        word = say(f"state.{state}", self.lang)
        points = f"{check.points}/{check.max_points}" if check.max_points else ""
        title = show.title(check.check, self.step, self.lang)
        if not check.max_points:
            title = f"{title} ({say('show.remark', self.lang)})"
        why = "\n".join(self._explained(check, told))
        return (
            f'<tr class="{state}"><td class="state">{mark} {_safe(word)}</td>'
            f'<td class="points">{points}</td><th scope="row" class="check">{_safe(title)}'
            + (f'<div class="why">{_safe(why)}</div>' if why else "")
            + "</th></tr>"
        )

    def _explained(self, check: CheckVerdict, told: set[str]) -> Iterator[str]:
        return show.explained(check, self.step, self.lang, self.verdict.filename, told)

    def _next(self) -> Iterator[str]:
        """What to try next, of what makes sense here."""
        if not self.live:
            return
        wrong = [c for c in self.verdict.checks if c.max_points and c.state != "passed"]
        if any(c.unwritten for c in wrong):
            yield say("notebook.try_write", self.lang)
        elif wrong:
            tried = [c for c in wrong if c.state != "skipped"] or wrong
            yield say("notebook.try_fix", self.lang, mark=show.MARKS[tried[0].state])
            if all(c.state == "failed" for c in wrong):
                yield say("notebook.try_watch", self.lang, step=self.step.name)
        else:
            yield show.following(self.step, self.lang).text
            if later := self._next_notebook():
                yield say("notebook.open_next", self.lang, file=later)

    def _next_notebook(self) -> str:
        """The next step's notebook, as a file browser shows it; '' if it is not beside this one."""
        later = show.next_step(self.step)
        if later is None or self.folder is None:
            return ""
        names = [f"{later.name}/{name_of(later, lang)}" for lang in (self.lang, "en")]
        return next((name for name in names if (self.folder.parent / name).is_file()), "")

    def _sum(self) -> str:
        return show.summed(self.verdict, self.verdict.checks, self.step, self.lang).text


def printed(verdict: Verdict, lang: str) -> list[str]:
    """What the learner's code printed, after a line that says so; nothing where it did not."""
    lines = [line.text for line in show.printed(verdict, lang)]
    return lines if len(lines) <= _PRINTED else [*lines[:_PRINTED], f"{_BAR}…"]


def _state(check: CheckVerdict) -> str:
    """The check's state; advice that has nothing to say of unwritten code counts as not tried."""
    if check.max_points or check.state == "passed":
        return check.state
    return "remark" if show.is_remark(check) else "skipped"


def _safe(text: str) -> str:
    return html.escape(text, quote=True)
