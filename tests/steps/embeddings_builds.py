"""Embeddings and positions of many people's choices, right and wrong: a text that tests grade.

A test appends `Embeddings(ComposedTable)` and `PositionalEncoding(ComposedEncoding)`, whose
`choices` say how they are built.
"""

import math
import typing

import numpy
import torch
from torch import nn
from torch.nn import functional as F


class ComposedTable(nn.Module):
    """`store` keeps the rows, `root` makes the factor, `mistake` is one that somebody makes."""

    choices: typing.ClassVar = {}

    def __init__(self, d_model, vocab):
        super().__init__()
        self.store = self.choices.get("store", "embedding")
        self.root = self.choices.get("root", "math")
        self.mistake = self.choices.get("mistake")
        if self.mistake == "swapped":
            d_model, vocab = vocab, d_model
        self.d_model, self.vocab = d_model, vocab
        self.norm_factor = nn.Dropout(0.0)  # helpers that hold nothing
        self.register_buffer("factor", torch.sqrt(torch.tensor(float(d_model))))
        getattr(self, f"make_{self.store}")(d_model, vocab)
        if self.mistake == "frozen":
            self.requires_grad_(False)

    def make_embedding(self, d_model, vocab):
        padding = {"padding_0": 0, "padding_1": 1, "padding_2": 2}.get(self.mistake)
        self.embed = nn.Embedding(vocab, d_model, padding_idx=padding)

    def make_nothing(self, d_model, vocab):
        pass

    def make_raw(self, d_model, vocab):
        self.weight = nn.Parameter(torch.randn(vocab, d_model) * 0.1)

    def make_turned(self, d_model, vocab):
        self.weight = nn.Parameter(torch.zeros(d_model, vocab))

    def make_one_hot(self, d_model, vocab):
        self.make_raw(d_model, vocab)

    def make_linear(self, d_model, vocab):
        self.weight = nn.Linear(vocab, d_model, bias=False)

    def make_rows(self, d_model, vocab):
        self.weight = nn.ParameterList(torch.randn(d_model) for _ in range(vocab))

    def make_halves(self, d_model, vocab):
        self.right = nn.Embedding(vocab, d_model - 3)
        self.left = nn.Embedding(vocab, 3)

    def look_up(self, x):
        padding = {"padding_0": 0, "padding_1": 1, "padding_2": 2}.get(self.mistake)
        if self.mistake == "fresh":
            return F.embedding(x, torch.randn(self.vocab, self.d_model, requires_grad=True))
        if self.store == "embedding":
            return self.embed(x)
        if self.store == "linear":
            return self.weight(F.one_hot(x, self.vocab).float())
        if self.store == "halves":
            return torch.cat([self.left(x), self.right(x)], dim=-1)
        weight = torch.stack(list(self.weight)) if self.store == "rows" else self.weight
        weight = weight.T if self.store == "turned" else weight
        if self.store == "one_hot":
            return F.one_hot(x, self.vocab).to(weight.dtype) @ weight
        return weight[x] if padding is None else F.embedding(x, weight, padding)

    def width(self, x):
        return {"vocab": self.vocab, "length": x.size(1)}.get(self.mistake, self.d_model)

    def forward(self, x):
        vectors = self.look_up(x)
        if self.mistake == "unscaled":
            return vectors
        if self.mistake == "divided":
            return vectors / self.width(x) ** 0.5
        if self.mistake == "by_width":
            return vectors * self.d_model**0.5 * self.d_model**0.5
        if self.mistake == "no_return":
            return None
        if self.root == "buffer" and self.width(x) == self.d_model:
            return vectors * self.factor
        if self.root == "power":
            return self.width(x) ** 0.5 * vectors
        if self.root == "tensor":
            return vectors.mul(torch.sqrt(torch.tensor(self.width(x))))
        return vectors * math.sqrt(self.width(x))


class Formula:
    """Exponents of the sines and of the cosines, as numbers; `mistake` is one in the formula."""

    bases: typing.ClassVar = {"base_1000": 1e3, "base_100000": 1e5, "log10": math.e**4}

    def __init__(self, d_model, mistake):
        self.d_model, self.mistake = d_model, mistake
        self.base = self.bases.get(mistake, 1e4)
        columns = numpy.arange(0, d_model, 2, dtype=numpy.float64)
        factor = {"doubled": 2, "doubled_own": 2, "halved": 0.5}.get(mistake, 1)
        width = d_model - 2 if mistake == "tensor2tensor" else d_model
        self.sines = factor * columns / width
        own = mistake in ("own_frequency", "doubled_own")
        self.cosines = (factor * (columns + 1) / width if own else self.sines)[: d_model // 2]

    def positions(self, n, max_len):
        start = self.mistake == "from_1"
        positions = numpy.arange(start, n + start, dtype=numpy.float64)
        return positions / max_len if self.mistake == "normalized" else positions

    def arranged(self, sines, cosines):
        """(n, d_model) from the two halves, as tensors."""
        if self.mistake == "swapped":
            sines, cosines = cosines, sines
        if self.mistake == "only_sines":
            cosines = sines[:, : cosines.size(1)]
        if self.mistake in ("halves", "tensor2tensor"):
            return torch.cat([sines, cosines], dim=1)
        if sines.size(1) > cosines.size(1):
            cosines = F.pad(cosines, (0, 1))
        return torch.stack([sines, cosines], dim=2).flatten(1)[:, : self.d_model]


class ComposedEncoding(nn.Module):
    """`table` computes the angles, `keep` keeps the rows, `sum`, `drop`, `long`; a `mistake`."""

    choices: typing.ClassVar = {}

    def __init__(self, d_model, dropout, max_len=1000):
        super().__init__()
        self.table = self.choices.get("table", "exp_log")
        self.keep = self.choices.get("keep", "buffer")
        self.mistake = self.choices.get("mistake")
        self.rate = {"fixed_rate": 0.1, "keeps": 1 - dropout}.get(self.mistake, dropout)
        self.noise = nn.Dropout(self.rate)
        self.formula = Formula(d_model, self.mistake)
        if self.mistake == "d_model_rows":
            max_len = d_model
        self.d_model, self.max_len = d_model, max_len
        self.kept = {}
        if self.mistake == "plain":
            self.encoding = self.rows(max_len)
        elif self.mistake == "trained":
            self.encoding = nn.Parameter(self.rows(max_len))
        else:
            getattr(self, f"make_{self.keep}")(max_len)

    def make_buffer(self, n):
        self.register_buffer("pos_table", self.rows(n)[None])

    def make_flat(self, n):
        self.register_buffer("encoding", self.rows(n))

    def make_temporary(self, n):
        self.register_buffer("encoding", self.rows(n), persistent=False)

    def make_time_first(self, n):
        self.register_buffer("pe", self.rows(n).unsqueeze(1))

    def make_frozen(self, n):
        self.encoding = nn.Parameter(self.rows(n), requires_grad=False)

    def make_lookup(self, n):
        self.lookup = nn.Embedding.from_pretrained(self.rows(n), freeze=True)

    def make_fly(self, n):
        pass

    make_cached = make_fly

    def make_grown(self, n):
        self.register_buffer("encoding", self.rows(2))

    # ------------------------------------------------------------ the rows

    def rows(self, n):
        """float32 (n, d_model)."""
        rows = getattr(self, f"rows_{self.table}")(n, self.formula)
        if self.mistake == "outside":
            angle = torch.arange(n)[:, None]
            shrink = [
                10000.0 ** -torch.tensor(e) for e in (self.formula.sines, self.formula.cosines)
            ]
            rows = self.formula.arranged(torch.sin(angle) * shrink[0], torch.cos(angle) * shrink[1])
        return rows.double() if self.mistake == "float64" else rows.float()

    def rows_exp_log(self, n, formula):
        position = torch.tensor(formula.positions(n, self.max_len)).float().unsqueeze(1)
        log = math.log(formula.base)
        halves = [torch.tensor(e).float() * -log for e in (formula.sines, formula.cosines)]
        sine, cosine = (position * half.exp() for half in halves)
        return formula.arranged(torch.sin(sine), torch.cos(cosine))

    def rows_power(self, n, formula):
        position = torch.tensor(formula.positions(n, self.max_len)).float()[:, None]
        powers = [
            torch.pow(torch.tensor(formula.base), torch.tensor(e).float())
            for e in (formula.sines, formula.cosines)
        ]
        return formula.arranged((position / powers[0]).sin(), (position / powers[1]).cos())

    def rows_inverse(self, n, formula):
        position = torch.tensor(formula.positions(n, self.max_len)).float()
        inverse = [
            1.0 / formula.base ** torch.tensor(e).float() for e in (formula.sines, formula.cosines)
        ]
        sine, cosine = (torch.einsum("n,d->nd", position, i) for i in inverse)
        return formula.arranged(sine.sin(), (cosine + math.pi / 2).sin())

    def rows_numpy(self, n, formula):
        position = formula.positions(n, self.max_len)[:, None]
        sine, cosine = (position / formula.base**e for e in (formula.sines, formula.cosines))
        return formula.arranged(torch.from_numpy(numpy.sin(sine)), torch.tensor(numpy.cos(cosine)))

    def rows_loops(self, n, formula):
        rows = []
        for position in formula.positions(n, self.max_len).tolist():
            sines = [math.sin(position / formula.base**e) for e in formula.sines.tolist()]
            cosines = [math.cos(position / formula.base**e) for e in formula.cosines.tolist()]
            rows.append((sines, cosines))
        return formula.arranged(*(torch.tensor([r[i] for r in rows]) for i in (0, 1)))

    # ------------------------------------------------------------ the sum

    def taken(self, x):
        """The rows for x, as they are added."""
        n = x.size(0) if self.mistake in ("by_batch", "sequence_first") else x.size(1)
        if self.mistake == "whole":
            n = self.max_len
        if self.mistake in ("plain", "trained") or self.keep in ("flat", "temporary", "frozen"):
            rows = self.encoding[:n]
        elif self.keep == "buffer":
            rows = self.pos_table[0, :n]
        elif self.keep == "time_first":
            rows = self.pe[:n].transpose(0, 1)[0]
        elif self.keep == "lookup":
            rows = self.lookup(torch.arange(min(n, self.max_len), device=x.device))
        elif self.keep == "grown":
            if n > len(self.encoding):
                self.encoding = self.rows(max(n, 2 * len(self.encoding))).to(self.encoding)
            rows = self.encoding[:n]
        elif self.keep == "cached":
            key = n, x.device, x.dtype
            if key not in self.kept:
                self.kept[key] = self.rows(n).to(x)
            rows = self.kept[key]
        else:
            rows = self.rows(n).to(x.device)
        if self.mistake in ("sequence_first", "table_turned"):
            return rows.unsqueeze(1)
        return rows if self.choices.get("sum") == "flat" else rows.unsqueeze(0)

    def joined(self, x, rows):
        root = self.d_model**0.5
        how = {
            "none": lambda: x * 1,
            "replaced": lambda: torch.zeros_like(x) + rows,
            "beside": lambda: torch.cat((x, rows + torch.zeros_like(x)), 2),
            "product": lambda: rows * x,
            "x_scaled": lambda: rows + root * x,
            "sum_scaled": lambda: root * x + root * rows,
            "scaled": lambda: x + root * rows,
            "scaled_down": lambda: x + rows / root,
            "in_place": lambda: x.add_(rows),
            "detached": lambda: x.detach() + rows,
            "on_rows": lambda: x + self.dropped(rows.expand_as(x)),
            "on_x": lambda: self.dropped(x) + rows,
        }
        if self.mistake in how:
            return how[self.mistake]()
        match self.choices.get("sum"):
            case "rows_first":
                return rows.detach() + x
            case "no_grad":
                with torch.no_grad():
                    rows = rows * 1.0
                return x + rows
            case "add":
                return torch.add(x, rows.requires_grad_(False))
            case _:
                return x + rows

    def dropped(self, x):
        match self.choices.get("drop"):
            case "function":
                return F.dropout(x, self.rate, training=self.training)
            case "by_hand" if self.training and self.rate:
                kept = torch.rand_like(x) >= self.rate
                return x * kept / (1 - self.rate) if self.rate < 1 else x * 0
            case "by_hand":
                return x
            case _:
                return self.noise(x)

    def forward(self, x):
        long = self.choices.get("long")
        if long == "error" and x.size(1) > self.max_len:
            raise ValueError("too long")
        x = self.joined(x, self.taken(x))
        if self.mistake == "no_return":
            return None
        if self.mistake in ("undropped", "on_rows", "on_x"):
            return x
        return F.dropout(x, self.rate) if self.mistake == "always_on" else self.dropped(x)
