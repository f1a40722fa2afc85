"""Probes of step 05: what token embeddings and a positional encoding do, whoever wrote them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Value, apart, see
from autograder.core.subject import Subject, Unusable
from autograder.weights import settle
from autograder.weights.scalars import in_common
from autograder.weights.table import probed
from autograder.wiring.drops import KNOWN, one_by_one
from autograder.wiring.positions import (
    form,
    in_float32,
    lengths_served,
    shares,
    slope_in_training,
    slope_of,
)

# ---------------------------------------------------------------- Embeddings


def embed_table(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How many trainable numbers there are, what a lookup gives, and which ids train nothing."""
    d_model, vocab = _table_sizes(draw)
    module = _module(subject.Embeddings(d_model, vocab))
    few = torch.tensor([[0, 5, 1, 7], [4, 1, 3, 0]])
    one, two = see(module(few.clone())), see(module(few.clone()))
    found: dict[str, Value] = {"count": _trainable(module)}
    found["in_common"] = in_common(module, _module(subject.Embeddings(d_model, vocab)))
    found["shape"] = list(one.shape) if isinstance(one, Tensor) else one
    if found["shape"] != [2, 4, d_model]:
        return found
    found["repeats"] = _same(one, two)
    found["silent"] = [i for i in probed(vocab).tolist() if not _trains(module, i)]
    return found


def embed_scale(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values with the grader's table.

    Ids that train nothing are another check's matter: theirs are put in as others have it.
    """
    d_model, vocab = _table_sizes(draw)
    module, silent = settle.embedding(
        lambda _: subject.Embeddings(d_model, vocab), d_model, vocab, subject, draw
    )
    ids = probed(vocab)
    mixed = [ids[draw.permutation(f"ids{i}", len(ids))] for i in (1, 2)]
    sentences = torch.stack([ids, *mixed])
    y = see(module(sentences.clone()))
    if silent and isinstance(y, Tensor) and y.shape == (3, len(ids), d_model):
        table = settle.canonical({"table": (vocab, d_model)}, draw)["table"][sentences]
        live = ~torch.isin(sentences, torch.tensor(silent)).unsqueeze(-1)
        factor = (y * table * live).sum() / (table.square() * live).sum().clamp(min=1e-9)
        y = torch.where(live, y, factor * table)
    return {"y": y}


def _table_sizes(draw: Draw) -> tuple[int, int]:
    return draw.pick("d_model", (10, 11, 13)), draw.pick("vocab", (17, 19, 23))


def _same(one: Value, two: Value) -> bool:
    return isinstance(one, Tensor) and isinstance(two, Tensor) and torch.equal(one, two)


def _trains(module: nn.Module, token: int) -> bool:
    y = module(torch.full((3, 1), token))
    weights = [p for p in module.parameters() if p.requires_grad]
    if not y.requires_grad or not weights:
        return False
    slopes = torch.autograd.grad(y.sum(), weights, allow_unused=True)
    return any(g is not None and bool((g.to_dense() != 0).any()) for g in slopes)


# ---------------------------------------------------------------- PositionalEncoding


def positions(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The table in two widths, read off what becomes of zeros; a sentence as long as the table."""
    narrow, wide = _widths(draw)
    length = draw.pick("length", (97, 101, 103))
    y = _encoding(subject, narrow, length)(torch.zeros(1, length, narrow))
    other = _encoding(subject, wide, length)(torch.zeros(1, length, wide))
    dtype = str(y.dtype).removeprefix("torch.") if isinstance(y, Tensor) else None
    return {"narrow": in_float32(y), "wide": in_float32(other), "dtype": dtype}


def far_positions(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Late rows of a long table: float32 angles may be off by some 5e-4 there."""
    width = _widths(draw)[0]
    for n in (12, 5000):  # first a short one: what has a wrong shape may be very large
        y = in_float32(_encoding(subject, width, n)(torch.zeros(1, n, width)))
        if not isinstance(y, Tensor) or y.shape != (1, n, width):
            return {"far": form(y)}
    rows = 4000 + draw.permutation("rows", 1000)[:40]
    return {"far": y[0, torch.cat([rows, torch.tensor([4999])])]}


def length(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether any sentence gets the table's first rows, whatever its length and its batch."""
    width, longest = _widths(draw)[1], draw.pick("max_len", (19, 21, 23))
    encoding = _encoding(subject, width, longest)
    works = lengths_served(encoding, width, longest)
    found: dict[str, Value] = {"lengths": works}
    if not isinstance(works, Tensor) or not bool((works == 1).all()):
        return found
    alone = encoding(torch.zeros(1, 5, width))
    gap = apart(in_float32(encoding(torch.zeros(5, 5, width))), in_float32(alone.expand(5, -1, -1)))
    found["square"] = gap
    if isinstance(gap, Tensor) and bool((gap.abs() < 1e-4).all()):
        y = encoding(torch.zeros(3, 5, width))
        found["batch"] = apart(in_float32(y), in_float32(alone.expand(3, -1, -1)))
    return found


def added(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What is left of the output without the subject's own positions: x; and the gradient of x."""
    encoding, x, own = _with_positions(subject, draw)
    given = [x.clone(), x.clone()]
    y = encoding(given[0])
    encoding.train()(given[1])
    encoding.eval()
    found: dict[str, Value] = {"x": apart(in_float32(y), own)}
    found["untouched"] = all(torch.equal(g, x) for g in given)
    leaf = x.clone().requires_grad_()
    y, weigh = encoding(leaf * 1.0), draw.normal("weigh", *x.shape)
    if not isinstance(y, Tensor) or y.shape != x.shape:
        return {**found, "gradient": see(y)}
    found["gradient"] = slope_of(y, leaf, weigh) - weigh
    return {**found, "trained": slope_in_training(encoding.train(), x, draw)}


def kept_table(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether anything can be trained, and whether the module works where it is moved to."""
    encoding, x, own = _with_positions(subject, draw)
    count = _trainable(encoding)
    if not isinstance(own, Tensor):
        return {"count": count, "moves": own}
    return {"count": count, "moves": _moves(encoding, x)}


def _moves(encoding: nn.Module, x: Tensor) -> bool:
    """Whether what is added follows the module to another dtype and device.

    What moves with the module and follows to bfloat16 follows anywhere; a tensor kept beside that
    does not is left behind. For all else "meta" is tried, which is sure but has torch import a
    third of itself.
    """
    carried = any(True for _ in (*encoding.buffers(), *encoding.parameters()))
    kept = any(isinstance(v, Tensor) for m in encoding.modules() for v in vars(m).values())
    followed = _moved(encoding, x.to(torch.bfloat16)) is torch.bfloat16
    if followed != kept and (carried or kept):
        return followed
    return _moved(encoding, x.to("meta")) is not None


def _moved(encoding: nn.Module, x: Tensor) -> torch.dtype | None:
    """The dtype of the output where x is, once the module is moved there; None if there is none."""
    try:
        y = encoding.to(x.device, x.dtype)(x)
    except Exception:  # torch refuses to add what lies in two places
        return None
    return y.dtype if isinstance(y, Tensor) and y.device == x.device else None


def dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Everything dropped in training, nothing dropped, and everything in eval mode; and a half.

    All is compared with the subject's own output without dropout.
    """
    encoding, x, own = _with_positions(subject, draw)
    plain = in_float32(encoding(x.clone()))
    found: dict[str, Value] = {}
    for name, p, training in KNOWN:
        other = subject.PositionalEncoding(x.size(2), p, max_len=x.size(1)).train(training)
        one, two = in_float32(other(x.clone())), in_float32(other(x.clone()))
        if not isinstance(one, Tensor) or not isinstance(two, Tensor):
            return {"all_repeats": one}
        found[f"{name}_repeats"] = _same(one, two)
        found[f"{name}_output"] = None
        if found[f"{name}_repeats"]:
            rest = shares(one, plain, own) if name == "all" else apart(one, plain)
            found[f"{name}_output"] = rest
    factors, dropped, fresh = _half_dropped(subject, draw)
    found["ways"], found["fresh"] = min(len(factors), 3), fresh
    # With more ways than two, something else is wrong, and the rest cannot be told.
    found["one_by_one"] = one_by_one(dropped) if len(factors) <= 2 else [True, True, True]
    return found


def dropout_scaling(subject: Subject, draw: Draw) -> dict[str, Value]:
    """By what a number of the sum is multiplied when half of them are dropped, each value once."""
    return {"factors": _half_dropped(subject, draw)[0]}


def _half_dropped(subject: Subject, draw: Draw) -> tuple[Tensor, Tensor, bool]:
    """With half of the numbers dropped, for sums that are not small.

    Returns:
        by what numbers are multiplied, each value once; bool (9, 9, width), which are dropped; and
        whether another call drops others.
    """
    width = _widths(draw)[0]
    x = draw.uniform("x", 9, 9, width, low=3.0, high=4.0)
    encoding = subject.PositionalEncoding(width, 0.5, max_len=9)
    plain = encoding.eval()(x.clone()).detach()
    one, two = (encoding.train()(x.clone()).detach() for _ in range(2))
    factors = (one / plain)[plain.abs() > 0.1]
    return torch.unique(factors.mul(1e3).round() + 0.0) / 1e3, one == 0, not torch.equal(one, two)


def odd_width(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What comes out in an odd width; where that fails, an even one tells mistakes apart."""
    even, odd = _widths(draw)[0], draw.pick("odd", (7, 9, 11))
    try:
        y = see(_encoding(subject, odd, 20)(torch.zeros(1, 20, odd)))
    except Exception as e:
        right = in_float32(_encoding(subject, even, 20)(torch.zeros(1, 20, even)))
        return {"raised": subject.raised(e), "even": right}
    return {"shape_odd": list(y.shape) if isinstance(y, Tensor) else y}


def default_length(subject: Subject, draw: Draw) -> dict[str, Value]:
    """A sentence of 5000 tokens, with no max_len given."""
    width = _widths(draw)[0]
    encoding = subject.PositionalEncoding(width, 0.0).eval()
    outputs = {n: see(encoding(torch.zeros(1, n, width))) for n in (12, 5000)}
    return {f"shape_{n}": list(y.shape) if isinstance(y, Tensor) else y for n, y in outputs.items()}


def too_long(subject: Subject, draw: Draw) -> dict[str, Value]:
    """A sentence longer than max_len: it is refused, or gets the positions of a longer table."""
    width = _widths(draw)[0]
    longer = in_float32(_encoding(subject, width, 24)(torch.zeros(1, 24, width)))
    try:
        y = _encoding(subject, width, 20)(torch.zeros(1, 24, width))
    except Exception:
        return {"refused_or_right": True}
    gap = apart(in_float32(y), longer)
    right = bool((gap.abs() < 1e-4).all()) if isinstance(gap, Tensor) else gap
    return {"refused_or_right": right}


def _widths(draw: Draw) -> tuple[int, int]:
    """Two even widths; 4 and 8 hide known mistakes."""
    return draw.pick("narrow", (6, 10)), draw.pick("wide", (12, 14, 18))


def _encoding(subject: Subject, width: int, max_len: int) -> nn.Module:
    """Without dropout, in eval mode."""
    return _module(subject.PositionalEncoding(width, 0.0, max_len=max_len)).eval()


def _with_positions(subject: Subject, draw: Draw) -> tuple[nn.Module, Tensor, Value]:
    """A module, as many sentences as each has tokens, as its table has rows; and its positions.

    Whatever the table is cut by, something of x's shape comes out: the cut is another check's.
    """
    width, length = _widths(draw)[1], draw.pick("short", (7, 9, 11))
    encoding = _encoding(subject, width, length)
    x = draw.normal("x", length, length, width)
    return encoding, x, in_float32(encoding(torch.zeros_like(x)))


def _module(made: Any) -> nn.Module:
    if not isinstance(made, nn.Module):
        raise Unusable("not_module", kind=type(made).__name__)
    return made


def _trainable(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
