"""Demo of step 12: the learning rate as a table and a curve, and what the optimizer makes of it."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
from torch import nn

from autograder.demo import Say, run

ROWS, WIDTH = 16, 48
WARMUP, UPDATES = 4, 6

TEXTS = {
    "en": {
        "rates": "rate(step, {d_model}, 1.0, {warmup}):",
        "rate": "   step {step:>7,}   {rate:.4e}",
        "peak": "   step {step:>7,}   {rate:.4e}   the peak",
        "curve": "the curve up to step {last:,}:",
        "bar": "   {step:>7,} {bar}",
        "powers": "twice as late is x {growth:.3f} in the warm-up, and x {decay:.3f} in the decay",
        "formula_off": (
            "   By the formula x {growth:.3f} and x {decay:.3f}, {peak:.4e} in step {warmup:,}. "
            "Which powers differ?"
        ),
        "zero": "rate(0, ...) = {rate:.4e}, as in step 1",
        "zero_off": "rate(0, ...) = {rate:.4e}. What would the first update learn with that?",
        "adam": "the optimizer: {name}, betas {betas}, eps {eps:g}",
        "adam_off": "   The paper has Adam, betas (0.9, 0.98), eps 1e-09. What is handed on?",
        "updates": "what the optimizer uses in its first updates, with a warm-up of {warmup}:",
        "update": "   update {number}   {used:.4e}   rate({number}) = {wanted:.4e}",
        "agrees": "   Update n uses rate(n).",
        "late": "   Each update uses the rate of the one before it; the first one comes twice.",
        "differs": "   Update n should use rate(n).",
        "written": "a picture of the curve for several settings: {file}",
        "no_matplotlib": (
            "(No picture: matplotlib is not here. "
            "pip install 'transformer-by-building[plots]' brings it.)"
        ),
        "wide": "rate(step, 512, 1.0, 4000)",
        "narrow": "rate(step, 256, 1.0, 2000)",
        "down": "learning rate",
        "across": "step",
    },
    "ko": {
        "rates": "rate(step, {d_model}, 1.0, {warmup}):",
        "rate": "   step {step:>7,}   {rate:.4e}",
        "peak": "   step {step:>7,}   {rate:.4e}   꼭대기",
        "curve": "step {last:,}까지의 곡선:",
        "bar": "   {step:>7,} {bar}",
        "powers": "두 배 늦은 step에서는 워밍업 중이면 x {growth:.3f}, 감소 중이면 x {decay:.3f}",
        "formula_off": (
            "   식대로라면 x {growth:.3f}, x {decay:.3f}이고 step {warmup:,}에서 {peak:.4e}예요. "
            "어느 거듭제곱이 다른가요?"
        ),
        "zero": "rate(0, ...) = {rate:.4e}. step 1과 같아요.",
        "zero_off": "rate(0, ...) = {rate:.4e}. 이 값으로 첫 갱신을 하면 무엇을 배우나요?",
        "adam": "옵티마이저: {name}, betas {betas}, eps {eps:g}",
        "adam_off": "   논문은 Adam, betas (0.9, 0.98), eps 1e-09예요. 무엇을 넘기나요?",
        "updates": "워밍업이 {warmup}일 때 옵티마이저가 처음 몇 번의 갱신에 쓰는 학습률:",
        "update": "   갱신 {number}   {used:.4e}   rate({number}) = {wanted:.4e}",
        "agrees": "   n번째 갱신은 rate(n)을 써요.",
        "late": "   갱신마다 바로 앞 갱신의 학습률을 써요. 첫 학습률이 두 번 나와요.",
        "differs": "   n번째 갱신은 rate(n)을 써야 해요.",
        "written": "여러 설정의 곡선을 그린 그림: {file}",
        "no_matplotlib": (
            "(matplotlib이 없어서 그림은 그리지 않았어요. "
            "pip install 'transformer-by-building[plots]'로 설치할 수 있어요.)"
        ),
        "wide": "rate(step, 512, 1.0, 4000)",
        "narrow": "rate(step, 256, 1.0, 2000)",
        "down": "학습률",
        "across": "step",
    },
}

SIZES = {"d_model": 512, "warmup": 4000, "plot": None}

Rate = Callable[[int], float]


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    d_model, warmup = options.d_model, options.warmup

    def rate(number: int) -> float:
        return float(step.rate(number, d_model, 1.0, warmup))

    show_rates(rate, say, d_model, warmup)
    show_curve(rate, say, last=4 * warmup)
    show_optimizer(step, say, d_model)
    if options.plot:
        draw(step, say, options.plot)


def show_rates(rate: Rate, say: Say, d_model: int, warmup: int) -> None:
    peak = max(range(1, 4 * warmup + 1), key=rate)
    steps = {1, 2, max(warmup // 2, 1), warmup, 2 * warmup, 4 * warmup, peak}
    say("rates", d_model=d_model, warmup=warmup)
    for number in sorted(steps):
        say("peak" if number == peak else "rate", step=number, rate=rate(number))
    factors = {"growth": rate(2) / rate(1), "decay": rate(8 * warmup) / rate(4 * warmup)}
    say("powers", **factors)

    def wanted(number: int) -> float:
        return float(d_model**-0.5 * min(number**-0.5, number * warmup**-1.5))

    if not all(math.isclose(rate(number), wanted(number), rel_tol=1e-4) for number in steps):
        growth, decay = wanted(2) / wanted(1), wanted(8 * warmup) / wanted(4 * warmup)
        say("formula_off", growth=growth, decay=decay, peak=wanted(warmup), warmup=warmup)
    say("zero" if math.isclose(rate(0), rate(1)) else "zero_off", rate=rate(0))


def show_curve(rate: Rate, say: Say, last: int) -> None:
    """Draw some of the rates as bars, the longest as wide as the picture."""
    steps = sorted({max(last * row // ROWS, 1) for row in range(ROWS + 1)})
    longest = max(map(rate, steps))
    say("curve", last=last)
    for number in steps:
        say("bar", step=number, bar="#" * round(WIDTH * rate(number) / longest))


def show_optimizer(step: ModuleType, say: Say, d_model: int) -> None:
    optimizer, scheduler = step.make_optimizer(nn.Linear(2, 2), d_model, warmup=WARMUP)
    settings = optimizer.param_groups[0]
    name = type(optimizer).__name__
    betas, eps = tuple(settings["betas"]), settings["eps"]
    say("adam", name=name, betas=betas, eps=eps)
    if (name, betas, eps) != ("Adam", (0.9, 0.98), 1e-9):
        say("adam_off")

    say("updates", warmup=WARMUP)
    used, wanted = [], []
    for number in range(1, UPDATES + 1):
        used.append(optimizer.param_groups[0]["lr"])
        wanted.append(float(step.rate(number, d_model, 1.0, WARMUP)))
        say("update", number=number, used=used[-1], wanted=wanted[-1])
        optimizer.step()
        scheduler.step()
    if all(map(math.isclose, used, wanted)):
        say("agrees")
    elif all(map(math.isclose, used, wanted[:1] + wanted)):
        say("late")
    else:
        say("differs")


def draw(step: ModuleType, say: Say, file: Path) -> None:
    """Draw the curves of three settings; the words in the picture are English in any language."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        say("no_matplotlib")
        return
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    steps = range(1, 20_001, 10)
    for d_model, warmup in ((512, 4000), (512, 8000), (256, 4000)):
        rates = [float(step.rate(number, d_model, 1.0, warmup)) for number in steps]
        axes.plot(steps, rates, label=f"d_model {d_model}, warm-up {warmup:,}")
    axes.set(title="The learning rate of each update", xlabel="update", ylabel="learning rate")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file)
    say("written", file=file)


def picture(step: ModuleType) -> dict[str, torch.Tensor]:
    """Return the curves of a wide model and of a narrow one, from step 0, drawn as step 1."""

    def curve(d_model: int, warmup: int) -> torch.Tensor:
        steps = (max(number, 1) for number in range(16_001))
        return torch.tensor([float(step.rate(number, d_model, 1.0, warmup)) for number in steps])

    return {"wide": curve(512, 4000), "narrow": curve(256, 2000)}


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
