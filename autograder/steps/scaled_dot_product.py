"""Probes of step 01: what scaled dot-product attention does, whoever wrote it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, apart, see
from autograder.core.subject import Subject, Unusable
from autograder.wiring.alike import apart_from_parts, apart_from_visible, slopes_apart
from autograder.wiring.drops import losses, one_coin, showing

Inputs = tuple[Tensor, Tensor, Tensor]
Probe = Callable[[Subject, Draw], dict[str, Value]]


def _or_square(probe: Probe) -> Probe:
    """Where the subject raises, also see what it gives when all sizes are alike.

    No shape is wrong there, so the values tell mistakes apart that end in the same exception.
    """

    @functools.wraps(probe)
    def observed(subject: Subject, draw: Draw) -> dict[str, Value]:
        try:
            return probe(subject, draw)
        except Unusable:
            raise
        except Exception as e:
            seen: dict[str, Value] = {"raised": subject.raised(e)}
        with contextlib.suppress(Exception):
            inputs = (draw.normal(f"square/{name}", 5, 5, 5) for name in ("query", "key", "value"))
            seen["square"] = see(_first(subject.attention(*inputs)))
        return seen

    return observed


@_or_square
def output(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Values without a mask, twice with other sizes, and which inputs were changed."""
    inputs = _inputs(draw, "output", _batch(draw))
    query, key, value = kept = [t.clone() for t in inputs]
    first = see(_first(subject.attention(*inputs)))
    pairs = zip(("query", "key", "value"), inputs, kept, strict=True)
    changed = [name for name, now, before in pairs if not torch.equal(now, before)]
    # Large scores, and a width of its own: nothing may be left over from the call before.
    longer = subject.attention(*_inputs(draw, "longer", 5, scale=3.0, more=7))
    single = _first(_call(subject, (query[:, :1], key, value)))
    return {
        "y": first,
        "longer": see(_first(longer)),
        "single": list(single.shape) if isinstance(single, Tensor) else see(single),
        "changed": changed,
    }


@_or_square
def weights(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The second result, and whether a mask parts it from the weights that made the output."""
    inputs = _inputs(draw, "weights", _batch(draw))
    result = _call(subject, inputs)
    masked = _unlike_used(subject, inputs, _padding(draw, inputs))
    follows = (masked - _unlike_used(subject, inputs)).nan_to_num()
    return {"returned": _form(result), "p_attn": see(_second(result)), "follows": follows}


@_or_square
def mask(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How far hidden keys differ from keys that are not there."""
    inputs = _inputs(draw, "mask", _batch(draw), square=True)
    padding = _padding(draw, inputs)
    given = padding.clone()
    padded = _first(subject.attention(*(t.clone() for t in inputs), given))
    short = [
        _first(_call(subject, (q[None], k[None, seen[0]], v[None, seen[0]])))
        for q, k, v, seen in zip(*inputs, padding, strict=True)
    ]
    call = _output(subject)
    return {
        "mask_acts": _moved(padded, _first(_call(subject, inputs))),
        "padded": apart_from_parts(padded, short, 0),
        "by_query": apart_from_visible(call, inputs, _some_hidden(draw, inputs)),
        "deep": apart_from_visible(call, *_deep(draw, inputs)),
        "mask_kept": torch.equal(given, padding),
    }


@_or_square
def leading_dims(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How far 4-D and 2-D inputs differ from the same numbers in 3-D."""
    batch = _batch(draw)
    drawn = _inputs(draw, "four", batch, 5 - batch, square=True)
    # as heads lie that were split off: not in the order of memory
    inputs = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in drawn]
    four = _first(_call(subject, inputs))
    apiece = zip(*(t.unbind(1) for t in inputs), strict=True)
    heads = [_first(_call(subject, head)) for head in apiece]
    padding = _padding(draw, inputs).unsqueeze(1)
    whole = padding.repeat(1, 5 - batch, inputs[0].size(-2), 1)
    seen = {
        "four_dims": apart_from_parts(four, heads, 1),
        "broadcast": _apart(_call(subject, inputs, padding), _call(subject, inputs, whole)),
    }
    query, key, value = flat = _inputs(draw, "two", square=True)
    alone = _first(_call(subject, (query[None], key[None], value[None])))
    try:
        two = _first(_call(subject, flat))
    except Exception as e:  # what 4-D gave is kept: it tells mistakes apart that end the same here
        return {**seen, "raised": subject.raised(e)}
    shape = list(two.shape) if isinstance(two, Tensor) else see(two)
    return {**seen, "two_dims": apart_from_parts(alone, [two], 0), "two_shape": shape}


@_or_square
def dropout(subject: Subject, draw: Draw) -> dict[str, Value]:
    """All dropped; half dropped where there is only one key; nothing dropped in eval mode."""
    inputs = _inputs(draw, "dropout", _batch(draw), square=True)
    plain = _first(_call(subject, inputs))
    every = nn.Dropout(1.0)
    dropped = _first(_call(subject, inputs, dropout=every.train()))
    evaluated = _first(_call(subject, inputs, dropout=every.eval()))
    query, key, value = _inputs(draw, "half", 1, square=True)
    single = (query.repeat(1, 16, 1), key[:, :1], value[:, :1])
    half = _first(_call(subject, single, dropout=nn.Dropout(0.5).train()))
    return {
        "dropout_acts": _moved(dropped, plain),
        "all_dropped": see(dropped),
        **losses(see(half), see(_first(_call(subject, single)))),
        "one_coin": _one_coin(subject, draw),
        "evaluated": apart(evaluated, plain),
    }


@_or_square
def gradients(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How the output depends on all three inputs; with what changes no number, how far else."""
    inputs = _inputs(draw, "gradients", _batch(draw))
    found = _gradients(subject, draw, inputs)
    padding, none_dropped = _padding(draw, inputs), nn.Dropout(0.0).train()
    masked = _gradients(subject, draw, inputs, padding)
    named = dict(zip(("dquery", "dkey", "dvalue"), found, strict=True))
    plain, kept = _output(subject), _output(subject, dropout=none_dropped)
    open_mask = _output(subject, mask=torch.ones_like(padding))
    return {
        **named,
        "open_mask": slopes_apart(plain, open_mask, inputs, draw),
        "training": slopes_apart(plain, kept, inputs, draw),
        "not_finite": _not_finite(masked),
    }


@_or_square
def mask_dtypes(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How far masks of 0 and 1 differ from a mask of True and False."""
    inputs = _inputs(draw, "dtypes", _batch(draw), square=True)
    padding = _padding(draw, inputs)
    plain = _call(subject, inputs, padding)
    dtypes = {"uint8": torch.uint8, "int64": torch.int64, "float32": torch.float32}
    return {
        name: _apart(_call(subject, inputs, padding.to(dtype)), plain)
        for name, dtype in dtypes.items()
    }


@_or_square
def hidden_row(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How much a query that may look at nothing spoils of the gradients of the others' outputs."""
    inputs = _inputs(draw, "hidden", _batch(draw))
    padding = _padding(draw, inputs).repeat(1, inputs[0].size(1), 1)
    padding[0, 0] = False
    dquery, *others = _gradients(subject, draw, inputs, padding)
    if isinstance(dquery, Tensor):
        dquery[0, 0] = 0  # its own row is free
    return {"spoiled": _not_finite([dquery, *others])}


# ---------------------------------------------------------------- inputs, calls, what they gave


def _batch(draw: Draw) -> int:
    return draw.pick("batch", (2, 3))


def _inputs(
    draw: Draw, name: str, *leading: int, scale: float = 1.5, more: int = 0, square: bool = False
) -> Inputs:
    """Query (..., Lq, d_k), key (..., Lk, d_k), value (..., Lk, d_v): no two sizes are alike.

    With `square`, d_v is d_k, so that what is wrong with the values alone costs no second check.
    """
    lq, lk = draw.pick("lq", (5, 6)) + more, draw.pick("lk", (7, 8)) + more
    d_k = draw.pick("d_k", (10, 11, 13)) + more
    d_v = d_k if square else 4 + more
    return (
        draw.normal(f"{name}/query", *leading, lq, d_k, scale=scale),
        draw.normal(f"{name}/key", *leading, lk, d_k),
        draw.normal(f"{name}/value", *leading, lk, d_v),
    )


def _padding(draw: Draw, inputs: Sequence[Tensor]) -> Tensor:
    """bool (B, 1, Lk): every sentence has keys to see and keys to hide, and no two have as many."""
    batch, length = inputs[1].size(0), inputs[1].size(-2)
    seen = draw.permutation("padding", length - 2)[:batch, None, None] + 2
    return torch.arange(length) < seen


def _some_hidden(draw: Draw, inputs: Inputs) -> Tensor:
    """bool (B, Lq, Lk): every query may see 4 keys, anew in every sentence."""
    batch, lq, lk = len(inputs[0]), inputs[0].size(-2), inputs[1].size(-2)
    return draw.normal("seen", batch, lq, lk).argsort(-1) < 4


def _deep(draw: Draw, inputs: Inputs) -> tuple[Inputs, Tensor]:
    """Scores near -900, one key to see for each query: its weight is 1 if hidden ones lie below."""
    query, key, value = (t.clone() for t in inputs)
    query[..., 0] = -900 * query.size(-1) ** 0.5
    key[..., 0] = 1.0
    chosen = draw.permutation("chosen", key.size(-2))[: query.size(-2)]
    return (query, key, value), torch.arange(key.size(-2)) == chosen[:, None]


def _call(subject: Subject, inputs: Sequence[Tensor], *mask: Tensor, **more: nn.Module) -> Any:
    """The result on copies, so that an edit in place costs no other observation."""
    return subject.attention(*(t.clone() for t in (*inputs, *mask)), **more)


def _output(subject: Subject, **more: Any) -> Callable[..., Any]:
    """A function of query, key and value that gives the output alone."""
    return lambda *inputs: _first(subject.attention(*inputs, **more))


def _unlike_used(subject: Subject, inputs: Sequence[Tensor], *mask: Tensor) -> Tensor:
    """The returned weights minus those that made the output, or 0 where it does not show them."""
    query, key, _ = inputs
    result = _call(subject, (query, key, showing(key)), *mask)
    gap = apart(_second(result), _first(result))
    return gap if isinstance(gap, Tensor) else query.new_zeros(*query.shape[:2], key.size(1))


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple | list) and result else result


def _second(result: Any) -> Any:
    return result[1] if isinstance(result, tuple | list) and len(result) > 1 else None


def _form(result: Any) -> str:
    """What kind of thing was returned; any pair counts as a tuple of 2."""
    if isinstance(result, tuple | list) and len(result) == 2:
        return "tuple of 2"
    seen = see(result)
    return seen.kind if isinstance(seen, Odd) else "tensor"


def _moved(one: Any, two: Any) -> bool:
    gap = apart(one, two)
    return not isinstance(gap, Tensor) or bool((gap != 0).any())


def _apart(one: Any, two: Any) -> Value:
    """The difference of two masked outputs; none where both are NaN: other checks tell of that."""
    numbers = (t.nan_to_num() if isinstance(t, Tensor) else t for t in (_first(one), _first(two)))
    return apart(*numbers)


def _one_coin(subject: Subject, draw: Draw) -> list[str]:
    """Along which axes weights fall together."""
    query, key, _ = _inputs(draw, "coins", 8)
    inputs, half = (query, key, showing(key)), nn.Dropout(0.5).train()
    calls = [_first(_call(subject, inputs, dropout=half)) for _ in range(2)]
    return one_coin(calls, sentences=8, queries=query.size(1), keys=key.size(1))


def _gradients(
    subject: Subject, draw: Draw, inputs: Sequence[Tensor], *mask: Tensor
) -> list[Value]:
    """The gradients of a weighted sum of the output; queries that may see nothing are no part."""
    leaves = [t.clone().requires_grad_() for t in inputs]
    y = _first(subject.attention(*leaves, *(m.clone() for m in mask)))
    if not isinstance(y, Tensor):
        return [see(y)] * 3
    if not y.requires_grad:
        return ["no gradient"] * 3
    cotangent = draw.normal("cotangent", *y.shape)
    for m in mask:
        cotangent = cotangent * m.any(dim=-1, keepdim=True)
    return [see(g) for g in torch.autograd.grad((y * cotangent).sum(), leaves, allow_unused=True)]


def _not_finite(values: Sequence[Value]) -> int:
    return sum(int((~v.isfinite()).sum()) for v in values if isinstance(v, Tensor))
