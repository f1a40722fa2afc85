"""Build a subject's module with the canonical weights, through its map, which is read once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from autograder.core.draw import Draw
from autograder.core.subject import Subject, Unreadable, Unusable, ordinary
from autograder.weights.attention import read_attention
from autograder.weights.generator import read_generator
from autograder.weights.layers import Map, Shape, read_layers
from autograder.weights.norm import read_norm
from autograder.weights.scalars import Call, Scalars
from autograder.weights.table import TableMap, read_table

Build = Callable[[float], Any]  # dropout -> module
Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, Tensor]  # by role
Adapt = Callable[[Weights], Weights]


def feed_forward(
    build: Build,
    shape: Shape,
    subject: Subject,
    draw: Draw,
    dropout: float = 0.0,
    adapt: Adapt | None = None,
) -> tuple[nn.Module, list[str]]:
    """Two layers with canonical weights: (module in eval mode, matrices that were found).

    `adapt` makes others of them.

    Raises:
        Unreadable: it could not be seen which weight does what.
        Unusable: what was built is no `nn.Module`, or gives no tensor.
    """
    shapes: Shapes = {
        "W_in": (shape.hidden, shape.d_in),
        "b_in": (shape.hidden,),
        "W_out": (shape.d_out, shape.hidden),
        "b_out": (shape.d_out,),
    }

    def read(scalars: Scalars, call: Call) -> Map:
        return read_layers(scalars, call, shape, draw)

    dry = (torch.ones(1, 1, shape.d_in),)
    key = ("layers", shape)
    return _settle(key, build, dropout, shapes, read, dry, subject, draw, adapt)


def attention(
    build: Build, h: int, d_model: int, subject: Subject, draw: Draw, dropout: float = 0.0
) -> tuple[nn.Module, list[str]]:
    """Multi-head attention with canonical weights; returns and raises as `feed_forward`."""
    shapes: Shapes = {f"W_{r}": (d_model, d_model) for r in "qkvo"}
    shapes |= {f"b_{r}": (d_model,) for r in "qkvo"}

    def read(scalars: Scalars, call: Call) -> Map:
        return read_attention(scalars, call, h, d_model, draw)

    token = torch.ones(1, 1, d_model)
    key = ("attention", h, d_model)
    return _settle(key, build, dropout, shapes, read, (token, token, token), subject, draw)


def layer_norm(
    build: Build, features: int, subject: Subject, draw: Draw
) -> tuple[nn.Module, list[str]]:
    """A normalization with canonical effective gain and bias; otherwise as `feed_forward`."""
    shapes: Shapes = {"gain": (features,), "bias": (features,)}

    def read(scalars: Scalars, call: Call) -> Map:
        return read_norm(scalars, call, features, draw)

    dry = (torch.arange(6.0 * features).view(2, 3, features),)
    return _settle(("norm", features), build, 0.0, shapes, read, dry, subject, draw)


def embedding(
    build: Build, d_model: int, vocab: int, subject: Subject, draw: Draw
) -> tuple[nn.Module, list[int]]:
    """A table of vectors with canonical rows: (module in eval mode, ids that train nothing).

    The padding id is never looked at. Raises as `feed_forward`.
    """
    shapes: Shapes = {"table": (vocab, d_model)}
    key = ("table", d_model, vocab)

    def read(scalars: Scalars, call: Call) -> TableMap:
        return read_table(scalars, call, vocab, d_model, draw)

    dry = (torch.ones(1, 1, dtype=torch.int64),)
    module, _ = _settle(key, build, 0.0, shapes, read, dry, subject, draw)
    return module, subject.memo[key].silent


def generator(
    build: Build, d_model: int, vocab: int, subject: Subject, draw: Draw
) -> tuple[nn.Module, list[str]]:
    """A map to log-probabilities with canonical weights; returns and raises as `feed_forward`."""
    shapes: Shapes = {"W": (vocab, d_model), "b": (vocab,)}

    def read(scalars: Scalars, call: Call) -> Map:
        return read_generator(scalars, call, d_model, vocab, draw)

    dry = (torch.ones(1, 1, d_model),)
    return _settle(("generator", d_model, vocab), build, 0.0, shapes, read, dry, subject, draw)


def canonical(shapes: Shapes, draw: Draw) -> dict[str, Tensor]:
    """The weights every subject holds while it is probed.

    A bias that a subject was found to lack is zero for all.
    """
    weights = {}
    for role, shape in shapes.items():
        if role in draw.terms.get("absent", ()):
            weights[role] = torch.zeros(shape)
        elif len(shape) == 2:
            weights[role] = draw.normal(f"canon/{role}", *shape, scale=1.3 * shape[1] ** -0.5)
        elif role == "gain":
            weights[role] = draw.uniform(f"canon/{role}", *shape)
        else:
            weights[role] = draw.normal(f"canon/{role}", *shape, scale=0.7)
    return weights


def _settle(
    key: Hashable,
    build: Build,
    dropout: float,
    shapes: Shapes,
    read: Callable[[Scalars, Call], Map],
    dry: tuple[Tensor, ...],
    subject: Subject,
    draw: Draw,
    adapt: Adapt | None = None,
) -> tuple[nn.Module, list[str]]:
    found = subject.memo.get(key)
    if found is None or (isinstance(found, tuple) and found[0] != draw.seed):
        try:
            module = _made(build, 0.0, dry)
            found = read(Scalars(module), _sparing(module))
        except (
            Exception
        ) as e:  # Unreadable, or the subject's own: with this seed it would raise again
            found = draw.seed, e, e.__traceback__
        subject.memo[key] = found
    if isinstance(found, tuple):
        raise found[1].with_traceback(found[2])
    noted = subject.terms.setdefault("absent", [])
    noted += [r for r in sorted(shapes) if r[0] == "b" and r not in found.cells and r not in noted]
    module = _made(build, dropout, dry, known=True)
    scalars = Scalars(module, known=True)
    if scalars.count != found.count:
        raise Unreadable("changes", one=found.count, two=scalars.count)
    weights = canonical(shapes, draw)
    scalars.write(found.place(adapt(weights) if adapt else weights))
    return module, sorted(r for r in found.cells if r[0] != "b")


def _sparing(module: nn.Module) -> Call:
    """Calls with copies: the module may write to its inputs. A tensor given twice stays one.

    Every weight holds an ordinary number then, so the output has to.
    """

    def call(*inputs: Tensor) -> Any:
        copies = {id(t): t.clone() for t in inputs}
        output = module(*(copies[id(t)] for t in inputs))
        if isinstance(output, Tensor) and not bool(output.isfinite().all()):
            raise Unreadable("not_finite")
        return output

    return call


def _made(build: Build, dropout: float, dry: tuple[Tensor, ...], known: bool = False) -> nn.Module:
    """A module in eval mode whose lazy layers have seen an input.

    Where the class is `known`, only those need to see one.
    """
    module = build(dropout)
    if not isinstance(module, nn.Module):
        raise Unusable("not_module", kind=type(module).__name__)
    module.eval()
    if not known or any(map(is_lazy, module.parameters())):
        with torch.no_grad():
            ordinary(module(*(t.clone() for t in dry)))
    return module
