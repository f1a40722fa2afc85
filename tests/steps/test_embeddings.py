"""Step 05: right builds get full marks, and a mistake is named by its name in every build."""

from pathlib import Path

import pytest

from autograder.core.grading import grade
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict
from tests.steps import harness
from tests.steps.harness import edited, failed, named

STEP = find_step(5)
TEXT = Path(__file__).with_name("embeddings_builds.py").read_text(encoding="utf-8")
SOLUTION = STEP.solution.read_text(encoding="utf-8")
Choices = dict[str, str]

# Right in every check, advice aside: the number is that of a kind of honest difference.
RIGHT: dict[str, tuple[Choices, Choices]] = {
    "6.1 root by the math module": ({}, {}),
    "6.1 root by a power": ({"root": "power"}, {}),
    "6.1 root kept as a buffer": ({"root": "buffer"}, {}),
    "6.1 root of a tensor": ({"root": "tensor"}, {}),
    "6.3 padding_idx is the pad id": ({"mistake": "padding_2"}, {}),
    "6.4 parameter, indexed": ({"store": "raw"}, {}),
    "6.4 parameter, turned": ({"store": "turned"}, {}),
    "6.4 one-hot product": ({"store": "one_hot"}, {}),
    "6.4 linear layer on one-hot": ({"store": "linear"}, {}),
    "6.4 a parameter for each row": ({"store": "rows"}, {}),
    "6.4 two tables side by side": ({"store": "halves", "root": "power"}, {}),
    "7.1 exp and log": ({}, {"table": "exp_log"}),
    "7.1 power": ({}, {"table": "power"}),
    "7.1 inverse frequencies": ({}, {"table": "inverse"}),
    "7.1 numpy, float64": ({}, {"table": "numpy"}),
    "7.1 loops": ({}, {"table": "loops"}),
    "7.2 buffer without a batch": ({}, {"keep": "flat", "sum": "flat"}),
    "7.2 buffer with positions first": ({}, {"keep": "time_first"}),
    "7.3 buffer that is not saved": ({}, {"keep": "temporary"}),
    "7.3 parameter without gradient": ({}, {"keep": "frozen"}),
    "7.3 frozen embedding": ({}, {"keep": "lookup"}),
    "7.4 grown when needed": ({}, {"keep": "grown", "table": "numpy"}),
    "7.4 computed at each call": ({}, {"keep": "fly"}),
    "7.4 cached by length": ({}, {"keep": "cached", "table": "power"}),
    "7.5 detached": ({}, {"sum": "rows_first"}),
    "7.5 under no_grad": ({}, {"sum": "no_grad"}),
    "7.5 requires_grad_(False)": ({}, {"sum": "add"}),
    "7.7 too long: an error": ({}, {"long": "error"}),
    "0.5 dropout as a function": ({}, {"drop": "function"}),
    "0.9 dropout by hand": ({}, {"drop": "by_hand", "keep": "flat"}),
}

PUBLISHED = """
import math, torch
import torch.nn as nn

class Embeddings(nn.Module):
    def __init__(self, d_model, vocab):
        super(Embeddings, self).__init__()
        self.table = nn.Embedding(vocab, d_model)
        self.width = d_model
    def forward(self, tokens):
        return self.table(tokens) * self.width ** 0.5

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout, max_len=5000):
        super(PositionalEncoding, self).__init__()
        self.drop = nn.Dropout(p=dropout)
        waves = torch.zeros(max_len, d_model)
        steps = torch.arange(0, max_len).unsqueeze(1)
        rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        waves[:, 0::2] = (steps * rates).sin()
        waves[:, 1::2] = (steps * rates).cos()
        self.register_buffer("waves", waves.unsqueeze(0))
    def forward(self, x):
        x = x + self.waves[:, : x.size(1)].requires_grad_(False)
        return self.drop(x)
"""

# What the tests' builds call a mistake, and what it is called in the catalogue.
TABLE_MISTAKES = {
    "unscaled": "embed-scale-missing",
    "divided": "embed-scale-divided",
    "by_width": "embed-scale-by-width",
    "vocab": "embed-scale-by-vocab",
    "length": "embed-scale-by-length",
    "swapped": "embed-arguments-swapped",
    "frozen": "embed-table-frozen",
    "no_return": "embed-return-forgotten",
}
TABLE_PLACES = {
    "raw": {"store": "raw"},
    "one-hot": {"store": "one_hot", "root": "power"},
    "linear": {"store": "linear", "root": "tensor"},
    "halves": {"store": "halves"},
}
MISTAKES = {
    "halves": "positions-halves",
    "tensor2tensor": "positions-tensor2tensor",
    "own_frequency": "positions-cosine-own-frequency",
    "doubled": "positions-exponent-doubled",
    "doubled_own": "positions-exponent-doubled-own-frequency",
    "halved": "positions-exponent-halved",
    "base_1000": "positions-base-1000",
    "base_100000": "positions-base-100000",
    "log10": "positions-log10",
    "swapped": "positions-sine-cosine-swapped",
    "outside": "positions-division-outside",
    "only_sines": "positions-only-sines",
    "from_1": "positions-start-at-1",
    "normalized": "positions-normalized",
    "float64": "positions-in-float64",
    "sequence_first": "positions-sequence-first",
    "by_batch": "positions-sliced-by-batch",
    "table_turned": "positions-table-not-batch-first",
    "whole": "positions-whole-table",
    "d_model_rows": "positions-d_model-rows",
    "none": "positions-not-added",
    "replaced": "positions-replace-x",
    "beside": "positions-concatenated",
    "product": "positions-multiplied",
    "x_scaled": "positions-x-scaled",
    "sum_scaled": "positions-sum-scaled",
    "scaled": "positions-scaled",
    "scaled_down": "positions-scaled-down",
    "in_place": "positions-in-place",
    "detached": "positions-x-detached",
    "no_return": "positions-return-forgotten",
    "plain": "positions-no-buffer",
    "trained": "positions-trainable",
    "undropped": "positions-dropout-missing",
    "on_rows": "positions-dropout-on-positions",
    "on_x": "positions-dropout-on-x",
    "always_on": "positions-dropout-always-on",
    "fixed_rate": "positions-dropout-rate-ignored",
    "keeps": "positions-dropout-keeps",
}
PLACES = {
    "power, no batch": {"table": "power", "keep": "flat", "drop": "function"},
    "numpy, frozen parameter": {"table": "numpy", "keep": "frozen"},
    "inverse, positions first": {"table": "inverse", "keep": "time_first", "sum": "rows_first"},
    "exp and log, looked up": {"keep": "lookup", "drop": "function"},
}


def built(table: Choices, encoding: Choices) -> str:
    return (
        f"{TEXT}\n\nclass Embeddings(ComposedTable):\n    choices = {table!r}\n\n"
        f"class PositionalEncoding(ComposedEncoding):\n    choices = {encoding!r}\n"
    )


HONEST = {name: built(*choices) for name, choices in RIGHT.items()}


def graded(table: Choices, encoding: Choices, seed: int) -> Verdict:
    return harness.graded(STEP, built(table, encoding), seed)


def verdict_on(*edits: tuple[str, str], seed: int = 6) -> Verdict:
    """Of the model answer with these edits."""
    return harness.graded(STEP, edited(SOLUTION, *edits), seed)


@pytest.mark.parametrize("name", RIGHT)
def test_right_builds_get_full_marks(name: str) -> None:
    verdict = graded(*RIGHT[name], seed=3)
    assert failed(verdict) == set()
    assert named(verdict) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_right_builds_get_full_marks_whatever_is_drawn(name: str) -> None:
    for seed in range(20):
        assert failed(graded(*RIGHT[name], seed)) == set(), seed


def test_7_6_the_published_code_gets_full_marks_and_a_remark_on_odd_widths() -> None:
    verdict = grade(STEP, Source(PUBLISHED, "embeddings.py"), seed=4)
    assert failed(verdict, advice=True) == {"odd_width"}
    assert named(verdict) == {"positions-odd-width-fails"}


def test_7_9_another_longest_length_is_a_remark() -> None:
    verdict = verdict_on(("max_len: int = 5000", "max_len: int = 512"))
    assert failed(verdict, advice=True) == {"default_length"}
    required = verdict_on(("max_len: int = 5000", "max_len: int"))
    assert failed(required, advice=True) == {"default_length"}


def test_7_7_a_sentence_that_is_cut_silently_is_a_remark() -> None:
    cut = "x = x[:, : self.pe.size(1)]"
    verdict = verdict_on(("positions = self.pe", f"{cut}\n        positions = self.pe"))
    assert failed(verdict, advice=True) == {"too_long"}


def test_6_2_the_factor_in_the_other_class_is_told_in_both() -> None:
    verdict = verdict_on(
        ("return vectors * math.sqrt(self.d_model)", "return vectors"),
        ("x = x + positions", "x = x * x.size(-1) ** 0.5 + positions"),
    )
    assert failed(verdict) == {"embed_scale", "added"}
    assert named(verdict) == {"embed-scale-missing", "positions-x-scaled"}


@pytest.mark.parametrize("mistake", TABLE_MISTAKES)
def test_a_mistake_planted_in_embeddings_is_named_and_nothing_else_is(mistake: str) -> None:
    place = list(TABLE_PLACES.values())[list(TABLE_MISTAKES).index(mistake) % len(TABLE_PLACES)]
    verdict = graded({**place, "mistake": mistake}, {}, seed=8)
    assert named(verdict) == {TABLE_MISTAKES[mistake]}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_planted_in_positions_is_named_and_nothing_else_is(mistake: str) -> None:
    place = list(PLACES.values())[list(MISTAKES).index(mistake) % len(PLACES)]
    assert named(graded({}, {**place, "mistake": mistake}, seed=8)) == {MISTAKES[mistake]}


@pytest.mark.slow
@pytest.mark.parametrize("place", TABLE_PLACES)
@pytest.mark.parametrize("mistake", TABLE_MISTAKES)
def test_it_is_named_in_every_table_whatever_is_drawn(mistake: str, place: str) -> None:
    for seed in range(3):
        verdict = graded({**TABLE_PLACES[place], "mistake": mistake}, {}, seed)
        assert named(verdict) == {TABLE_MISTAKES[mistake]}, seed


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_is_named_in_every_encoding_whatever_is_drawn(mistake: str, place: str) -> None:
    for seed in range(3):
        verdict = graded({}, {**PLACES[place], "mistake": mistake}, seed)
        assert named(verdict) == {MISTAKES[mistake]}, seed
        assert verdict.points < 10, seed


@pytest.mark.parametrize("which", ["0", "1"])
@pytest.mark.parametrize("store", ["embedding", "raw"])
def test_a_wired_padding_row_costs_the_table_only(which: str, store: str) -> None:
    verdict = graded({"store": store, "mistake": f"padding_{which}"}, {}, seed=9)
    assert failed(verdict) == {"embed_table"}
    assert named(verdict) == {f"embed-padding-row-{which}"}


def test_every_known_mistake_is_planted() -> None:
    elsewhere = {"embed-padding-row-0", "embed-padding-row-1", "embed-fresh-table"}
    elsewhere |= {"positions-odd-width-fails"}
    planted = {*TABLE_MISTAKES.values(), *MISTAKES.values(), *elsewhere}
    assert planted == {m.slug for m in STEP.misconceptions}


def test_a_table_made_at_each_call_is_named_in_a_function_too() -> None:
    verdict = graded({"store": "nothing", "mistake": "fresh"}, {}, seed=9)
    assert named(verdict) == {"embed-fresh-table"}


UNKNOWN = {
    "table: a third of the root": [("math.sqrt(self.d_model)", "self.d_model ** (1 / 3)")],
    "table: a root too large": [("math.sqrt(self.d_model)", "math.sqrt(self.d_model + 1)")],
    "table: the other sign": [("return vectors *", "return -vectors *")],
    "table: neighbours mixed": [("self.lut(x)", "self.lut(x) + self.lut(x.roll(1, 1))")],
    "table: mean taken away": [("self.lut(x)", "self.lut(x - 0) - self.lut(x).mean(1, True)")],
    "table: one row too few": [
        ("nn.Embedding(vocab, d_model)", "nn.Embedding(vocab - 1, d_model)")
    ],
    "table: one row too many": [
        ("nn.Embedding(vocab, d_model)", "nn.Embedding(vocab + 1, d_model)")
    ],
    "table: rows shared by two ids": [("self.lut(x)", "self.lut(x // 2 * 2)")],
    "table: dropout inside": [("self.lut(x)", "nn.functional.dropout(self.lut(x), 0.5)")],
    "table: a bias": [
        (
            "self.d_model = d_model",
            "self.d_model = d_model\n        self.b = nn.Parameter(torch.ones(d_model))",
        ),
        ("self.lut(x)", "self.lut(x) + self.b"),
    ],
    "table: ids only, as floats": [("self.lut(x)", "x.unsqueeze(-1).float() + 0 * self.lut(x)")],
    "a base of 2": [("10000.0**", "2.0**")],
    "no pair turns at speed 1": [("10000.0**-exponent", "10000.0**-(exponent + 0.1)")],
    "faster to the end": [("10000.0**-exponent", "10000.0**exponent")],
    "positions counted down": [("torch.arange(max_len)", "torch.arange(max_len - 1, -1, -1)")],
    "every second position": [("torch.arange(max_len)", "2 * torch.arange(max_len)")],
    "positions from 2": [("torch.arange(max_len)", "torch.arange(2, max_len + 2)")],
    "minus the sine": [("torch.sin(angle)", "-torch.sin(angle)")],
    "tangents": [("torch.sin(angle)", "torch.tan(angle)")],
    "columns turned round": [
        ('self.register_buffer("pe", pe)', 'self.register_buffer("pe", pe.flip(-1))')
    ],
    "taken away": [("x = x + positions", "x = x - positions")],
    "added twice": [("x = x + positions", "x = x + positions + positions")],
    "half of x": [("x = x + positions", "x = x / 2 + positions")],
    "mean of both": [("x = x + positions", "x = (x + positions) / 2")],
    "x of the neighbour": [("x = x + positions", "x = x.roll(1, dims=1) + positions")],
    "only one gradient in two": [("x = x + positions", "x = x.detach() / 2 + x / 2 + positions")],
    "the last rows": [("self.pe[:, : x.size(1)]", "self.pe[:, -x.size(1) :]")],
    "a row too many is left out": [("self.pe[:, : x.size(1)]", "self.pe[:, 1 : x.size(1) + 1]")],
    "half the rate": [("nn.Dropout(p=dropout)", "nn.Dropout(p=dropout / 2)")],
    "a norm on top": [
        ("return self.dropout(x)", "return self.dropout(nn.functional.layer_norm(x, x.shape[-1:]))")
    ],
    "one trainable number": [
        (
            "nn.Dropout(p=dropout)",
            "nn.Dropout(p=dropout)\n        self.a = nn.Parameter(torch.ones(1))",
        )
    ],
    "itself": [("return self.dropout(x)", "return self")],
    "a pair": [("return self.dropout(x)", "return self.dropout(x), positions")],
    "an array": [("return self.dropout(x)", "return self.dropout(x).detach().numpy()")],
    "rounded": [("torch.sin(angle)", "torch.sin(angle).half().float()")],
    "the batch hidden in the rows": [("x = x + positions", "x = x + positions * x.size(0)")],
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    verdict = verdict_on(*UNKNOWN[name])
    assert verdict.points < 10
    assert named(verdict) == set()


SCALED = "return vectors * math.sqrt(self.d_model)"
SUM = "x = x + positions"
DROPPED = "return self.dropout(x)"
DROPOUT = "self.dropout = nn.Dropout(p=dropout)"
TABLE = "self.lut = nn.Embedding(vocab, d_model)"

# Wrong where no earlier probe looked, and the check that it costs.
QUIET: dict[str, tuple[list[tuple[str, str]], str]] = {
    "x cut off in a batch": (
        [(SUM, "x = (x if len(x) == 1 else x.detach()) + positions")],
        "added",
    ),
    "x cut off in training": (
        [(SUM, "x = (x.detach() if self.training else x) + positions")],
        "added",
    ),
    "half of x cut off in training": (
        [(SUM, "x = (x / 2 + x.detach() / 2 if self.training else x) + positions")],
        "added",
    ),
    "x times the batch": ([(SUM, "x = x * x.size(0) + positions")], "added"),
    "x changed in a batch": (
        [(SUM, "x.data += (len(x) > 1) * positions\n        x = x + (len(x) == 1) * positions")],
        "added",
    ),
    "x changed in training": (
        [(SUM, "y = x + positions\n        x.data += self.training\n        x = y")],
        "added",
    ),
    "a coin a token": (
        [(DROPPED, "return x * self.dropout(torch.ones_like(x[..., :1]))")],
        "dropout",
    ),
    "channels dropped": ([(DROPOUT, DROPOUT.replace("Dropout(", "Dropout1d("))], "dropout"),
    "a coin a sentence": (
        [(DROPPED, "return x * self.dropout(torch.ones_like(x[:, :1, :1]))")],
        "dropout",
    ),
    "a mask for all sentences": (
        [(DROPPED, "return x * self.dropout(torch.ones_like(x[:1]))")],
        "dropout",
    ),
    "one coin": ([(DROPPED, "return x * self.dropout(torch.ones_like(x[:1, :1, :1]))")], "dropout"),
    "parts dropped apart": (
        [(SUM, "x = x"), (DROPPED, "return self.dropout(x) + self.dropout(positions)")],
        "dropout",
    ),
    "dropped to another number": (
        [(DROPOUT, DROPOUT.replace("Dropout", "AlphaDropout"))],
        "dropout",
    ),
    "the same numbers at each call": (
        [(DROPPED, f"torch.manual_seed(0)\n        {DROPPED}")],
        "dropout",
    ),
    "table: sentences turned round": (
        [(SCALED, f"{SCALED} if len(x) < 3 else self.lut(x.flip(0)) * math.sqrt(self.d_model)")],
        "embed_scale",
    ),
    "table: cut off in a batch": (
        [(SCALED, f"{SCALED.replace('vectors', '(vectors if len(x) < 3 else vectors.detach())')}")],
        "embed_table",
    ),
    "table: one for all": (
        [
            ("class Embeddings", "tables = {}\n\n\nclass Embeddings"),
            (TABLE, "self.lut = tables.setdefault((vocab, d_model), nn.Embedding(vocab, d_model))"),
        ],
        "embed_table",
    ),
}


# Names that say no more than what is true of these, too.
TRUE = {"positions-x-detached", "positions-in-place"}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_wrong_where_few_look_costs_one_check_and_gets_no_name(name: str) -> None:
    edits, check = QUIET[name]
    for seed in (1, 6):
        verdict = verdict_on(*edits, seed=seed)
        assert failed(verdict) == {check}, seed
        assert named(verdict) <= TRUE, seed


TABLES = {
    "sparse gradients": (TABLE, "self.lut = nn.Embedding(vocab, d_model, sparse=True)"),
    "starts with zeros": (TABLE, f"{TABLE}\n        nn.init.zeros_(self.lut.weight)"),
}


@pytest.mark.parametrize("name", TABLES)
def test_it_does_not_matter_how_the_table_is_kept(name: str) -> None:
    for seed in (1, 2):
        assert verdict_on(TABLES[name], seed=seed).points == 10, seed


@pytest.mark.parametrize(
    ("edits", "checks"),
    [
        ([("return vectors * math.sqrt(self.d_model)", "return vectors")], {"embed_scale"}),
        ([("10000.0**", "1000.0**")], {"positions", "far_positions"}),
        ([("self.pe[:, : x.size(1)]", "self.pe")], {"length"}),
        ([("x = x + positions", "x += positions")], {"added"}),
        ([("x = x + positions", "x = positions.expand_as(x)")], {"added"}),
        ([('self.register_buffer("pe", pe)', "self.pe = pe")], {"kept_table"}),
        ([('self.register_buffer("pe", pe)', "self.pe = nn.Parameter(pe)")], {"kept_table"}),
        ([("return self.dropout(x)", "return x")], {"dropout"}),
        (
            [
                ("pe = pe.unsqueeze(0)", "pe = pe.unsqueeze(1)"),
                ("[:, : x.size(1)]", "[: x.size(0)]"),
            ],
            {"positions", "far_positions", "length"},
        ),
    ],
)
def test_one_slip_costs_what_it_is_about(edits: list[tuple[str, str]], checks: set[str]) -> None:
    assert failed(verdict_on(*edits)) <= checks
    assert failed(verdict_on(*edits))


def test_another_convention_costs_its_own_check_once() -> None:
    halves = graded({}, {"mistake": "halves"}, seed=5)
    assert failed(halves) == {"positions"}
    assert failed(graded({}, {"mistake": "sequence_first"}, seed=5)) == {"positions"}


def test_mistakes_in_both_classes_and_in_several_checks_are_all_named() -> None:
    verdict = verdict_on(
        ("return vectors * math.sqrt(self.d_model)", "return vectors / math.sqrt(self.d_model)"),
        ("10000.0**", "1000.0**"),
        ("return self.dropout(x)", "return x"),
        ('self.register_buffer("pe", pe)', "self.pe = pe"),
    )
    assert named(verdict) == {
        "embed-scale-divided",
        "positions-base-1000",
        "positions-dropout-missing",
        "positions-no-buffer",
    }
    assert failed(verdict) == {"embed_scale", "positions", "far_positions", "dropout", "kept_table"}


def test_torch_s_own_table_is_refused() -> None:
    verdict = grade(STEP, Source(SOLUTION + "\n\nEmbeddings = nn.Embedding\n", "e.py"), seed=2)
    assert failed(verdict) == {"embed_table", "embed_scale"}
    assert verdict.points == 7
