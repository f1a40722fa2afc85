"""Step 12: schedules and optimizers written in many ways, graded as a learner's file would be."""

from __future__ import annotations

import pytest

from autograder.core.grading import grade
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict
from tests.steps import schedule_builds

STEP = find_step(12)
SOLUTION = STEP.solution.read_text(encoding="utf-8")

# Mistakes are planted in these by hand. The first has the published code's off-by-one.
BUILDS = {
    "published": """
import torch
from torch.optim.lr_scheduler import LambdaLR


def rate(step, model_size, factor, warmup):
    if step == 0:
        step = 1
    return factor * (model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5)))


def make_optimizer(model, d_model, factor=1.0, warmup=4000):
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    lr_scheduler = LambdaLR(
        optimizer=optimizer,
        lr_lambda=lambda step: rate(step, d_model, factor=factor, warmup=warmup),
    )
    return optimizer, lr_scheduler
""",
    "cases": """
import math
import torch


def rate(step, model_size, factor, warmup):
    n = step or 1
    if n < warmup:
        share = n / warmup
    else:
        share = math.sqrt(warmup / n)
    return factor * share / math.sqrt(model_size * warmup)


class Schedule:
    def __init__(self, optimizer, *sizes):
        self.optimizer, self.sizes, self.number = optimizer, sizes, 0
        self.step()

    def step(self):
        self.number += 1
        for group in self.optimizer.param_groups:
            group["lr"] = rate(self.number, *self.sizes)


def make_optimizer(model, d_model, factor=1.0, warmup=4000):
    params = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.Adam(params, betas=(0.9, 0.98), eps=1e-9, foreach=False)
    return [adam, Schedule(adam, d_model, factor, warmup)]
""",
    "tensors": """
import torch
from torch import optim


def rate(step, model_size, factor, warmup):
    step = torch.clamp(torch.as_tensor(float(step)), min=1.0)
    rising = step.mul(float(warmup) ** -1.5)
    falling = step.rsqrt()
    return factor * torch.minimum(rising, falling) * model_size**-0.5


def make_optimizer(model, d_model, factor=1.0, warmup=4000):
    groups = [{"params": [p], "lr": 2.0} for p in model.parameters()]
    opt = optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)
    jobs = [lambda n: 0.5 * float(rate(1 + n, d_model, factor, warmup))] * len(groups)
    return opt, optim.lr_scheduler.LambdaLR(opt, jobs)
""",
}


def edited(text: str, *edit: str) -> str:
    for find, replace in zip(edit[::2], edit[1::2], strict=True):
        assert text.count(find) == 1, (find, text.count(find))
        text = text.replace(find, replace)
    return text


HONEST = BUILDS | {
    "15.2 numpy": edited(
        SOLUTION,
        "falling = step**-0.5",
        "import numpy as np\n    falling = np.float64(step) ** -0.5",
        "min(falling, growing)",
        "np.minimum(falling, growing)",
    ),
    "15.2 a 0-dim tensor": edited(
        SOLUTION,
        "return factor * model_size**-0.5 * min(falling, growing)",
        "return torch.tensor(factor * model_size**-0.5 * min(falling, growing))",
    ),
    "15.4 three halves of a root": edited(
        SOLUTION, "step * warmup**-1.5", "step / (warmup * warmup**0.5)"
    ),
    "15.4 one root of all": edited(
        SOLUTION,
        "return factor * model_size**-0.5 * min(falling, growing)",
        "return factor * (model_size * max(1 / falling**2, 1 / growing**2)) ** -0.5",
    ),
    "15.1 zero apart": edited(SOLUTION, "step = max(step, 1)", "step += step == 0"),
    "15.3 the optimizer's own rate is the peak": edited(
        SOLUTION,
        "lr=1.0,",
        "lr=rate(warmup, d_model, factor, warmup),",
        "return rate(number, d_model, factor, warmup)",
        "return min(number / warmup, (warmup / number) ** 0.5)",
    ),
    "15.3 a scheduler of its own": SOLUTION.replace(
        "scheduler = LambdaLR(optimizer, rate_after)",
        "class Noam(torch.optim.lr_scheduler.LRScheduler):\n"
        "        def get_lr(self):\n"
        "            return [rate_after(self.last_epoch) for _ in self.base_lrs]\n\n"
        "    scheduler = Noam(optimizer)",
    ),
    "15.3 fused": edited(SOLUTION, "eps=1e-9,", "eps=1e-9, fused=True,"),
}
HONEST |= schedule_builds.HONEST

FORMULA = "min(step ** (-0.5), step * warmup ** (-1.5))"
# By mistake: an edit of each build; none, where it has no place.
PLANTED: dict[str, tuple[tuple[str, ...], ...]] = {
    "weights-decay": (
        ("eps=1e-9", "eps=1e-9, weight_decay=1e-4"),
        ("foreach=False", "foreach=False, weight_decay=0.01"),
        (),
    ),
    "rates-by-part": (
        (
            "model.parameters()",
            "[{'params': [p], 'lr': 0.1 if 'encoder' in n else 1.0}"
            " for n, p in model.named_parameters()]",
        ),
        (),
        (
            "2.0} for p in model.parameters()",
            '0.2 if "encoder" in n else 2.0} for n, p in model.named_parameters()',
        ),
    ),
    "base-rate-zero": (("lr=1.0", "lr=0"), (), ('"lr": 2.0', '"lr": 0.0')),
    "factor-twice": ((), (), ('"lr": 2.0', '"lr": 2.0 * factor')),
    "factor-and-warmup-swapped": (
        ("model_size, factor, warmup)", "model_size, warmup, factor)"),
        ("model_size, factor, warmup)", "model_size, warmup, factor)"),
        ("model_size, factor, warmup)", "model_size, warmup, factor)"),
    ),
    "max-for-min": (
        ("min(step", "max(step"),
        ("n < warmup", "n > warmup"),
        ("torch.minimum", "torch.maximum"),
    ),
    "never-falls": (
        (FORMULA, "step * warmup ** -1.5"),
        ("n < warmup", "n > 0"),
        ("step.rsqrt()", "step.sqrt()"),
    ),
    "never-rises": (
        (FORMULA, "step ** -0.5"),
        ("n < warmup", "n < 0"),
        ("torch.minimum(rising, falling)", "falling"),
    ),
    "level-after-warmup": (
        ("step ** (-0.5)", "warmup ** (-0.5)"),
        ("math.sqrt(warmup / n)", "1.0"),
        ("step.rsqrt()", "torch.tensor(warmup**-0.5)"),
    ),
    "falls-in-proportion": (
        ("step ** (-0.5)", "warmup**0.5 * step ** (-1)"),
        ("math.sqrt(warmup / n)", "warmup / n"),
        ("step.rsqrt()", "warmup**0.5 / step"),
    ),
    "power-of-the-product": (
        ("step * warmup ** (-1.5)", "(step * warmup) ** (-1.5)"),
        (),
        ("step.mul(float(warmup) ** -1.5)", "step.mul(warmup) ** -1.5"),
    ),
    "warmup-power-half": (
        ("warmup ** (-1.5)", "warmup ** (-0.5)"),
        (),
        ("float(warmup) ** -1.5", "float(warmup) ** -0.5"),
    ),
    "warmup-power-one": (
        ("warmup ** (-1.5)", "warmup ** (-1)"),
        (),
        ("float(warmup) ** -1.5", "float(warmup) ** -1"),
    ),
    "step-shifted": (
        ("    if step == 0:\n        step = 1\n", "    step = step + 1\n"),
        ("n = step or 1", "n = step + 1"),
        ("torch.clamp(torch.as_tensor(float(step)), min=1.0)", "torch.tensor(step + 1.0)"),
    ),
    "step-ignored": (
        ("    if step == 0:\n        step = 1\n", "    step = 1\n"),
        ("n = step or 1", "n = 1"),
        ("torch.clamp(torch.as_tensor(float(step)), min=1.0)", "torch.tensor(1.0)"),
    ),
    "model-size-missing": (
        ("model_size ** (-0.5) * ", ""),
        ("math.sqrt(model_size * warmup)", "math.sqrt(warmup)"),
        (" * model_size**-0.5", ""),
    ),
    "model-size-rooted-up": (
        ("model_size ** (-0.5)", "model_size ** (0.5)"),
        ("math.sqrt(model_size * warmup)", "math.sqrt(warmup / model_size)"),
        ("model_size**-0.5", "model_size**0.5"),
    ),
    "model-size-without-root": (
        ("model_size ** (-0.5)", "model_size ** (-1)"),
        ("math.sqrt(model_size * warmup)", "model_size / math.sqrt(warmup)"),
        ("model_size**-0.5", "1 / model_size"),
    ),
    "factor-ignored": (
        ("return factor * (", "return ("),
        ("factor * share", "share"),
        ("factor * torch", "torch"),
    ),
    "factor-on-the-fall-only": (
        ("return factor * (", "return (", "min(step", "min(factor * step"),
        (),
        ("factor * torch", "torch", "step.rsqrt()", "step.rsqrt() * factor"),
    ),
    "factor-on-the-rise-only": (
        ("return factor * (", "return (", "step * warmup", "factor * step * warmup"),
        (),
        ("factor * torch", "torch", "step.mul(", "step.mul(factor).mul("),
    ),
    "factor-divides": (
        ("return factor * (", "return 1 / factor * ("),
        ("factor * share", "share / factor"),
        ("factor * torch", "1 / factor * torch"),
    ),
    "zero-rate-at-zero": (
        ("step = 1", "return 0"),
        ("n = step or 1", "n = step"),
        ("torch.clamp(torch.as_tensor(float(step)), min=1.0)", "torch.tensor(float(step))"),
    ),
    "adamw-for-adam": (("optim.Adam(", "optim.AdamW("), (), (", weight_decay=0.0", "")),
    "betas-default": ((" betas=(0.9, 0.98),", ""),) * 3,
    "betas-swapped": (("(0.9, 0.98)", "(0.98, 0.9)"),) * 3,
    "eps-default": ((", eps=1e-9", ""),) * 3,
    "betas-and-eps-default": ((", betas=(0.9, 0.98), eps=1e-9", ""),) * 3,
    "generator-left-out": (
        (
            "Adam(model.parameters()",
            "Adam([p for n, p in model.named_parameters() if n[:3] != 'gen']",
        ),
        (
            "for p in model.parameters() if",
            "for n, p in model.named_parameters() if 'generator' not in n and",
        ),
        (
            "for p in model.parameters()]",
            "for n, p in model.named_parameters() if n[:9] != 'generator']",
        ),
    ),
    "pair-swapped": (
        ("return optimizer, lr_scheduler", "return lr_scheduler, optimizer"),
        (
            "return [adam, Schedule(adam, d_model, factor, warmup)]",
            "return [Schedule(adam, d_model, factor, warmup), adam]",
        ),
        (
            "opt, optim.lr_scheduler.LambdaLR(opt, jobs)",
            "optim.lr_scheduler.LambdaLR(opt, jobs), opt",
        ),
    ),
    "base-rate-default": ((), (), ('"lr": 2.0', '"lr": 2e-3')),
    "base-rate-small": ((), (), ('"lr": 2.0', '"lr": 2e-4')),
    "factor-not-handed-on": (
        (),
        ("(adam, d_model, factor", "(adam, d_model, 1.0"),
        ("n, d_model, factor", "n, d_model, 1.0"),
    ),
    "warmup-not-handed-on": (
        (),
        ("factor, warmup)]", "factor, 4000)]"),
        ("factor, warmup))", "factor, 4000))"),
    ),
    "width-not-handed-on": (
        (),
        ("(adam, d_model", "(adam, 512"),
        ("1 + n, d_model", "1 + n, 512"),
    ),
    "an-update-early": (
        (),
        ("sizes, 0", "sizes, 1"),
        ("1 + n", "2 + n"),
    ),
    "an-update-late": (
        (),
        ("sizes, 0", "sizes, -1"),
        ("1 + n", "n"),
    ),
    "rate-never-changes": (
        (),
        ("rate(self.number", "rate(1"),
        ("rate(1 + n", "rate(1"),
    ),
}
CASES = [
    pytest.param(slug, build, edit, id=f"{slug}-{build}")
    for slug, edits in PLANTED.items()
    for build, edit in zip(BUILDS, edits, strict=True)
    if edit
]


def graded(text: str, seed: int = 3) -> Verdict:
    return grade(STEP, Source(text, "schedule.py"), seed=seed)


def failed(verdict: Verdict, *, advice: bool = False) -> set[str]:
    return {c.check for c in verdict.checks if c.state != "passed" and (c.max_points or advice)}


def named(verdict: Verdict) -> set[str]:
    return {slug for c in verdict.checks for slug in c.misconceptions}


@pytest.mark.parametrize("name", HONEST)
def test_right_schedules_get_full_marks(name: str) -> None:
    verdict = graded(HONEST[name])
    assert failed(verdict) == set(), verdict
    assert failed(verdict, advice=True) == ({"on_time"} if name == "published" else set())
    assert named(verdict) == ({"an-update-late"} if name == "published" else set())


@pytest.mark.parametrize(("slug", "build", "edit"), CASES)
def test_a_planted_mistake_is_named_and_nothing_else_is(
    slug: str, build: str, edit: tuple[str, ...]
) -> None:
    verdict = graded(edited(BUILDS[build], *edit))
    remark = {"an-update-late"} if build == "published" else set()
    assert named(verdict) - remark == {slug}, verdict
    assert (verdict.points < 10) != bool(STEP.misconception(slug).advice)


# Edits of the solution that no entry of the catalogue knows, and the checks that they cost.
UNKNOWN: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "twice as large": (("return factor *", "return 2 * factor *"), {"peak"}),
    "a cosine": (
        (
            "falling = step**-0.5",
            "falling = warmup**-0.5 * (1 + __import__('math').cos(step / warmup))",
        ),
        {"decay"},
    ),
    "quadratic": (("growing = step * warmup**-1.5", "growing = step**2 * warmup**-2.5"), {"rise"}),
    "capped": (("min(falling, growing)", "min(falling, growing, 0.2)"), {"rise", "decay", "peak"}),
    "never below": (
        ("min(falling, growing)", "max(min(falling, growing), 0.09)"),
        {"rise", "decay"},
    ),
    "warm-up in root": (
        ("growing = step * warmup**-1.5", "growing = step**0.5 / warmup"),
        {"rise"},
    ),
    "log of the width": (
        ("model_size**-0.5", "1 / (1 + __import__('math').log(model_size))"),
        {"width"},
    ),
    "factor squared": (("return factor *", "return factor**2 *"), {"factor"}),
    "zero counts as two": (("step = max(step, 1)", "step = step or 2"), {"step_zero"}),
    "Adamax": (("optim.Adam(", "optim.Adamax("), {"adam"}),
    "NAdam": (("optim.Adam(", "optim.NAdam("), {"adam", "updates"}),
    "amsgrad": (("eps=1e-9,", "eps=1e-9, amsgrad=True,"), {"adam"}),
    "only matrices": (
        (
            "model.parameters(),",
            "[p for p in model.parameters() if p.dim() > 1] or model.parameters(),",
        ),
        {"adam"},
    ),
    "half the rate": (
        (
            "return rate(number, d_model, factor, warmup)",
            "return rate(number, d_model, factor, warmup) / 2",
        ),
        {"updates"},
    ),
    "every second update": (("number = updates + 1", "number = updates // 2 + 1"), {"updates"}),
    "two updates late": (("number = updates + 1", "number = max(updates - 1, 1)"), {"updates"}),
    "another default": (
        ("factor: float = 1.0, warmup: int = 4000", "factor: float = 2.0, warmup: int = 4000"),
        {"updates"},
    ),
    "one thing only": (
        ("return optimizer, scheduler", "return optimizer"),
        {"pair", "updates"},
    ),
    "three things": (
        ("return optimizer, scheduler", "return optimizer, scheduler, rate"),
        {"pair"},
    ),
    "by name": (
        ("return optimizer, scheduler", "return {'optimizer': optimizer, 'scheduler': scheduler}"),
        {"pair"},
    ),
    "neither": (("return optimizer, scheduler", "return None"), {"pair", "adam", "updates"}),
    "rounded": (
        (
            "return factor * model_size**-0.5 * min(falling, growing)",
            "return round(factor * model_size**-0.5 * min(falling, growing), 6)",
        ),
        {"rise"},
    ),
    "down to nothing": (
        ("falling = step**-0.5", "falling = max(2 * warmup - step, 0) * warmup**-1.5"),
        {"decay"},
    ),
    "an eps of the wrong sign": (("eps=1e-9", "eps=1e9"), {"adam", "updates"}),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    edit, checks = UNKNOWN[name]
    verdict = graded(edited(SOLUTION, *edit))
    assert failed(verdict) == checks, verdict
    assert named(verdict) == set()


def test_a_mistake_in_one_export_costs_the_other_nothing() -> None:
    for mistake in STEP.misconceptions:
        verdict = graded(mistake.applied_to(SOLUTION))
        exports = {c.export for c in verdict.checks if c.points < c.max_points}
        assert len(exports) == (0 if mistake.advice else 1), mistake.slug


def test_a_rate_that_stops_at_step_0_hides_nothing_of_the_optimizer() -> None:
    text = STEP.solution.read_text(encoding="utf-8")
    stops = text.replace("step = max(step, 1)", "pass").replace("lr=1.0,", "lr=0.5,")
    lost = {c.check for c in graded(stops).checks if c.points < c.max_points}
    assert lost == {"step_zero", "updates"}
