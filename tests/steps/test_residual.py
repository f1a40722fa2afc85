"""Step 06: right builds get full marks, and a mistake is named by its name in every build."""

from pathlib import Path

import pytest

from autograder.core.grading import grade
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict
from tests.steps import harness
from tests.steps.harness import edited, failed, named

STEP = find_step(6)
TEXT = Path(__file__).with_name("residual_builds.py").read_text(encoding="utf-8")
SOLUTION = STEP.solution.read_text(encoding="utf-8")

Choices = dict[str, str]

# What the tests' builds call a mistake, and what it is called in the catalogue.
NORM_MISTAKES: dict[str, tuple[Choices, str]] = {
    "torch's formula": ({"mistake": "torch"}, "norm-torch-formula"),
    "biased": ({"std": "biased"}, "norm-biased-std"),
    "eps inside": ({"mistake": "eps_inside"}, "norm-eps-inside-root"),
    "no eps": ({"mistake": "no_eps"}, "norm-eps-missing"),
    "fixed eps": ({"mistake": "fixed_eps"}, "norm-eps-ignored"),
    "variance": ({"std": "variance"}, "norm-divides-by-variance"),
    "mean kept": ({"mistake": "no_mean"}, "norm-mean-not-removed"),
    "rms": ({"mistake": "rms"}, "norm-rms"),
    "detached": ({"mistake": "detached"}, "norm-statistics-detached"),
    "over the sequence": ({"std": "sequence", "shape": "vector"}, "norm-over-sequence"),
    "over the batch": ({"std": "batch", "shape": "vector"}, "norm-over-batch"),
    "over the sentence": ({"std": "sentence", "shape": "vector"}, "norm-over-sentence"),
    "no keepdim": ({"std": "narrow"}, "norm-keepdim-missing"),
    "math.sqrt": ({"std": "math"}, "norm-math-on-tensor"),
    "gain first": ({"mistake": "gain_first"}, "norm-gain-before-centring"),
    "bias first": ({"mistake": "bias_first"}, "norm-bias-before-gain"),
    "bias inside": ({"mistake": "bias_inside"}, "norm-bias-inside-division"),
    "bias starts at one": ({"mistake": "bias_one"}, "norm-bias-starts-at-one"),
}
NORM_PLACES: dict[str, Choices] = {
    "bias first": {"order": "bg"},
    "dictionary": {"store": "dictionary"},
    "rows": {"shape": "row", "order": "bg"},
}
BLOCK_MISTAKES: dict[str, str] = {
    "post": "residual-post-norm",
    "norm_of_output": "residual-norm-of-output",
    "of_normalized": "residual-of-normalized",
    "lost": "residual-sublayer-lost",
    "doubled": "residual-sublayer-lost-doubled",
    "overwritten": "residual-result-overwritten",
    "no_norm": "residual-norm-missing",
    "norm_unused": "residual-norm-unused",
    "drop_sum": "residual-dropout-on-sum",
    "drop_missing": "residual-dropout-missing",
    "drop_input": "residual-dropout-on-input",
    "always_on": "residual-dropout-always-on",
    "fixed_rate": "residual-dropout-rate-ignored",
    "keep": "residual-dropout-as-keep",
    "no_residual": "residual-missing",
    "of_output": "residual-of-output",
    "norm_twice": "residual-norm-twice",
    "twice": "residual-twice",
    "slice": "residual-of-first-token",
    "in_place": "residual-in-place",
    "tensor": "residual-result-expected",
}
RIGHT: dict[str, tuple[Choices, Choices]] = {
    "two vectors": ({}, {}),
    "one plus": ({"store": "one_plus", "order": "bg"}, {"drop": "function"}),
    "rows, by hand": ({"shape": "row", "std": "by_hand"}, {}),
    "dictionary": ({"store": "dictionary", "std": "together"}, {"drop": "function"}),
    "table": ({"store": "table", "order": "bg"}, {}),
}
STOCK = {
    "inherited": "class LayerNorm(nn.LayerNorm):\n    pass",
    "named anew": "LayerNorm = nn.LayerNorm",
    "imported": "from torch.nn import LayerNorm",
    "wrapped": "class LayerNorm(Stock):\n    pass",
}


def built(norm: Choices, block: Choices, stock: str = "") -> str:
    own = f"\nclass LayerNorm(ComposedNorm):\n    choices = {norm!r}\n"
    return (
        f"{TEXT}\n{stock or own}\n"
        f"class SublayerConnection(ComposedBlock):\n"
        f"    choices = {block!r}\n    norm_class = LayerNorm\n"
    )


HONEST = {name: built(*choices) for name, choices in RIGHT.items()}


def graded(norm: Choices, block: Choices, stock: str = "", seed: int = 5) -> Verdict:
    return harness.graded(STEP, built(norm, block, stock), seed)


def verdict_on(*edits: tuple[str, str], seed: int = 6) -> Verdict:
    """Of the model answer with these edits."""
    return harness.graded(STEP, edited(SOLUTION, *edits), seed)


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("name", RIGHT)
def test_right_builds_get_full_marks(name: str, seed: int) -> None:
    verdict = graded(*RIGHT[name], seed=seed)
    assert failed(verdict) == set()


@pytest.mark.parametrize("mistake", NORM_MISTAKES)
def test_a_planted_mistake_of_the_norm_is_named(mistake: str) -> None:
    choices, slug = NORM_MISTAKES[mistake]
    place = list(NORM_PLACES.values())[list(NORM_MISTAKES).index(mistake) % len(NORM_PLACES)]
    verdict = graded(place | choices, {})
    assert named(verdict) == {slug}
    assert not {c for c in failed(verdict) if c.startswith("residual")}


@pytest.mark.parametrize("mistake", BLOCK_MISTAKES)
def test_a_planted_mistake_of_the_block_is_named(mistake: str) -> None:
    norm = list(NORM_PLACES.values())[list(BLOCK_MISTAKES).index(mistake) % len(NORM_PLACES)]
    verdict = graded(norm, {"mistake": mistake})
    assert named(verdict) == {BLOCK_MISTAKES[mistake]}
    assert not {c for c in failed(verdict) if c.startswith("norm")}


@pytest.mark.slow
@pytest.mark.parametrize("place", NORM_PLACES)
def test_they_are_named_in_every_build_whatever_is_drawn(place: str) -> None:
    norm = NORM_PLACES[place]
    for seed in range(4):
        for choices, slug in NORM_MISTAKES.values():
            assert named(graded(norm | choices, {}, seed=seed)) == {slug}, seed
        for mistake, slug in BLOCK_MISTAKES.items():
            assert named(graded(norm, {"mistake": mistake}, seed=seed)) == {slug}, seed


@pytest.mark.parametrize("how", STOCK)
def test_torch_s_norm_costs_its_own_check_and_is_named(how: str) -> None:
    verdict = graded({}, {}, STOCK[how])
    assert failed(verdict) == {"norm_output"}
    assert named(verdict) == {"norm-torch-layer"}


def test_torch_s_norm_with_its_own_eps_is_named_so() -> None:
    fixed = "def __init__(self, n, eps=0):\n        super().__init__(n, 1e-5)"
    verdict = graded({}, {}, STOCK["wrapped"].replace("pass", fixed))
    assert failed(verdict) == {"norm_output"}
    assert named(verdict) == {"norm-torch-layer-fixed-eps"}


@pytest.mark.parametrize("how", STOCK)
def test_two_conventions_are_carried_together(how: str) -> None:
    """torch's norm and the paper's order: each costs its own check, and nothing is paid twice."""
    verdict = graded({}, {"mistake": "post"}, STOCK[how])
    assert failed(verdict) == {"norm_output", "residual_input"}
    assert named(verdict) == {"norm-torch-layer", "residual-post-norm"}


@pytest.mark.parametrize(
    "norm", [{"std": "biased"}, {"mistake": "torch"}, {"mistake": "eps_inside"}]
)
def test_another_formula_of_one_s_own_costs_one_check(norm: Choices) -> None:
    verdict = graded(norm, {})
    assert len(failed(verdict)) == 1


@pytest.mark.parametrize("mistake", ["drop_missing", "of_normalized", "no_norm"])
def test_a_mistake_in_the_block_is_named_beside_another_formula(mistake: str) -> None:
    verdict = graded({"mistake": "torch"}, {"mistake": mistake})
    assert named(verdict) == {"norm-torch-formula", BLOCK_MISTAKES[mistake]}


@pytest.mark.parametrize("store", ["vectors", "one_plus", "dictionary"])
def test_a_missing_bias_costs_the_count_only(store: str) -> None:
    verdict = graded({"order": "g", "store": store}, {})
    assert failed(verdict) == {"norm_parameters"}
    assert named(verdict) == {"norm-no-bias"}


def test_rows_of_three_dims_are_no_more_than_a_remark() -> None:
    verdict = graded({"shape": "row"}, {})
    assert verdict.passed
    assert [c.check for c in verdict.checks if c.state != "passed"] == ["norm_ranks"]


@pytest.mark.parametrize(
    ("choices", "slug"),
    [
        ({"shape": "scalar"}, "norm-scalar-gain-and-bias"),
        ({"shape": "scalar", "order": "bg"}, "norm-scalar-gain-and-bias"),
        ({"order": ""}, "norm-no-parameters"),
        ({"order": "b"}, "norm-no-gain"),
    ],
)
def test_parameters_that_are_not_one_a_feature_are_named(choices: Choices, slug: str) -> None:
    verdict = graded(choices, {})
    assert failed(verdict) == {"norm_parameters", "norm_output"}
    assert named(verdict) == {slug}


UNKNOWN = {
    "halved": [("return self.a_2 * normalized", "return self.a_2 * 0.5 * normalized")],
    "median": [("x.mean(dim=-1, keepdim=True)", "x.median(dim=-1, keepdim=True).values")],
    "mean deviation": [
        ("x.std(dim=-1, keepdim=True)", "(x - mean).abs().mean(dim=-1, keepdim=True)")
    ],
    "range": [
        ("x.std(dim=-1, keepdim=True)", "x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True)")
    ],
    "eps subtracted": [("(std + self.eps)", "(std - self.eps)")],
    "eps doubled": [("(std + self.eps)", "(std + 2 * self.eps)")],
    "gain starts at one half": [("torch.ones(features)", "torch.ones(features) / 2")],
    "bias starts anywhere": [("torch.zeros(features)", "torch.randn(features)")],
    "the gain squared": [("return self.a_2 * normalized", "return self.a_2**2 * normalized")],
    "half of x": [("return x + branch", "return x / 2 + branch")],
    "half of the branch": [("return x + branch", "return x + branch / 2")],
    "a minus": [("return x + branch", "return x - branch")],
    "half the rate": [("nn.Dropout(p=dropout)", "nn.Dropout(p=dropout / 2)")],
    "a relu": [("return x + branch", "return (x + branch).relu()")],
    "tokens rolled": [("return x + branch", "return x.roll(1, 1) + branch")],
    "half of the norm": [("branch = self.norm(x)", "branch = self.norm(x) / 2")],
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    verdict = verdict_on(*UNKNOWN[name])
    assert verdict.points < 10
    assert named(verdict) == set()


SUM = "return x + branch"
NORMED = "branch = self.norm(x)"
CALLED = "branch = sublayer(branch)"
DROPPED = "branch = self.dropout(branch)"
DROPOUT = "self.dropout = nn.Dropout(p=dropout)"

# Wrong where no earlier probe looked, and the check that it costs.
QUIET: dict[str, tuple[list[tuple[str, str]], str]] = {
    "branch cut off": ([(SUM, "return x + branch.detach()")], "residual_output"),
    "half of the branch cut off": (
        [(SUM, "return x + branch / 2 + branch.detach() / 2")],
        "residual_output",
    ),
    "sublayer without gradients": (
        [(CALLED, f"with torch.no_grad():\n            {CALLED}")],
        "residual_output",
    ),
    "branch cut off in training": (
        [(SUM, "return x + (branch.detach() if self.training else branch)")],
        "residual_output",
    ),
    "gradient of the branch turned round": (
        [(SUM, f"branch.requires_grad and branch.register_hook(lambda g: -g)\n        {SUM}")],
        "residual_output",
    ),
    "x cut off in training": (
        [(SUM, "return (x.detach() if self.training else x) + branch")],
        "residual_output",
    ),
    "x cut off before the norm": ([(NORMED, "branch = self.norm(x.detach())")], "residual_input"),
    "x cut off before the norm, in training": (
        [(NORMED, "branch = self.norm(x.detach() if self.training else x)")],
        "residual_input",
    ),
    "norm cut off": (
        [(NORMED, "branch = self.norm(x).detach().requires_grad_()")],
        "residual_input",
    ),
    "whole sentences dropped": (
        [(DROPPED, "branch = branch * self.dropout(torch.ones_like(branch[:, :1, :1]))")],
        "residual_dropout",
    ),
    "whole tokens dropped": (
        [(DROPPED, "branch = branch * self.dropout(torch.ones_like(branch[..., :1]))")],
        "residual_dropout",
    ),
    "channels dropped": (
        [(DROPOUT, DROPOUT.replace("Dropout(", "Dropout1d("))],
        "residual_dropout",
    ),
    "one mask for all sentences": (
        [(DROPPED, "branch = branch * self.dropout(torch.ones_like(branch[:1]))")],
        "residual_dropout",
    ),
    "one coin": (
        [(DROPPED, "branch = branch * self.dropout(torch.ones(1))")],
        "residual_dropout",
    ),
    "the same numbers at each call": (
        [(DROPPED, f"torch.manual_seed(3)\n        {DROPPED}")],
        "residual_dropout",
    ),
    "x changed in training": (
        [(SUM, "y = x + branch\n        x.data += self.training\n        return y")],
        "residual_output",
    ),
    "a norm in common": (
        [
            ("class SublayerC", "norms = {}\n\n\nclass SublayerC"),
            ("self.norm = LayerNorm(size)", "self.norm = norms.setdefault(size, LayerNorm(size))"),
        ],
        "residual_input",
    ),
    "an eps in common": ([("self.eps = eps", "LayerNorm.eps = eps")], "norm_eps"),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_wrong_where_few_look_costs_one_check_and_gets_no_name(name: str) -> None:
    edits, check = QUIET[name]
    for seed in (1, 6):
        verdict = verdict_on(*edits, seed=seed)
        assert failed(verdict) == {check}, seed
        assert named(verdict) <= {"residual-detached"}, seed  # where it is, in training


def test_a_gain_that_all_norms_share_is_counted() -> None:
    verdict = verdict_on(
        ("class LayerN", "gains = {}\n\n\nclass LayerN"),
        ("self.eps = eps", "self.eps = eps\n        self.a_2 = gains.setdefault(0, self.a_2)"),
    )
    assert "norm_parameters" in failed(verdict)


# Mistakes that look alike, so that the name has to be true of all of them.
LINE = "return self.a_2 * normalized + self.b_2"
ALIKE = {
    "norm-gain-unused": ["return normalized + self.b_2", LINE.replace("a_2", "a_2.detach()")],
    "norm-bias-unused": ["return self.a_2 * normalized", LINE.replace("b_2", "b_2.detach()")],
}


@pytest.mark.parametrize("slug", ALIKE)
def test_what_cannot_be_told_apart_has_a_name_that_is_true_of_both(slug: str) -> None:
    for line in ALIKE[slug]:
        assert named(verdict_on((LINE, line))) == {slug}
    assert "or no gradient reaches it" in STEP.misconception(slug).name["en"]


def test_an_unwritten_norm_is_told_as_such() -> None:
    stub = STEP.stub.read_text(encoding="utf-8")
    verdict = grade(STEP, Source(stub, "residual.py"), seed=1)
    assert verdict.points == 0
    told = {f.text for c in verdict.checks for f in c.findings}
    assert told == {"not_implemented"}
