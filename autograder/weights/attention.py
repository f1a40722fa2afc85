"""Multi-head attention: which scalar is which cell of the four projections, however they are kept.

With one key softmax is 1, so what has a gradient there is the value side (two layers, `layers`);
what acts besides with several keys is the query side. Dependence on the query's or the keys'
features tells W_q from W_k; units that meet in a dot product are paired by switching some of them
on; heads are seen with identities written everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from autograder.core.draw import Draw
from autograder.core.subject import Unreadable
from autograder.weights import codes
from autograder.weights.layers import Map, Shape, fill, read_layers
from autograder.weights.scalars import Call, Scalars

_NAMES = {"W_in": "W_v", "b_in": "b_v", "W_out": "W_o", "b_out": "b_o"}


def read_attention(scalars: Scalars, call: Call, h: int, d_model: int, draw: Draw) -> Map:
    """The map of a multi-head attention.

    Args:
        scalars: the module's trainable scalars; left re-drawn.
        call: (query, key, value), float32 (B, L, d_model) each -> (B, Lq, d_model), in eval mode.
        h: number of heads.
        d_model: width.
        draw: where random numbers come from.

    Raises:
        Unreadable: it cannot be seen which scalar does what.
    """
    d = d_model
    value = _alive_with_one_key(scalars, call, d, draw)
    layers = read_layers(scalars, lambda x: call(x, x, x), Shape(d, d, d), draw, among=value)
    cells = {_NAMES[role]: index for role, index in layers.cells.items()}
    side = _Scores(scalars, call, d, draw, value)
    cells |= side.cells()
    if {"W_q", "W_k"} <= cells.keys():
        cells = _by_head(scalars, call, h, d, draw, cells)
    return Map(cells, scalars.count)


def _alive_with_one_key(scalars: Scalars, call: Call, d: int, draw: Draw) -> Tensor:
    total = torch.zeros(scalars.count)
    for i in (1, 2):
        scalars.write(draw.uniform(f"attention/weights{i}", scalars.count) * (2 / d))
        query, key, token = (draw.uniform(f"attention/{i}{n}", 1, 1, d) for n in "qkv")
        cotangent = draw.uniform(f"attention/cotangent{i}", 1, 1, d)
        total += scalars.gradient(call(query, key, token), cotangent).abs()
    # a softmax written by hand leaves 1e-7 where an exact one leaves 0
    return total > 1e-5 * total.max()


class _Scores:
    """The query side: W_q, b_q, W_k, b_k. Two sentences, two queries, three keys, small logits."""

    def __init__(self, scalars: Scalars, call: Call, d: int, draw: Draw, value: Tensor) -> None:
        self.scalars, self.call, self.d, self.draw, self.value = scalars, call, d, draw, value
        self.base = self._weights("base")
        self.tokens = self._tokens("")
        # a different number for every token: with one for all, a softmax over queries is unreadable
        self.cotangent = draw.uniform("scores/cotangent", 2, 2, d)

    def _weights(self, name: str) -> Tensor:
        drawn = self.draw.uniform(f"scores/weights/{name}", self.scalars.count)
        return drawn * torch.where(self.value, self.d**-0.5, 1 / self.d)

    def _tokens(self, name: str) -> list[Tensor]:
        lengths = {"query": 2, "key": 3, "value": 3}
        return [self.draw.uniform(f"scores/{n}{name}", 2, m, self.d) for n, m in lengths.items()]

    def _gradient(self, tokens: list[Tensor]) -> Tensor:
        return self.scalars.gradient(self.call(*tokens), self.cotangent)

    def cells(self) -> dict[str, Tensor]:
        """role -> int64 cells; roles that are not there are left out."""
        acts = self._acting()
        query, key, columns = self._sides(acts)
        biases = ~self.value & ~query & ~key
        b_q = biases & self._alive_at_zero_query(key)
        if int(b_q.sum()) not in (
            0,
            self.d,
        ):  # noise: a bias on queries is not felt by this softmax
            b_q = biases & ~acts
        b_k = biases & ~b_q
        if query.any() != key.any():
            raise Unreadable("one_sided", found=int((query | key).sum()), **self._reads(query))
        if not query.any():
            return {"b_k": biases.nonzero().squeeze(-1)} if int(biases.sum()) == self.d else {}
        unit_q, unit_k = self._units(query, key, b_q, columns)
        n, d = self.d, self.d
        cells = {
            "W_q": fill("W_q", (n, d), query, (unit_q, columns)),
            "W_k": fill("W_k", (n, d), key, (unit_k, columns)),
        }
        if b_q.any():
            cells["b_q"] = fill("b_q", (n,), b_q, (unit_q,))
        if int(b_k.sum()) == n:  # not felt by a softmax over keys: only its number can be seen
            cells["b_k"] = b_k.nonzero().squeeze(-1)
        return cells

    def _reads(self, query: Tensor) -> dict[str, object]:
        """Whose side the one that acts is, and which inputs the output depends on at all."""
        inputs = [t.clone().requires_grad_() for t in self.tokens]
        self.scalars.write(self.base)
        output = self.call(*inputs)
        found = torch.autograd.grad((output * self.cotangent).sum(), inputs, allow_unused=True)
        names = ("query", "key", "value")
        felt = [n for n, g in zip(names, found, strict=True) if g is not None and bool(g.any())]
        return {"side": "query" if query.any() else "key", "reads": felt}

    def _acting(self) -> Tensor:
        total = torch.zeros(self.scalars.count)
        for i in range(4):
            self.scalars.write(self._weights(str(i)))
            total += self._gradient(self._tokens(str(i))).abs()
        rest = total.masked_fill(self.value, 0)
        return rest > 1e-4 * rest.max()

    def _sides(self, acts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Members of W_q, members of W_k, and the column of each."""
        query, key, value = self.tokens
        self.scalars.write(self.base)
        columns = codes.sort(
            self.d, lambda on: self._gradient([query * on, key * on, value * on]) != 0
        )
        columns[~acts] = codes.DEAD
        if bool((columns == codes.SEVERAL).any()):
            raise Unreadable("shared", plays=["column"])
        half = torch.arange(self.d) % 2 == 0
        without = torch.zeros_like(acts)
        for on in (half, ~half):
            dead = self._gradient([query * on, key, value]) == 0
            without |= dead & (columns >= 0) & ~on[columns.clamp(min=0)]
        matrix = columns >= 0
        return matrix & without, matrix & ~without, columns

    def _alive_at_zero_query(self, key: Tensor) -> Tensor:
        """With every query exactly 0, a bias on the keys is not felt, and one on the queries is."""
        self.scalars.write(self.base * (self.value | key))
        return self._gradient(self.tokens) != 0

    def _units(
        self, query: Tensor, key: Tensor, b_q: Tensor, columns: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Hidden units, numbered by W_k's first column in storage order, for both sides.

        Where units do not meet one to one, the class is wrong, and they are numbered as stored.
        """
        first = (key & (columns == 0)).nonzero().squeeze(-1)
        biases = ~self.value & ~query & ~key
        if len(first) != self.d:
            raise Unreadable("size", role="W_k", asked=[self.d, self.d], found=int(key.sum()))

        def some_keys(on: Tensor) -> Tensor:
            values = self.base.masked_fill(key | biases, 0)
            values[first[on]] = self.base[first[on]]
            self.scalars.write(values)
            return self._gradient(self.tokens) != 0

        unit_q = codes.sort(len(first), some_keys)

        def some_queries(on: Tensor) -> Tensor:
            off = query & ~((unit_q >= 0) & on[unit_q.clamp(min=0)])
            self.scalars.write(self.base.masked_fill(off | biases, 0))
            return self._gradient(self.tokens) != 0

        unit_k = codes.sort(len(first), some_queries)
        if not _evenly(unit_q[query], self.d) or not _evenly(unit_k[key], self.d):
            unit_q, unit_k = _stored(query, columns), _stored(key, columns)
        if not _evenly(unit_q[b_q], 1):
            unit_q = torch.where(b_q, _stored(b_q, columns), unit_q)
        return unit_q, unit_k


def _evenly(units: Tensor, times: int) -> bool:
    """Whether each unit is met that many times."""
    inside = bool((units >= 0).all())
    return inside and bool((units.bincount(minlength=len(units) // times) == times).all())


def _stored(members: Tensor, columns: Tensor) -> Tensor:
    """int64 (count,): each member's place among those of the same column, in storage order."""
    place = torch.zeros(len(members), dtype=torch.int64)
    for column in columns[members].unique():
        same = members & (columns == column)
        place[same] = torch.arange(int(same.sum()))
    return place


def _by_head(
    scalars: Scalars, call: Call, h: int, d: int, draw: Draw, cells: dict[str, Tensor]
) -> dict[str, Tensor]:
    """The same cells with hidden units ordered head by head.

    Where the heads are not h equal groups, the class is wrong, and the order stays as it is stored.
    """
    meets = _heads_that_meet(scalars, call, d, draw, Map(cells, scalars.count))
    order_v, order_q, todo = [], [], list(range(d))
    while todo:
        row = meets[todo[0]]
        group = [j for j in todo if torch.equal(meets[j], row)]
        units = row.nonzero().squeeze(-1).tolist()
        if len(group) != d // h or len(units) != d // h:
            return cells
        order_v += group
        order_q += units
        todo = [j for j in todo if j not in group]
    if sorted(order_q) != list(range(d)):
        return cells
    orders = {
        "W_v": order_v,
        "b_v": order_v,
        "W_q": order_q,
        "b_q": order_q,
        "W_k": order_q,
        "b_k": order_q,
    }
    ordered = {
        role: index[orders[role]] if role in orders else index for role, index in cells.items()
    }
    if "W_o" in cells:
        ordered["W_o"] = cells["W_o"][:, order_v]
    return ordered


def _heads_that_meet(scalars: Scalars, call: Call, d: int, draw: Draw, found: Map) -> Tensor:
    """bool (value unit, query unit): whether the two are in one head.

    All projections are identities, so feature r of a query is unit r; sentence j asks for output j
    alone, and the query features that its gradient reaches belong to j's head.
    """
    weights = {role: torch.zeros(index.shape) for role, index in found.cells.items()}
    weights |= {role: torch.eye(d) for role in ("W_q", "W_k", "W_v", "W_o") if role in weights}
    scalars.write(found.place(weights))
    query = draw.uniform("heads/query", 1, 1, d).repeat(d, 1, 1).requires_grad_()
    key, value = (draw.uniform(f"heads/{n}", 1, 2, d).repeat(d, 1, 1) for n in ("key", "value"))
    output = call(query, key, value)
    if output.shape != (d, 1, d) or not output.requires_grad:
        return torch.zeros(d, d, dtype=torch.bool)
    weighed = (output * torch.eye(d)[:, None, :].to(output)).sum()
    (felt,) = torch.autograd.grad(weighed, query, allow_unused=True)
    return torch.zeros(d, d, dtype=torch.bool) if felt is None else felt[:, 0] != 0


def idle(module: nn.Module, found: Map, tokens: Sequence[Tensor], draw: Draw) -> int:
    """How many scalars without a role the output does not feel; those of one bias are granted.

    For a softmax over keys does not feel what is added to all of them. 0 where a matrix is missing.

    Args:
        module: a multi-head attention in eval mode; its values are re-drawn.
        found: its map.
        tokens: queries and keys, positive (B, L, d_model).
        draw: where random numbers come from.
    """
    rest = torch.ones(found.count, dtype=torch.bool)
    for cells in found.cells.values():
        rest[cells.reshape(-1)] = False
    if not {"W_q", "W_k", "W_v", "W_o"} <= found.cells.keys() or not rest.any():
        return 0
    query, key = tokens
    scalars = Scalars(module)
    scalars.write(draw.uniform("idle/weights", found.count) / query.size(-1))
    cotangent = draw.uniform("idle/cotangent", *query.shape)
    felt = scalars.gradient(module(query, key, key.flip(1)), cotangent).abs()
    unfelt = rest & (felt <= 1e-4 * felt[found.cells["W_q"]].max())
    return max(int(unfelt.sum()) - query.size(-1), 0)
