"""Step 03: right builds get full marks, and a mistake is named by its name in every build."""

import functools
from pathlib import Path

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import harness
from tests.steps.harness import edited, named

STEP = find_step(3)
TEXT = Path(__file__).with_name("multi_head_builds.py").read_text(encoding="utf-8")
SOLUTION = STEP.solution.read_text(encoding="utf-8")

# What the tests' builds call a mistake, and what it is called in the catalogue.
MISTAKES = {
    "no_scale": "scale-missing",
    "scale_by_d_model": "scale-by-model-width",
    "split_by_view": "split-by-view",
    "merge_untransposed": "merge-untransposed",
    "no_output_projection": "output-projection-unused",
    "softmax_over_queries": "softmax-over-queries",
    "mask_ignored": "mask-not-forwarded",
    "mask_after_softmax": "mask-after-softmax",
    "values_from_key": "keys-used-as-values",
    "one_projection": "one-projection-used-for-all",
    "relu_on_projections": "activation-on-projections",
    "dropout_on_output": "dropout-on-output",
    "inputs_ignored": "inputs-ignored",
    "keys_and_values_exchanged": "keys-and-values-exchanged",
    "keys_and_values_share": "keys-and-values-share",
    "queries_and_keys_share": "queries-and-keys-share",
    "heads_averaged": "heads-averaged-or-summed",
}
PLACES = {
    "fused": {"store": "fused"},
    "raw": {"store": "raw"},
    "per head": {"store": "per_head"},
    "output first": {"order": "ovkq"},
}
RIGHT = {
    "linear": {},
    "fused by head": {"store": "fused_by_head", "score": "folded"},
    "raw, no biases": {"store": "raw", "biases": "", "score": "by_hand"},
    "cells": {"store": "cells", "score": "scaled_query", "merge": "reversed"},
    "lazy": {"store": "lazy", "split": "shuffled", "score": "given"},
    "per head": {"store": "per_head", "score": "one_by_one", "split_v": "interleaved"},
    "convolution": {"store": "convolution", "merge": "unit_major"},
}


def built(choices: dict[str, str]) -> str:
    return f"{TEXT}\n\nclass MultiHeadedAttention(Composed):\n    choices = {choices!r}\n"


HONEST = {name: built(choices) for name, choices in RIGHT.items() if "biases" not in choices}


def graded(choices: dict[str, str], seed: int) -> Verdict:
    return harness.graded(STEP, built(choices), seed)


def verdict_on(*edits: tuple[str, str], seed: int) -> Verdict:
    """Of the model answer with these edits."""
    return harness.graded(STEP, edited(SOLUTION, *edits), seed)


# Remarks count here, too.
failed = functools.partial(harness.failed, advice=True)


@pytest.mark.parametrize("name", RIGHT)
def test_right_builds_get_full_marks(name: str) -> None:
    verdict = graded(RIGHT[name], seed=4)
    assert failed(verdict) == ({"parameters"} if RIGHT[name].get("biases") == "" else set())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_named_and_nothing_else_is(mistake: str) -> None:
    place = list(PLACES.values())[list(MISTAKES).index(mistake) % len(PLACES)]
    assert named(graded({**place, "mistake": mistake}, seed=3)) == {MISTAKES[mistake]}


def test_a_mistake_in_clones_costs_what_it_costs_in_clones() -> None:
    copying = "copies = [copy.deepcopy(module) for _ in range(N)]"
    cases = {
        "same-object-n-times": (copying, "copies = [copy.deepcopy(module)] * N"),
        "shallow-copy": (copying, "copies = [copy.copy(module) for _ in range(N)]"),
        "plain-python-list": ("return nn.ModuleList(copies)", "return tuple(copies)"),
    }
    for slug, edit in cases.items():
        verdict = verdict_on(edit, seed=5)
        assert (verdict.points, named(verdict)) == (9, {slug})


ATTEND = "x, self.attn = attention(query, key, value, mask=mask, dropout=self.dropout)"
BATCH = "batch = query.size(0)\n"
DROPPING = "self.dropout = nn.Dropout(p=dropout)"
# Wrong only where few look: each costs its own check, and is given no name that is not its own.
RARELY_WRONG: dict[str, tuple[str, list[tuple[str, str]]]] = {
    **{
        f"bias of layer {i} unused": (
            "parameters",
            [(f"self.linears[{i}]({x})", f"nn.functional.linear({x}, self.linears[{i}].weight)")],
        )
        for i, x in {0: "query", 2: "value", 3: "x"}.items()
    },
    "biases aside": (
        "parameters",
        [
            (
                "clones(nn.Linear(d_model, d_model), 4)",
                "clones(nn.Linear(d_model, d_model, bias=False), 4)\n"
                "        self.aside = nn.Parameter(torch.zeros(4 * d_model))",
            )
        ],
    ),
    "queries' projection for keys in self-attention": (
        "output",
        [
            (BATCH, f"{BATCH}        own = query is key\n"),
            ("self.linears[1](key)", "self.linears[0 if own else 1](key)"),
        ],
    ),
    "no looking ahead where lengths agree": (
        "output",
        [
            (
                BATCH,
                f"{BATCH}        if mask is None and query.size(1) == key.size(1) > 1:\n"
                "            mask = torch.ones(1, query.size(1), key.size(1)).tril()\n",
            )
        ],
    ),
    "mask transposed where lengths agree": (
        "mask",
        [
            (
                "mask = mask.unsqueeze(1)",
                "mask = (mask.mT if mask.size(1) == mask.size(2) else mask).unsqueeze(1)",
            )
        ],
    ),
    "query cut off under a mask": (
        "gradients",
        [(ATTEND, f"query = query.detach() if mask is not None else query\n        {ATTEND}")],
    ),
    "all cut off in training": (
        "gradients",
        [(ATTEND, f"{ATTEND}\n        x = x.detach() if self.training else x")],
    ),
    "weights of another mask kept": (
        "attn",
        [(ATTEND, f"{ATTEND}\n        self.attn = attention(query, key, value)[1]")],
    ),
    "queries fall together": ("dropout", [(DROPPING, "self.dropout = nn.Dropout2d(dropout)")]),
    "heads fall together": (
        "dropout",
        [
            (
                "dropout=self.dropout)",
                "dropout=lambda p: p * self.dropout(torch.ones_like(p[:, :1])))",
            )
        ],
    ),
    "another dropout": ("dropout", [(DROPPING, "self.dropout = nn.AlphaDropout(dropout)")]),
    "what is left is not scaled": (
        "dropout",
        [
            (
                "dropout=self.dropout)",
                "dropout=lambda p: self.dropout(p) * (1 - self.dropout.p * self.training))",
            )
        ],
    ),
    "another rate": ("dropout", [(DROPPING, "self.dropout = nn.Dropout(dropout**2)")]),
    "the same fall in every call": (
        "dropout",
        [(BATCH, f"{BATCH}        torch.manual_seed(0)\n")],
    ),
}


@pytest.mark.parametrize("name", RARELY_WRONG)
@pytest.mark.parametrize("seed", range(2))
def test_what_is_wrong_only_at_times_costs_its_own_check(name: str, seed: int) -> None:
    check, edits = RARELY_WRONG[name]
    verdict = verdict_on(*edits, seed=seed)
    assert (failed(verdict), named(verdict)) == ({check}, set())


@pytest.mark.parametrize("start", ["weight", "bias"])
def test_the_last_layer_may_start_at_zero(start: str) -> None:
    zeroed = f"{DROPPING}\n        nn.init.zeros_(self.linears[3].{start})"
    assert failed(verdict_on((DROPPING, zeroed), seed=2)) == set()


def test_an_activation_costs_what_it_changes() -> None:
    for edit in (
        ("query = self.linears[0](query)", "query = self.linears[0](query).relu()"),
        ("return self.linears[3](x)", "return self.linears[3](x).tanh()"),
    ):
        verdict = verdict_on(edit, seed=2)
        assert (failed(verdict), named(verdict)) == ({"output", "gradients", "attn"}, set())


def test_the_original_may_be_one_of_the_copies() -> None:
    verdict = verdict_on(("for _ in range(N)]", "for _ in range(N - 1)] + [module]"), seed=5)
    assert verdict.points == 10
    assert failed(verdict) == {"container"}


def test_copies_may_begin_with_other_values_and_sit_in_a_module_of_one_s_own() -> None:
    own = """
class Stack(nn.Module):
    def __init__(self, copies):
        super().__init__()
        for copied in copies:
            copied.reset_parameters()
        self.inner = nn.ModuleList(copies)

    def __len__(self):
        return len(self.inner)

    def __iter__(self):
        return iter(self.inner)

    def __getitem__(self, i):
        return self.inner[i]


def clones("""
    edits = (("def clones(", own), ("return nn.ModuleList(copies)", "return Stack(copies)"))
    assert failed(verdict_on(*edits, seed=5)) == set()


def test_shared_projections_do_not_cost_what_works_all_the_same() -> None:
    verdict = graded({"mistake": "one_projection"}, seed=5)
    assert failed(verdict) == {"output", "gradients", "attn"}
    verdict = graded({"mistake": "keys_and_values_share"}, seed=5)  # its weights cannot be read
    assert failed(verdict) == {"output", "gradients", "attn"}


def test_the_ready_made_part_costs_the_main_check_and_is_told() -> None:
    ready = """
class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.inner = nn.MultiheadAttention(d_model, h, dropout, batch_first=True)
        self.h = h

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.bool().logical_not().expand(-1, query.size(1), -1)
            mask = mask.repeat_interleave(self.h, 0)
        y, self.attn = self.inner(query, key, value, attn_mask=mask, average_attn_weights=False)
        return y
"""
    verdict = harness.graded(STEP, SOLUTION + ready, 5)
    assert failed(verdict) == {"output"}
    (told,) = (c for c in verdict.checks if c.state != "passed")
    assert [f.text for f in told.findings] == ["ready_made"]


def test_what_returns_its_input_passes_no_check_of_behaviour() -> None:
    lazy = """
class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        return query
"""
    verdict = harness.graded(STEP, SOLUTION + lazy, 5)
    behaviour = {"output", "gradients", "mask", "attn", "dropout"}
    assert behaviour <= failed(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_is_named_in_every_build_whatever_is_drawn(mistake: str, place: str) -> None:
    for seed in range(6):
        verdict = graded({**PLACES[place], "mistake": mistake}, seed)
        assert named(verdict) == {MISTAKES[mistake]}, seed
        assert verdict.points < 10, seed
