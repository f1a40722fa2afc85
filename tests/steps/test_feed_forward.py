"""Step 04: right builds get full marks, and a mistake is named by its name in every build."""

import functools
from pathlib import Path

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import harness
from tests.steps.harness import edited, named

STEP = find_step(4)
TEXT = Path(__file__).with_name("feed_forward_builds.py").read_text(encoding="utf-8")
SOLUTION = STEP.solution.read_text(encoding="utf-8")

# What the tests' builds call a mistake, and what it is called in the catalogue.
MISTAKES: dict[str, tuple[dict[str, str], str]] = {
    "no activation": ({"bend": "none"}, "no-activation"),
    "relu last": ({"mistake": "bend_last"}, "activation-after-second-layer"),
    "relu twice": ({"mistake": "bend_both"}, "activation-after-both-layers"),
    "relu first": ({"mistake": "bend_first"}, "activation-before-first-layer"),
    "gelu": ({"bend": "gelu"}, "activation-gelu"),
    "leaky relu": ({"bend": "leaky"}, "activation-leaky-relu"),
    "sigmoid": ({"bend": "sigmoid"}, "activation-sigmoid"),
    "tanh": ({"bend": "tanh"}, "activation-tanh"),
    "residual": ({"mistake": "residual"}, "residual-inside"),
    "norm first": ({"mistake": "norm_first"}, "norm-inside-first"),
    "norm last": ({"mistake": "norm_last"}, "norm-inside-last"),
    "residual and norm": ({"mistake": "residual_norm_last"}, "residual-and-norm-inside-last"),
    "norm and residual": ({"mistake": "residual_norm_first"}, "residual-and-norm-inside-first"),
    "square": ({"mistake": "square"}, "inner-width-ignored"),
    "fixed ratio": ({"mistake": "ratio"}, "inner-width-fixed-ratio"),
    "no dropout": ({"mistake": "drop_missing"}, "dropout-missing"),
    "dropout on output": ({"mistake": "drop_output"}, "dropout-on-output"),
    "dropout on output too": ({"mistake": "drop_output_too"}, "dropout-on-output-too"),
    "dropout on input": ({"mistake": "drop_input"}, "dropout-on-input"),
    "dropout on input too": ({"mistake": "drop_input_too"}, "dropout-on-input-too"),
    "dropout always on": ({"mistake": "always_on"}, "dropout-always-on"),
    "rate ignored": ({"mistake": "fixed_rate"}, "dropout-rate-ignored"),
    "rate to keep": ({"mistake": "keep"}, "dropout-as-keep"),
    "no biases": ({"biases": ""}, "no-biases"),
    "no first bias": ({"biases": "2"}, "no-first-bias"),
    "no second bias": ({"biases": "1"}, "no-second-bias"),
}
PLACES: dict[str, dict[str, str]] = {
    "linear, backwards": {"order": "21"},
    "convolution": {"store": "convolution"},
    "raw": {"store": "raw"},
    "fused": {"store": "fused"},
}
RIGHT: dict[str, dict[str, str]] = {
    "linear": {},
    "lazy, backwards": {"store": "lazy", "order": "21", "bend": "clamp"},
    "convolution": {"store": "convolution", "bend": "function"},
    "raw, dropout by hand": {"store": "raw", "bend": "where", "drop": "by_hand"},
    "fused, dropout first": {"store": "fused", "bend": "maximum", "drop": "before"},
    "unit by unit": {"store": "units", "drop": "function", "bend": "module"},
}


def built(choices: dict[str, str]) -> str:
    return f"{TEXT}\n\nclass PositionwiseFeedForward(Composed):\n    choices = {choices!r}\n"


HONEST = {name: built(choices) for name, choices in RIGHT.items()}


def graded(choices: dict[str, str], seed: int) -> Verdict:
    return harness.graded(STEP, built(choices), seed)


def verdict_on(*edits: tuple[str, str], seed: int = 6) -> Verdict:
    """Of the model answer with these edits."""
    return harness.graded(STEP, edited(SOLUTION, *edits), seed)


# Remarks count here, too.
failed = functools.partial(harness.failed, advice=True)


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("name", RIGHT)
def test_right_builds_get_full_marks(name: str, seed: int) -> None:
    assert failed(graded(RIGHT[name], seed)) == set()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_named_and_nothing_else_is(mistake: str) -> None:
    choices, slug = MISTAKES[mistake]
    place = list(PLACES.values())[list(MISTAKES).index(mistake) % len(PLACES)]
    assert named(graded(place | choices, seed=8)) == {slug}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_it_is_named_in_every_build_whatever_is_drawn(mistake: str, place: str) -> None:
    choices, slug = MISTAKES[mistake]
    for seed in range(6):
        assert named(graded(PLACES[place] | choices, seed)) == {slug}, seed


@pytest.mark.parametrize("place", ["raw", "fused"])
@pytest.mark.parametrize("biases", ["", "1", "2"])
def test_a_missing_bias_costs_the_count_only(place: str, biases: str) -> None:
    verdict = graded(PLACES[place] | {"biases": biases}, seed=9)
    assert failed(verdict) == {"parameters"}


@pytest.mark.parametrize("order", ["12", "21"])
def test_a_kernel_of_three_is_named_however_it_is_declared(order: str) -> None:
    verdict = graded({"store": "wide_convolution", "order": order}, seed=10)
    assert failed(verdict) == {"parameters", "positions"}
    assert named(verdict) == {"convolution-kernel-3"}


@pytest.mark.parametrize(
    ("bend", "checks"), [("gelu", {"output"}), ("sigmoid", {"output"}), ("none", {"output"})]
)
def test_a_wrong_activation_costs_one_check(bend: str, checks: set[str]) -> None:
    assert failed(graded({"bend": bend}, seed=11)) == checks


def test_two_mistakes_are_both_named() -> None:
    verdict = graded({"bend": "tanh", "mistake": "drop_output"}, seed=12)
    assert "dropout-on-output" in named(verdict)
    assert failed(verdict) == {"output", "dropout", "scaling"}


UNKNOWN = {
    "softmax for an activation": [("hidden.relu()", "hidden.softmax(-1)")],
    "relu squared": [("hidden.relu()", "hidden.relu().square()")],
    "relu cut at one": [("hidden.relu()", "hidden.clamp(0, 1)")],
    "relu the other way": [("hidden.relu()", "-(-hidden).relu()")],
    "shifted": [("hidden.relu()", "(hidden - 0.5).relu()")],
    "scaled": [("self.w_2(hidden)", "self.w_2(hidden) * 0.5")],
    "half a residual": [("self.w_2(hidden)", "self.w_2(hidden) + x / 2")],
    "a third layer": [("self.w_2(hidden)", "self.w_2(self.w_1(self.w_2(hidden)))")],
    "mean over tokens": [("self.w_1(x)", "self.w_1(x.mean(1, keepdim=True).expand_as(x))")],
    "tokens rolled": [("self.w_1(x)", "self.w_1(x.roll(1, dims=1))")],
    "half the rate": [("nn.Dropout(p=dropout)", "nn.Dropout(p=dropout / 2)")],
    "a gate": [("hidden.relu()", "hidden.relu() * hidden.sigmoid()")],
    "a norm of the hidden units": [
        ("nn.Dropout(p=dropout)", "nn.Dropout(p=dropout)\n        self.norm = nn.LayerNorm(d_ff)"),
        ("hidden.relu()", "self.norm(hidden.relu())"),
    ],
    "one layer more": [
        (
            "nn.Dropout(p=dropout)",
            "nn.Dropout(p=dropout)\n        self.w_3 = nn.Linear(d_ff, d_ff)",
        ),
        ("hidden.relu()", "self.w_3(hidden.relu()).relu()"),
    ],
    "double width": [
        ("nn.Linear(d_model, d_ff)", "nn.Linear(d_model, 2 * d_ff)"),
        ("nn.Linear(d_ff, d_model)", "nn.Linear(2 * d_ff, d_model)"),
    ],
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    verdict = verdict_on(*UNKNOWN[name])
    assert verdict.points < 10
    assert named(verdict) == set()


HIDDEN = "hidden = self.dropout(hidden)"
RELU = "hidden = hidden.relu()"
MADE = "self.dropout = nn.Dropout(p=dropout)"

# Wrong where no earlier probe looked, and the checks that it costs.
QUIET: dict[str, tuple[list[tuple[str, str]], set[str]]] = {
    "cut off in training": (
        [("self.w_2(hidden)", "self.w_2(hidden.detach() if self.training else hidden)")],
        {"gradients"},
    ),
    "a gradient straight through": (
        [(RELU, "hidden = hidden + (hidden.relu() - hidden).detach()")],
        {"gradients"},
    ),
    "a gradient on the negative side": (
        [(RELU, "hidden = hidden.relu() + (0.1 * hidden - 0.1 * hidden.detach())")],
        {"gradients"},
    ),
    "a gradient on the negative side, in training": (
        [(RELU, "hidden = hidden.relu() + self.training * (hidden - hidden.detach())")],
        {"gradients"},
    ),
    "a gradient turned round": (
        [("hidden = self.w_1(x)", "hidden = self.w_1(2 * x.detach() - x)")],
        {"gradients"},
    ),
    "whole tokens dropped": ([(MADE, MADE.replace("Dropout", "Dropout1d"))], {"dropout"}),
    "a coin a token": (
        [(HIDDEN, "hidden = hidden * self.dropout(torch.ones_like(hidden[..., :1]))")],
        {"dropout"},
    ),
    "a mask a sentence": (
        [(HIDDEN, "hidden = hidden * self.dropout(torch.ones_like(hidden[:, :1]))")],
        {"dropout"},
    ),
    "a coin a sentence": (
        [(HIDDEN, "hidden = hidden * self.dropout(torch.ones_like(hidden[:, :1, :1]))")],
        {"dropout"},
    ),
    "a mask for all sentences": (
        [(HIDDEN, "hidden = hidden * self.dropout(torch.ones_like(hidden[:1]))")],
        {"dropout"},
    ),
    "one coin": ([(HIDDEN, "hidden = hidden * self.dropout(torch.ones(1))")], {"dropout"}),
    "the same units at each call": (
        [(RELU, RELU + "\n        torch.manual_seed(1)")],
        {"dropout"},
    ),
    "the same units for each shape": (
        [
            (
                HIDDEN,
                'kept = self.__dict__.setdefault("kept", {})\n'
                "        if self.training and hidden.shape not in kept:\n"
                "            kept[hidden.shape] = self.dropout(torch.ones_like(hidden))\n"
                "        hidden = hidden * kept[hidden.shape] if self.training else hidden",
            )
        ],
        {"dropout"},
    ),
    "x changed in training": (
        [
            (
                "return self.w_2(hidden)",
                "y = self.w_2(hidden)\n        x.data *= not self.training\n        return y",
            )
        ],
        {"output"},
    ),
    "layers in common": (
        [
            ("class Posi", "shared = {}\n\n\nclass Posi"),
            (MADE, MADE + "\n        self.w_1 = shared.setdefault((d_model, d_ff), self.w_1)"),
        ],
        {"parameters"},
    ),
    "a first bias that is frozen": (
        [(MADE, MADE + "\n        self.w_1.bias.requires_grad_(False)")],
        {"parameters"},
    ),
    "all frozen": (
        [(MADE, MADE + "\n        self.requires_grad_(False)")],
        {"parameters"},
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_wrong_where_few_look_costs_one_check_and_gets_no_name(name: str) -> None:
    edits, checks = QUIET[name]
    for seed in (1, 6):
        verdict = verdict_on(*edits, seed=seed)
        assert failed(verdict, advice=False) == checks, seed
        assert named(verdict) <= {"input-detached"}, seed


STARTS = {
    "a last layer of zeros": "nn.init.zeros_(self.w_2.weight)\n        self.w_2.bias.data.zero_()",
    "all zeros": "[nn.init.zeros_(p) for p in self.parameters()]",
    "large": "[nn.init.normal_(p, std=5) for p in self.parameters()]",
    "dead": "nn.init.constant_(self.w_1.bias, -9.0)",
}


@pytest.mark.parametrize("name", STARTS)
def test_it_does_not_matter_how_weights_start(name: str) -> None:
    for seed in range(4):
        verdict = verdict_on((MADE, f"{MADE}\n        {STARTS[name]}"), seed=seed)
        assert failed(verdict) == set(), seed


# Mistakes that look alike, so that the name has to be true of all of them.
ALIKE = {
    "first-bias-unused": [
        [("self.w_1(x)", "nn.functional.linear(x, self.w_1.weight)")],
        [("self.w_1(x)", "nn.functional.linear(x, self.w_1.weight, self.w_1.bias.detach())")],
    ],
    "input-detached": [
        [("self.w_1(x)", "self.w_1(x.detach())")],
        [("return self.w_2(hidden)", "return self.w_2(hidden).detach()")],
    ],
}


@pytest.mark.parametrize("slug", ALIKE)
def test_what_cannot_be_told_apart_has_a_name_that_is_true_of_both(slug: str) -> None:
    for edits in ALIKE[slug]:
        assert slug in named(verdict_on(*edits))
    words = STEP.misconception(slug).name["en"]
    assert "gradient" in words


def test_the_output_of_an_unread_network_is_no_accusation() -> None:
    verdict = verdict_on(*UNKNOWN["a norm of the hidden units"])
    (output,) = [c for c in verdict.checks if c.check == "output"]
    assert output.findings[0].text == "unreadable.size"


def test_changing_the_caller_s_tensor_is_seen() -> None:
    verdict = verdict_on(
        ("return self.w_2(hidden)", "y = self.w_2(hidden)\n        x.zero_()\n        return y")
    )
    assert failed(verdict) >= {"output"}


def test_extra_parameters_cost_the_count_only() -> None:
    verdict = verdict_on(
        ("nn.Dropout(p=dropout)", "nn.Dropout(p=dropout)\n        self.extra = nn.Linear(3, 3)")
    )
    assert failed(verdict) == {"parameters"}
    assert named(verdict) == set()
