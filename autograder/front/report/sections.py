"""The sections about a step: the summary, the heat map, lost checks, mistakes, points, time."""

from __future__ import annotations

from autograder.front.report.figures import Column, Held, StepFigures
from autograder.front.report.html import Html, element
from autograder.front.report.parts import (
    View,
    anchor_of,
    bar,
    cell,
    column_head,
    item,
    number,
    out_of,
    paragraph,
    row,
    row_head,
    section,
    shade,
    table,
)
from autograder.front.report.told import told
from autograder.front.report.work import Work, share_of


def step_section(step: StepFigures, view: View) -> Html:
    """All about a step."""
    parts = [_summary(step, view)]
    if step.works:
        parts += [
            _marks(step, view),
            _hardest(step, view),
            _mistakes(step, view),
            _distribution(step, view),
            _time(step, view),
            told(step, view),
        ]
    parts.append(paragraph(element("a", view.say("to_top"), href="#top"), class_="hint"))
    return section(step.heading, *parts, id_=step.name, level=2)


def _summary(step: StepFigures, view: View) -> Html:
    facts = [
        ("students", str(len(step.works) + len(step.missing))),
        ("graded", str(len(step.works))),
        ("missing", str(len(step.missing))),
        ("mean", number(step.mean)),
        ("median", number(step.median)),
        ("full", str(step.full)),
    ]
    boxes = [
        element(
            "div",
            element("dt", view.say(key, possible=number(step.possible))),
            element("dd", figure),
        )
        for key, figure in facts
    ]
    parts = [element("dl", *boxes, class_="facts")]
    if step.missing:
        parts.append(view.students(view.say("missing_who"), step.missing, None))
    return section(view.say("summary"), *parts, id_=f"{step.name}-summary")


# ---------------------------------------------------------------- the heat map


def _marks(step: StepFigures, view: View) -> Html:
    gradebook = any(work.score is not None for work in step.works)
    heads = [view.say("head_student"), view.say("head_points")]
    if gradebook:
        heads.append(view.say("head_gradebook"))
    checks = [
        column_head(element("a", column.name, href=f"#{anchor_of(step, column.name)}"))
        for column in step.graded
    ]
    head = row(*map(column_head, heads), *checks)
    rows = [_work(work, step, view, gradebook) for work in step.works]
    caption = view.say("marks_caption", step=step.name)
    grid = table(caption, head, rows, f"{step.name}-table", class_="heat")
    hints = [view.say("marks_hint")]
    if gradebook:
        hints.append(view.say("gradebook_hint"))
    hint = paragraph(" ".join(hints), class_="hint")
    return section(view.say("marks"), hint, grid, id_=f"{step.name}-marks")


def _work(work: Work, step: StepFigures, view: View, gradebook: bool) -> Html:
    share = share_of(work.points, work.max_points)
    cells = [cell(element("b", out_of(work.points, work.max_points)), class_=shade(share))]
    if gradebook and work.score is None:
        cells.append(cell("–"))
    elif gradebook:
        text = out_of(work.score, work.possible)
        differs = work.score != work.points or work.possible != work.max_points
        cells.append(cell(element("b", text) if differs else text, class_=shade(work.share)))
    cells += [_mark(work, column, view) for column in step.graded]
    return row(row_head(view.student(work.student, step)), *cells)


def _mark(work: Work, column: Column, view: View) -> Html:
    mark = work.mark(column.name)
    word = element("small", view.say(f"state.{mark.state}"))
    if mark.state == "absent":
        return cell(word, class_="absent")
    points = element("b", out_of(mark.points, mark.max_points))
    return cell(points, " ", word, class_=mark.state)


# ---------------------------------------------------------------- checks and mistakes


def _hardest(step: StepFigures, view: View) -> Html:
    keys = ("head_check", "head_worth", "head_lost", "head_why")
    head = row(*(column_head(view.say(key)) for key in keys))
    passed = [column for column in step.graded if not column.lost]
    rows = [_column(column, step, view) for column in [*step.hardest, *passed]]
    id_ = f"{step.name}-hardest"
    parts = [table(view.say("hardest_caption"), head, rows, f"{id_}-table", class_="bars")]
    remarks = [
        item(
            view.say(
                "remark",
                title=column.title,
                check=column.name,
                count=len(students),
                all=len(step.works),
            )
        )
        for column, students in step.remarks
    ]
    if remarks:
        parts += [paragraph(view.say("remarks")), element("ul", *remarks)]
    return section(view.say("hardest"), *parts, id_=id_)


def _column(column: Column, step: StepFigures, view: View) -> Html:
    why = [
        view.say("why", state=view.say(f"state.{state}"), count=count)
        for state, count in column.states.most_common()
        if state not in ("passed", "absent")
    ]
    share = share_of(column.lost, column.tried)
    return row(
        row_head(element("code", column.name), " ", column.title),
        cell(number(column.max_points)),
        cell(bar(share), view.say("of", count=column.lost, all=column.tried)),
        cell(", ".join(why) or "–"),
        id=anchor_of(step, column.name),
    )


def _mistakes(step: StepFigures, view: View) -> Html:
    parts: list[Html] = []
    if step.mistakes:
        items = [_held(held, step, view) for held in step.mistakes]
        parts.append(element("ol", *items, class_="mistakes"))
        parts.append(paragraph(view.say("alike"), class_="hint"))
    else:
        parts.append(paragraph(view.say("mistakes_none")))
    if step.wrong:
        text = view.say("unnamed", wrong=step.wrong, unnamed=step.unnamed)
        parts.append(paragraph(text))
    if step.unnamed_students:
        parts.append(view.students(view.say("unnamed_who"), step.unnamed_students, step))
    return section(view.say("mistakes"), *parts, id_=f"{step.name}-mistakes")


def _held(held: Held, step: StepFigures, view: View) -> Html:
    """A mistake; one that this kit does not know is called as the results call it."""
    mistake = step.known(held.slug)
    name = mistake.name[view.lang] if mistake else held.slug
    count = view.say("of", count=len(held.students), all=len(step.works))
    lines = [
        paragraph(
            element("strong", name),
            " ",
            bar(len(held.students) / len(step.works)),
            element("span", count, class_="count"),
        )
    ]
    if mistake:
        pairs = (("ask", mistake.question), ("where", mistake.place))
        lines += [
            paragraph(element("b", view.say(key)), " ", words[view.lang]) for key, words in pairs
        ]
    lines.append(view.students(element("b", view.say("held_by")), held.students, step))
    seen = paragraph(
        element("b", view.say("seen_in")), " ", element("code", ", ".join(held.checks))
    )
    return item(*lines, seen)


# ---------------------------------------------------------------- points and time


def _distribution(step: StepFigures, view: View) -> Html:
    counts = step.histogram
    highest = max(counts)
    marks = [number(step.possible * bin_ / (len(counts) - 1)) for bin_ in range(len(counts))]
    head = row(row_head(view.say("head_points")), *map(column_head, marks))
    cells = [cell(str(n), style=f"--share:{n / highest:.3f}") for n in counts]
    body = row(row_head(view.say("head_students")), *cells)
    id_ = f"{step.name}-distribution"
    caption = view.say("distribution_caption")
    grid = table(caption, head, [body], f"{id_}-table", class_="histogram")
    return section(view.say("distribution"), grid, id_=id_)


def _time(step: StepFigures, view: View) -> Html:
    parts = [paragraph(view.say("time_median", seconds=number(step.seconds)))]
    if step.out_of_time:
        parts.append(view.students(view.say("time_out"), step.out_of_time, step))
    else:
        parts.append(paragraph(view.say("time_none")))
    head = row(column_head(view.say("head_student")), column_head(view.say("head_seconds")))
    longest = step.slowest[0].seconds or 1
    rows = [
        row(
            row_head(view.student(work.student, step)),
            cell(bar(work.seconds / longest), number(work.seconds)),
        )
        for work in step.slowest
    ]
    id_ = f"{step.name}-time"
    parts.append(table(view.say("slowest_caption"), head, rows, f"{id_}-table", class_="bars"))
    return section(view.say("time"), *parts, id_=id_)
