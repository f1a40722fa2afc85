"""Probes of step 12: how the learning rate rises and falls, and what the optimizer makes of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo  # an optimizer loads it when it is made: once, here, not in every child
from torch import Tensor, nn

from autograder.core.compare import kind_of
from autograder.core.draw import Draw
from autograder.core.observation import Value, see
from autograder.core.subject import Subject, Unusable

Rate = Callable[..., Any]

# ---------------------------------------------------------------- rate


def rise(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Rates up to the warm-up, each as a multiple of the first; also tiny ones, as in the paper."""
    w = _warmup(draw)
    steps = [1, 2, 3, w // 2, w - 1, w]
    rates = _rates(subject, draw, steps)
    tiny, *larger = [_number(subject.rate(n, 512, 1.0, 4000)) for n in (1, 10, 4000)]
    found = _or_curve(subject, draw, "rise", _shares(rates, rates[0]), [float(n) for n in steps])
    return {**found, "rise_of_base": _shares(larger, tiny)}


def decay(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Rates from the warm-up on, each as a share of that at the warm-up."""
    w = _warmup(draw)
    steps = [w + 1, w + 2, 2 * w, 5 * w + 1, 20 * w]
    first, *rates = _rates(subject, draw, [w, *steps])
    usual = [math.sqrt(w / n) for n in steps]
    return _or_curve(subject, draw, "decay", _shares(rates, first), usual)


def peak(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The rate at the end of several warm-ups, for a model of size 1 and a factor of 1."""
    lengths = [_warmup(draw), _warmup(draw) + 4, 3 * _warmup(draw)]
    rates = torch.tensor([_number(subject.rate(w, 1, 1.0, w)) for w in lengths])
    return _or_curve(subject, draw, "peak", rates, [w**-0.5 for w in lengths])


def width(subject: Subject, draw: Draw) -> dict[str, Value]:
    """By what other model sizes change the rate, before and after the warm-up."""
    d, w = _width(draw), _warmup(draw)
    found: dict[str, Value] = {}
    for name, step in (("wider", w - 2), ("wider_later", w + 3)):
        rates = [_number(subject.rate(step, size, 1.0, w)) for size in (d, 4 * d, 7 * d)]
        found[name] = _shares(rates[1:], rates[0])
    return found


def factor(subject: Subject, draw: Draw) -> dict[str, Value]:
    """By what factors change the rate, before and after the warm-up."""
    d, w, f = _width(draw), _warmup(draw), _factor(draw)
    found: dict[str, Value] = {}
    for name, step in (("factor", w - 2), ("factor_later", w + 3)):
        rates = [_number(subject.rate(step, d, by, w)) for by in (1.0, f, 0.25)]
        found[name] = _shares(rates[1:], rates[0])
    return found


def step_zero(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The rate at step 0, as a share of that at step 1."""
    zero, one = _rates(subject, draw, [0, 1])
    return {"zero": _shares([zero], one)}


# ---------------------------------------------------------------- make_optimizer


def adam(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The size of updates, as multiples of those that a steady gradient makes; what is left out.

    A steady gradient moves a parameter by the learning rate, which is set here: the multiples show
    how gradients are averaged, what is added to the root, and what decays. In a first update all
    parameters move alike.
    """
    model = _Numbers(len(_PULLS))
    optimizer = _parts(subject, model, 16)[0]
    moves = _drive(draw, model, optimizer, 9)
    shares = moves / moves[:, :1]
    found: dict[str, Value] = {n: shares[:, i].clone() for i, n in enumerate(_PULLS) if i}
    parts = _Parts()
    before = {n: p.detach().clone() for n, p in parts.named_parameters()}
    optimizer = _parts(subject, parts, 16)[0]
    for p in parts.parameters():
        p.grad = torch.ones_like(p)
    _step(optimizer, None)
    moved = {n: float((p.detach() - before[n]).abs().mean()) for n, p in parts.named_parameters()}
    found["left_out"] = [n for n, move in moved.items() if not move]
    found["slower"] = [n for n, move in moved.items() if 0 < move < 0.7 * max(moved.values())]
    return found


def pair(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is returned, in which order."""
    result = subject.make_optimizer(_Numbers(1), 16)
    if not isinstance(result, tuple | list) or len(result) != 2:
        return {"returned": kind_of(see(result))}
    one, two = result
    return {
        "returned": "tuple of 2",
        "optimizer": isinstance(one, torch.optim.Optimizer),
        "scheduler": hasattr(two, "step") and not isinstance(two, torch.optim.Optimizer),
    }


def updates(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The sizes of updates, as multiples of the subject's own rates for them.

    The published code is one late: its update n uses the rate of n - 1. Which of the two it is, is
    told by itself.
    """
    d, f, w = _width(draw), _factor(draw), _warmup(draw)
    count = 3 * w
    model = _Numbers(1)
    optimizer, scheduler = _pair(subject, model, d, f, w)
    moves = _drive(draw, model, optimizer, count, scheduler)[:, 0].tolist()
    due = [_number(subject.rate(n, d, f, w)) for n in range(1, count + 1)]
    late = _follows(moves[1:], due[:-1]) and not _follows(moves, due)
    pairs = (moves[1:] if late else moves[:-1], due[:-1])
    model = _Numbers(1)
    optimizer, scheduler = _pair(subject, model, d)
    usual = _drive(draw, model, optimizer, 3, scheduler)[2, 0].item()
    asked = [_number(subject.rate(n, d, 1.0, 4000)) for n in (2, 3)]
    return {
        "updates": torch.tensor([_multiple(m, r) for m, r in zip(*pairs, strict=True)]),
        "defaults": _multiple(usual, asked[0] if late else asked[1]),
        "magnitude": _magnitude(pairs[0][0], pairs[1][0]),
        "late": late,
    }


# ---------------------------------------------------------------- sizes, numbers


def _warmup(draw: Draw) -> int:
    return draw.pick("warmup", (7, 9, 11))


def _width(draw: Draw) -> int:
    return draw.pick("width", (12, 18, 20))


def _factor(draw: Draw) -> float:
    return draw.pick("factor", (2.0, 3.0, 0.5))


def _rates(subject: Subject, draw: Draw, steps: list[int]) -> list[float]:
    """Rates for the drawn size and warm-up, and a factor of 1."""
    return [_number(subject.rate(n, _width(draw), 1.0, _warmup(draw))) for n in steps]


def _or_curve(
    subject: Subject, draw: Draw, name: str, seen: Tensor, usual: list[float]
) -> dict[str, Value]:
    """What was seen; where it is not as usual, the whole curve, too: it tells mistakes apart."""
    if torch.allclose(seen, torch.tensor(usual), rtol=1e-4):
        return {name: seen}
    w = _warmup(draw)
    rates = [_number(subject.rate(n, 1, 1.0, w)) for n in (1, 2, 3, w - 1, w, w + 1, 3 * w)]
    return {name: seen, "curve": _shares(rates, rates[0] or 1.0)}


def _number(value: Any) -> float:
    """As a float; a tensor or array of one number will do.

    Raises:
        Unusable: it is none.
    """
    if value is None:
        raise Unusable("none")
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        raise Unusable("not_number", kind=kind_of(see(value))) from None


def _shares(parts: list[float], whole: float) -> Tensor:
    """The parts as multiples of the whole's size; NaN where there is none."""
    return torch.tensor([part / abs(whole) if whole else math.nan for part in parts])


def _multiple(move: float, rate: float) -> float:
    """How many times the rate was moved by; no move by a rate of 0 is as it should be."""
    if rate:
        return move / rate
    return math.inf if move else 1.0


def _magnitude(move: float, rate: float) -> int | None:
    """How many digits a move is larger than the rate; None where there is none."""
    times = abs(_multiple(move, rate))
    return round(math.log10(times)) if times and math.isfinite(times) else None


def _follows(moves: list[float], rates: list[float]) -> bool:
    pairs = zip(moves, rates, strict=True)
    return all(math.isclose(move, rate, rel_tol=1e-4) for move, rate in pairs)


# ---------------------------------------------------------------- models of a few numbers

# What numbers of a model are pulled by: always 1; another gradient each time; tiny ones; 1 in the
# first update only; nothing, though that number is far from 0.
_PULLS = ("steady", "varied", "tiny", "once", "still")


class _Numbers(nn.Module):
    """A model of one matrix in float64: some let matrices decay, and nothing else."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.numbers = nn.Parameter(torch.zeros(1, count, dtype=torch.float64))


class _Parts(nn.Module):
    """A model with the parts of a Transformer, by name, each of a few numbers."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("encoder", "decoder", "src_embed", "tgt_embed", "generator"):
            setattr(self, name, nn.Linear(2, 3))
        self.gain = nn.Parameter(torch.ones(3))


def _pair(subject: Subject, *arguments: Any) -> tuple[Any, Any]:
    """Optimizer and scheduler, in whatever order.

    Raises:
        Unusable: one of them is lacking.
    """
    optimizer, scheduler, result = _parts(subject, *arguments)
    if scheduler is None:
        raise Unusable("not_pair", kind=kind_of(see(result)))
    return optimizer, scheduler


def _parts(subject: Subject, *arguments: Any) -> tuple[Any, Any, Any]:
    """Optimizer, scheduler or None, and what was returned, whatever holds them.

    Raises:
        Unusable: there is no optimizer.
    """
    result = subject.make_optimizer(*arguments)
    made = result.values() if isinstance(result, dict) else result
    made = list(made) if isinstance(result, tuple | list | dict) else [result]
    optimizers = [one for one in made if isinstance(one, torch.optim.Optimizer)]
    others = [
        one for one in made if hasattr(one, "step") and not isinstance(one, torch.optim.Optimizer)
    ]
    if not optimizers:
        raise Unusable("not_pair", kind=kind_of(see(result)))
    return optimizers[0], others[0] if others else None, result


def _drive(
    draw: Draw, model: _Numbers, optimizer: Any, count: int, scheduler: Any = None
) -> Tensor:
    """How far each number of the model moves in each of so many updates, (count, numbers)."""
    varied = draw.uniform("pulls", count, low=0.2, high=3.0).double()
    start = torch.tensor([0.0, 0.0, 0.0, 0.0, 50.0], dtype=torch.float64)
    numbers, moves = model.numbers, []
    start = start[: numbers.numel()]
    for n in range(count):
        pulls = torch.tensor([1.0, varied[n], 2e-9, float(n == 0), 0.0], dtype=torch.float64)
        with torch.no_grad():
            numbers.copy_(start)
        numbers.grad = pulls[None, : numbers.numel()].clone()
        _step(optimizer, scheduler)
        moves.append(start - numbers.detach()[0])
    return torch.stack(moves)


def _step(optimizer: Any, scheduler: Any) -> None:
    """One update, by the scheduler's rates or, without one, by such whose largest is set here."""
    if scheduler is None:
        rates = [float(group["lr"]) for group in optimizer.param_groups]
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = 0.01 * (rate / max(rates) if max(rates) else 1.0)
    optimizer.step()
    if scheduler is not None:
        scheduler.step()
