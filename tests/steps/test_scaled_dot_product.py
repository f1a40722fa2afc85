"""Step 01: attention written in many ways, right and wrong, graded as a learner's file would be."""

from __future__ import annotations

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import harness
from tests.steps.harness import failed, named

STEP = find_step(1)

# Four ways of writing the same thing. Mistakes are planted in them by hand.
BUILDS = {
    "functions": """
import math, torch
import torch.nn.functional as F

def attention(query, key, value, mask=None, dropout=None):
    d_k = query.shape[-1]
    logits = torch.matmul(query, torch.transpose(key, -1, -2)) * d_k ** -0.5
    if mask is not None:
        logits = torch.where(mask != 0, logits, float("-inf"))
    weights = F.softmax(logits, dim=-1)
    if dropout:
        weights = dropout(weights)
    return torch.matmul(weights, value), weights
""",
    "einsum": """
import math, torch

def attention(query, key, value, mask=None, dropout=None):
    width = query.size(-1)
    logits = torch.einsum("...qd,...kd->...qk", query / width ** 0.5, key)
    if mask is not None:
        logits.masked_fill_(mask == 0, torch.finfo(logits.dtype).min)
    weights = torch.softmax(logits, dim=-1)
    weights = weights if dropout is None else dropout(weights)
    return [torch.einsum("...qk,...kd->...qd", weights, value), weights]
""",
    "by hand": """
import math, torch
from collections import namedtuple
import torch.nn.functional as F

Result = namedtuple("Result", "output weights")

def attention(query, key, value, mask=None, dropout=None):
    root = key.size(-1) ** 0.25
    logits = (query / root) @ (key / root).mT
    if mask is not None:
        logits = logits + (1.0 - mask.float()) * -1e9
    powers = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    weights = powers / powers.sum(dim=-1, keepdim=True)
    kept = weights
    if dropout is not None:
        kept = F.dropout(weights, dropout.p, dropout.training)
    return Result(kept @ value, weights)
""",
    "masked first": """
import math, torch

def attention(query, key, value, mask=None, dropout=None):
    products = query.matmul(key.swapaxes(-1, -2))
    if mask is not None:
        products = products.masked_fill(mask.logical_not(), -1e10)
    scaled = products / torch.sqrt(torch.tensor(query.size(-1), dtype=products.dtype))
    weights = torch.nn.Softmax(dim=-1)(scaled)
    if dropout is not None:
        weights = dropout(weights)
    result = weights.matmul(value)
    return result, weights
""",
}

# For each mistake, what is replaced in each build (in the order of BUILDS).
PLANTED: dict[str, list[list[tuple[str, str]]]] = {
    "mask-fill-result-dropped": [
        [("logits = torch.where(", "torch.where(")],
        [("logits.masked_fill_(", "logits.masked_fill(")],
        [("logits = logits + (1.0", "logits + (1.0")],
        [("products = products.masked_fill(", "products.masked_fill(")],
    ],
    "mask-polarity-inverted": [
        [("mask != 0", "mask == 0")],
        [("mask == 0", "mask == 1")],
        [("(1.0 - mask.float())", "mask.float()")],
        [("mask.logical_not()", "mask")],
    ],
    "mask-multiplied-into-scores": [
        [('float("-inf")', "0.0")],
        [("masked_fill_(mask == 0, torch.finfo(logits.dtype).min)", "mul_(mask)")],
        [("logits + (1.0 - mask.float()) * -1e9", "logits * mask.float()")],
        [("-1e10", "0")],
    ],
    "mask-added-to-scores": [
        [('torch.where(mask != 0, logits, float("-inf"))', "logits + mask")],
        [("masked_fill_(mask == 0, torch.finfo(logits.dtype).min)", "add_(mask.float())")],
        [("logits + (1.0 - mask.float()) * -1e9", "mask.float() + logits")],
        [
            (
                "products.masked_fill(mask.logical_not(), -1e10)",
                "products + mask * query.size(-1) ** 0.5",
            )
        ],
    ],
    "scale-missing": [
        [(" * d_k ** -0.5", "")],
        [(" / width ** 0.5", "")],
        [(" ** 0.25", " ** 0")],
        [("scaled = products / torch.sqrt(", "scaled = products\n    torch.sqrt(")],
    ],
    "scale-by-d_k": [
        [("d_k ** -0.5", "1 / d_k")],
        [("width ** 0.5", "width")],
        [(" ** 0.25", " ** 0.5")],
        [("torch.sqrt(torch.tensor(query.size(-1), dtype=products.dtype))", "query.size(-1)")],
    ],
    "scale-by-query-length": [
        [("query.shape[-1]", "query.shape[-2]")],
        [("query.size(-1)", "query.size(-2)")],
        [("key.size(-1)", "query.size(-2)")],
        [("query.size(-1)", "query.size(-2)")],
    ],
    "scale-by-key-length": [
        [("query.shape[-1]", "key.shape[-2]")],
        [("query.size(-1)", "key.size(-2)")],
        [("key.size(-1)", "key.size(-2)")],
        [("query.size(-1)", "key.size(-2)")],
    ],
    "scale-inverted": [
        [("d_k ** -0.5", "math.sqrt(d_k)")],
        [("/ width ** 0.5", "* width ** 0.5")],
        [(" ** 0.25", " ** -0.25")],
        [("/ torch.sqrt(", "* torch.sqrt(")],
    ],
    "softmax-over-queries": [
        [("F.softmax(logits, dim=-1)", "F.softmax(logits, -2)")],
        [("torch.softmax(logits, dim=-1)", "torch.softmax(logits, dim=-2)")],
        [("powers.sum(dim=-1", "powers.sum(dim=-2"), ("amax(dim=-1", "amax(dim=-2")],
        [("Softmax(dim=-1)", "Softmax(dim=-2)")],
    ],
    "softmax-over-second-axis": [
        [("F.softmax(logits, dim=-1)", "F.softmax(logits, 1)")],
        [("torch.softmax(logits, dim=-1)", "torch.softmax(logits, dim=1)")],
        [("powers.sum(dim=-1", "powers.sum(dim=1"), ("amax(dim=-1", "amax(dim=1")],
        [("Softmax(dim=-1)", "Softmax(dim=1)")],
    ],
    "softmax-over-batch": [
        [("F.softmax(logits, dim=-1)", "F.softmax(logits, 0)")],
        [("torch.softmax(logits, dim=-1)", "torch.softmax(logits, dim=0)")],
        [("powers.sum(dim=-1", "powers.sum(dim=0"), ("amax(dim=-1", "amax(dim=0")],
        [("Softmax(dim=-1)", "Softmax(dim=0)")],
    ],
    "softmax-missing": [
        [("F.softmax(logits, dim=-1)", "logits")],
        [("torch.softmax(logits, dim=-1)", "logits")],
        [("powers / powers.sum(dim=-1, keepdim=True)", "logits")],
        [("torch.nn.Softmax(dim=-1)(scaled)", "scaled")],
    ],
    "key-reshaped": [
        [("torch.transpose(key, -1, -2)", "key.view(*key.shape[:-2], d_k, -1)")],
        [("kd->...qk", "dk->...qk"), (", key)", ", key.reshape(*key.shape[:-2], width, -1))")],
        [("(key / root).mT", "(key / root).reshape(*key.shape[:-2], key.size(-1), -1)")],
        [("key.swapaxes(-1, -2)", "key.reshape(key.shape[:-2] + (key.size(-1), key.size(-2)))")],
    ],
    "values-not-used": [
        [("(weights, value)", "(weights, key)")],
        [("weights, value)", "weights, key)")],
        [("kept @ value", "kept @ key")],
        [("matmul(value)", "matmul(key)")],
    ],
    "only-output-returned": [
        [("torch.matmul(weights, value), weights", "torch.matmul(weights, value)")],
        [("weights, value), weights]", "weights, value)][0]")],
        [("Result(kept @ value, weights)", "kept @ value")],
        [("return result, weights", "return result")],
    ],
    "dropout-skipped": [
        [("weights = dropout(weights)", "dropout(weights)")],
        [("weights = weights if dropout is None else dropout(weights)", "")],
        [("Result(kept @", "Result(weights @")],
        [("weights = dropout(weights)", "...")],
    ],
    "dropout-on-scores": [
        [
            ("F.softmax(logits", "F.softmax(dropout(logits) if dropout else logits"),
            ("weights = dropout(weights)", "..."),
        ],
        [
            (
                "    weights = torch",
                "    logits = logits if dropout is None else dropout(logits)\n    weights = torch",
            ),
            ("    weights = weights if dropout is None else dropout(weights)", ""),
        ],
        [
            ("    powers =", "    if dropout: logits = dropout(logits)\n    powers ="),
            ("Result(kept @", "Result(weights @"),
        ],
        [
            ("(scaled)", "(scaled if dropout is None else dropout(scaled))"),
            ("weights = dropout(weights)", "..."),
        ],
    ],
    "dropout-on-output": [
        [("weights = dropout(weights)", "return dropout(torch.matmul(weights, value)), weights")],
        [
            ("    weights = weights if dropout is None else dropout(weights)", ""),
            ("return [", "last = dropout or (lambda t: t)\n    return [last("),
            (", value), weights]", ", value)), weights]"),
        ],
        [
            (
                "kept @ value",
                "F.dropout(weights @ value, dropout.p, dropout.training) "
                "if dropout else weights @ value",
            )
        ],
        [("weights = dropout(weights)", "return dropout(weights.matmul(value)), weights")],
    ],
    "dropout-always-on": [
        [("dropout(weights)", "F.dropout(weights, dropout.p)")],
        [("dropout(weights)", "torch.nn.Dropout(dropout.p)(weights)")],
        [("dropout.p, dropout.training", "dropout.p")],
        [("dropout(weights)", "torch.dropout(weights, dropout.p, True)")],
    ],
}

CASES = [
    pytest.param(slug, build, edits, id=f"{slug}-{build}")
    for slug, every in PLANTED.items()
    for build, edits in zip(BUILDS, every, strict=True)
]


def graded(text: str, seed: int = 5) -> Verdict:
    return harness.graded(STEP, text, seed)


def edited(text: str, *edits: tuple[str, str]) -> str:
    for find, replace in edits:
        assert text.count(find) == 1 or replace == "", (find, text.count(find))
        assert find in text, find
        text = text.replace(find, replace)
    return text


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("seed", range(3))
def test_builds_get_full_marks(build: str, seed: int) -> None:
    verdict = graded(BUILDS[build], seed)
    assert verdict.points == 10
    assert named(verdict) == set()


@pytest.mark.parametrize(("slug", "build", "edits"), CASES)
def test_mistakes_are_named_in_other_builds(
    slug: str, build: str, edits: list[tuple[str, str]]
) -> None:
    verdict = graded(edited(BUILDS[build], *edits))
    assert not verdict.passed
    assert named(verdict) == {slug}, verdict


SOLUTION = STEP.solution.read_text(encoding="utf-8")
FILL = "scores = scores.masked_fill(mask == 0, -1e9)"
VARIATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "01 fill -1e4": ((FILL, FILL.replace("-1e9", "-1e4")),),
    "01 fill -1e18": ((FILL, FILL.replace("-1e9", "-1e18")),),
    "01 fill -inf": ((FILL, FILL.replace("-1e9", "-math.inf")),),
    "01 fill finfo.min": ((FILL, FILL.replace("-1e9", "torch.finfo(scores.dtype).min")),),
    "02 hidden row gives zeros": (
        ("p_attn = scores.softmax(dim=-1)", "p_attn = scores.softmax(dim=-1)\n"
         "    if mask is not None:\n        p_attn = p_attn.masked_fill(mask == 0, 0.0)"),
    ),
    "03 mask inverted by ~": ((FILL, "scores = scores.masked_fill(~mask, -1e9)"),),
    "03 filled in place": ((FILL, "scores.masked_fill_(mask == 0, -1e9)"),),
    "04 additive mask inside": (
        (FILL, "scores = scores + torch.zeros(mask.shape).masked_fill(mask == 0, -1e9)"),
    ),
    "05 mask, then scale": (
        ("scores = scores / math.sqrt(d_k)", "pass"),
        (FILL, FILL),
        ("p_attn = scores.softmax(dim=-1)", "p_attn = (scores / math.sqrt(d_k)).softmax(dim=-1)"),
    ),
    "06 softmax, mask, renormalise": (
        (FILL, "pass"),
        ("p_attn = scores.softmax(dim=-1)", "p_attn = scores.softmax(dim=-1)\n"
         "    if mask is not None:\n        p_attn = p_attn * mask\n"
         "        p_attn = p_attn / p_attn.sum(dim=-1, keepdim=True)"),
    ),
    "07 scaled query": (
        ("scores = query @ key", "scores = query / math.sqrt(query.size(-1)) @ key"),
        ("scores = scores / math.sqrt(d_k)", "pass"),
    ),
    "07 scale in place": (("scores = scores / math.sqrt(d_k)", "scores /= d_k**0.5"),),
    "09 a list": (("return output, p_attn", "return [output, p_attn]"),),
    "09 weights before dropout": (
        ("p_attn = dropout(p_attn)", "pass"),
        ("output = p_attn @ value",
         "output = (p_attn if dropout is None else dropout(p_attn)) @ value"),
    ),
    "11 a rate is accepted, too": (
        ("p_attn = dropout(p_attn)", "p_attn = nn.functional.dropout(p_attn, dropout) "
         "if isinstance(dropout, float) else dropout(p_attn)"),
    ),
    "12 leading dims folded": (
        ("scores = query @ key.transpose(-2, -1)",
         "lead = query.shape[:-2]\n    q, k = (t.flatten(0, -3) if t.dim() > 2 else t[None] "
         "for t in (query, key))\n"
         "    scores = torch.bmm(q, k.transpose(1, 2)).reshape(*lead, q.size(1), k.size(1))"),
    ),
    "13 mT": (("key.transpose(-2, -1)", "key.mT"),),
    "13 movedim": (("key.transpose(-2, -1)", "key.movedim(-1, -2).contiguous()"),),
}  # fmt: skip
HONEST = BUILDS | {row: edited(SOLUTION, *edits) for row, edits in VARIATIONS.items()}


@pytest.mark.parametrize("row", VARIATIONS)
def test_variation_is_accepted(row: str) -> None:
    verdict = graded(HONEST[row])
    assert (verdict.points, named(verdict)) == (10, set()), verdict


READY_MADE = [
    "import torch\nfrom torch.nn.functional import scaled_dot_product_attention as f\n"
    "def attention(query, key, value, mask=None, dropout=None):\n"
    "    return f(query, key, value, mask), f(query, key, torch.eye(key.size(-2)), mask)\n",
    "import torch.nn.functional as F, torch\n"
    "def attention(query, key, value, mask=None, dropout=None):\n"
    "    return F.scaled_dot_product_attention(query, key, value, mask), None\n",
    "import torch\n"
    "def attention(query, key, value, mask=None, dropout=None):\n"
    "    return torch._C._nn.scaled_dot_product_attention(query, key, value, mask), None\n",
]


@pytest.mark.parametrize("text", READY_MADE)
def test_the_ready_made_part_costs_the_main_check(text: str) -> None:
    checks = {c.check: c for c in graded(text).checks}
    assert checks["output"].points == 0
    assert checks["output"].findings[0].text == "ready_made"


def test_the_ready_made_function_under_its_own_name_is_refused() -> None:
    text = "from torch.nn.functional import scaled_dot_product_attention as attention\n"
    assert graded(text).points == 0


@pytest.mark.parametrize(
    ("edits", "checks"),
    [
        ([(FILL, "pass")], ["mask"]),
        ([("output = p_attn @ value", "output = p_attn @ key")], ["output", "gradients"]),
        ([("return output, p_attn", "return p_attn, output")], ["output"]),
        ([("return output, p_attn", "return output")], ["weights"]),
        ([("scores.softmax(dim=-1)", "scores.softmax(dim=2)")], ["leading_dims"]),
        ([("p_attn = dropout(p_attn)", "pass")], ["dropout"]),
    ],
)
def test_one_slip_costs_what_it_is_about(edits: list[tuple[str, str]], checks: list[str]) -> None:
    assert failed(graded(edited(SOLUTION, *edits)), advice=True) == set(checks)


@pytest.mark.parametrize(
    "text",
    [
        # no catalogue entry: the cause is another one, even where the exception is the same
        edited(SOLUTION, ("scores = query @ key.transpose(-2, -1)", "scores = query")),
        edited(SOLUTION, ("scores = query @ key.transpose(-2, -1)", "scores = query @ value")),
        edited(SOLUTION, ("math.sqrt(d_k)", "d_k ** 0.25")),
        edited(SOLUTION, ("math.sqrt(d_k)", "(d_k - 1) ** 0.5")),
        edited(SOLUTION, ("scores.softmax(dim=-1)", "scores.sigmoid()")),
        edited(SOLUTION, ("output = p_attn @ value", "output = p_attn @ value + query.mean()")),
        edited(SOLUTION, ("mask == 0, -1e9", "(mask == 0).flip(-1), -1e9")),
        edited(SOLUTION, ("return output, p_attn", "return output.detach(), p_attn")),
        edited(SOLUTION, ("return output, p_attn", "return output * 0, p_attn * 0")),
        edited(SOLUTION, ("return output, p_attn", "return output.double(), p_attn")),
        edited(SOLUTION, ("return output, p_attn", "return None")),
        edited(SOLUTION, ("return output, p_attn", "return output.numpy(), p_attn")),
    ],
)
def test_other_mistakes_fail_and_get_no_name(text: str) -> None:
    verdict = graded(text)
    assert not verdict.passed
    assert named(verdict) == set()


# Wrong only where few look: each costs its own check, and is given no name that is not its own.
DROP = "p_attn = dropout(p_attn)"
SCORES = "scores = query @ key.transpose(-2, -1)"
RARELY_WRONG: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "masked scores detached": (
        "gradients",
        [("scores.masked_fill(", "scores.detach().masked_fill(")],
    ),
    "weights detached when dropped": ("gradients", [(DROP, f"{DROP}.detach()")]),
    "first query's mask for all": (
        "mask",
        [("mask == 0", "(mask if mask.dim() < 3 else mask[..., :1, :]) == 0")],
    ),
    "first sentence's mask for all": (
        "mask",
        [("mask == 0", "(mask[:1] if mask.dim() == 3 and mask.size(1) > 1 else mask) == 0")],
    ),
    "weights of another mask returned": (
        "weights",
        [("return output, p_attn", "return output, p_attn if mask is None else "
          "(query @ key.mT / d_k**0.5).softmax(-1) * mask")],
    ),
    "lone query squeezed": (
        "output",
        [("return output, p_attn", "return output.squeeze(-2), p_attn")],
    ),
    "only contiguous inputs": (
        "leading_dims",
        [(SCORES, "lead = query.shape[:-2]\n    q, k = (t.view(-1, *t.shape[-2:]) for t in "
          "(query, key))\n    scores = (q @ k.mT).view(*lead, q.size(1), k.size(1))")],
    ),
    "rows dropped": (
        "dropout",
        [(DROP, "p_attn = p_attn * dropout(torch.ones_like(p_attn[..., :1]))")],
    ),
    "one mask for the batch": (
        "dropout",
        [(DROP, "p_attn = p_attn * dropout(torch.ones_like(p_attn[:1]))")],
    ),
    "one mask for all calls": ("dropout", [(SCORES, f"torch.manual_seed(0)\n    {SCORES}")]),
}  # fmt: skip


@pytest.mark.parametrize("name", RARELY_WRONG)
@pytest.mark.parametrize("seed", range(2))
def test_what_is_wrong_only_at_times_costs_its_own_check(name: str, seed: int) -> None:
    check, edits = RARELY_WRONG[name]
    verdict = graded(edited(SOLUTION, *edits), seed)
    assert (failed(verdict, advice=True), named(verdict)) == ({check}, set())


def test_hidden_rows_and_mask_types_are_remarks() -> None:
    minus_infinity = graded(edited(SOLUTION, ("-1e9)\n", "-math.inf)\n")))
    assert (minus_infinity.points, failed(minus_infinity, advice=True)) == (10, {"hidden_row"})
    bitwise = graded(edited(SOLUTION, ("mask == 0, -1e9", "~mask, -1e9")))
    assert (bitwise.points, failed(bitwise, advice=True)) == (10, {"mask_dtypes"})


def test_two_mistakes_of_one_kind_each_are_both_named() -> None:
    text = edited(
        SOLUTION,
        ("return output, p_attn", "return output, scores"),
        ("p_attn = dropout(p_attn)", "p_attn = nn.functional.dropout(p_attn, dropout.p)"),
    )
    assert named(graded(text)) == {"scores-returned", "dropout-always-on"}
