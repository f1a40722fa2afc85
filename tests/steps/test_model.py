"""Step 09: right builds get full marks, and a mistake is named by its name in every build."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from autograder.core.draw import Draw
from autograder.core.expected import Expected, reference
from autograder.core.probing import observe
from autograder.core.step import find_step
from autograder.core.subject import Source, Subject, trusted
from autograder.core.verdict import Verdict
from tests.steps import harness
from tests.steps.harness import edited, failed, named
from tests.steps.model_builds import BUILDS

STEP = find_step(9)
SOLUTION = STEP.solution.read_text(encoding="utf-8")

Edits = list[tuple[str, str]]
_tables = tomllib.loads(Path(__file__).with_name("model_edits.toml").read_text(encoding="utf-8"))
PLANTED: dict[str, dict[str, Edits]] = _tables["planted"]
VARIATIONS: dict[str, Edits] = _tables["variations"]
NAMELESS: dict[str, Edits] = _tables["nameless"]
# Variations that get full marks and a remark.
ADVISED = {"02 log of a softmax", "04 attention without dropout", "14 tied by value"}

CASES = [
    pytest.param(slug, build, edits, id=f"{slug}-{build}")
    for slug, every in PLANTED.items()
    for build, edits in every.items()
]

SEED = 5


@pytest.fixture(scope="module", autouse=True)
def _every_mistake_is_looked_at_without_hurry() -> None:
    """A verdict gives up naming after a while; on a busy machine that would fail these tests."""
    expected = Expected(STEP, SEED)
    for mistake in STEP.misconceptions:
        for probe in STEP.probes:
            expected.mistaken([mistake.slug], probe, {})


def graded(text: str) -> Verdict:
    return harness.graded(STEP, text, SEED)


HONEST = BUILDS | {name: edited(SOLUTION, *edits) for name, edits in VARIATIONS.items()}


@pytest.mark.parametrize("name", HONEST)
def test_right_ways_get_full_marks(name: str) -> None:
    verdict = graded(HONEST[name])
    assert verdict.points == 10, verdict
    assert bool(failed(verdict, advice=True)) == (name in ADVISED)


@pytest.mark.parametrize(("slug", "build", "edits"), CASES)
def test_mistakes_are_named_in_other_builds(slug: str, build: str, edits: Edits) -> None:
    verdict = graded(edited(BUILDS[build], *edits))
    assert named(verdict) == {slug}, verdict
    assert verdict.passed == bool(STEP.misconception(slug).advice)


def test_every_planted_mistake_is_in_three_builds_or_more() -> None:
    assert all(len(every) >= 3 for every in PLANTED.values())


@pytest.mark.parametrize("name", NAMELESS)
def test_other_mistakes_get_no_name(name: str) -> None:
    verdict = graded(edited(SOLUTION, *NAMELESS[name]))
    assert not verdict.passed
    assert named(verdict) == set()


INIT = "            nn.init.xavier_uniform_(parameter)\n    return model"
BIASES = "for p in model.encoder.parameters():\n        if p.dim() == 1 and bool((p % 1).any()):"
# What shows in other models, in training or without masks only, and the check that it costs.
HIDDEN: dict[str, tuple[Edits, str]] = {
    "always two layers": (
        [
            ("Encoder(encoder_layer, N)", "Encoder(encoder_layer, 2)"),
            ("Decoder(decoder_layer, N)", "Decoder(decoder_layer, 2)"),
        ],
        "model_sizes",
    ),
    "always this wide": (
        [("    encoder_self_attn =", "    d_model = 24\n    encoder_self_attn =")],
        "model_sizes",
    ),
    "always this deep inside": (
        [("    encoder_self_attn =", "    d_ff = max(d_ff, 20)\n    encoder_self_attn =")],
        "model_sizes",
    ),
    "a layer less": (
        [("Decoder(decoder_layer, N)", "Decoder(decoder_layer, N - 1)")],
        "model_sizes",
    ),
    "short sentences only": (
        [
            (
                "tgt_positions = PositionalEncoding(d_model, dropout)",
                "tgt_positions = PositionalEncoding(d_model, dropout, 512)",
            )
        ],
        "model_embeddings",
    ),
    "biases of another kind": (
        [
            (
                INIT,
                INIT.replace("return", f"{BIASES}\n            nn.init.normal_(p)\n    return"),
            )
        ],
        "model_start",
    ),
    "always the same start": (
        [("    encoder_self_attn =", "    torch.manual_seed(0)\n    encoder_self_attn =")],
        "model_start",
    ),
    "one generator for all models": (
        [
            (
                "generator=Generator(d_model, tgt_vocab)",
                "generator=made.setdefault((d_model, tgt_vocab), Generator(d_model, tgt_vocab))",
            ),
            ("class EncoderDecoder(", "made = {}\n\n\nclass EncoderDecoder("),
        ],
        "model_separate",
    ),
    "generator drops": (
        [("self.proj(x)", "self.proj(nn.functional.dropout(x, 0.1, self.training))")],
        "generator_output",
    ),
    "encode refuses None": (
        [
            (
                "return self.encoder(vectors, src_mask)",
                "return self.encoder(vectors, src_mask.bool())",
            )
        ],
        "encode",
    ),
    "decode refuses None": (
        [("(vectors, memory, src_mask, tgt_mask)", "(vectors, memory, src_mask, tgt_mask * 1)")],
        "decode",
    ),
    "forward refuses None": (
        [
            (
                "memory = self.encode(src, src_mask)",
                "src_mask = src_mask.bool()\n        memory = self.encode(src, src_mask)",
            )
        ],
        "forward",
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_hidden_from_one_model_costs_one_check_without_a_name(name: str) -> None:
    edits, check = HIDDEN[name]
    verdict = graded(edited(SOLUTION, *edits))
    assert (failed(verdict, advice=True), named(verdict)) == ({check}, set()), verdict


def test_a_mistake_costs_the_check_it_belongs_to() -> None:
    """Wiring, embeddings, sizes, start and dropout are each looked at by themselves."""
    for slug, check in (
        ("embeddings-swapped", "forward"),
        ("encode-target-embedding", "encode"),
        ("decode-order-target-second", "decode"),
        ("generator-bias-missing", "generator_parameters"),
        ("positions-missing", "model_embeddings"),
        ("decoder-attention-shared", "model_sizes"),
        ("generator-tied", "model_separate"),
        ("init-zeros", "model_start"),
        ("dropout-never", "model_dropout"),
    ):
        verdict = graded(STEP.misconception(slug).applied_to(SOLUTION))
        assert [c.check for c in verdict.checks if c.points < c.max_points] == [check], slug


def test_torchs_own_transformer_costs_the_main_check() -> None:
    text = edited(
        SOLUTION,
        ("encoder=Encoder(encoder_layer, N)", "encoder=torch_encoder(d_model, h, d_ff, N)"),
    )
    text += """

def torch_encoder(d_model, h, d_ff, N):
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model, h, d_ff), N)
"""
    verdict = graded(text)
    first = next(c for c in verdict.checks if c.check == "model_sizes")
    assert [f.text for f in first.findings] == ["ready_made"]


# ---------------------------------------------------------------- how a distribution is judged

STARTS = {
    "torch's own": "pass",
    "Xavier, normal": "nn.init.xavier_normal_(parameter)",
    "a tenth wider": "nn.init.xavier_uniform_(parameter, gain=1.1)",
    "a tenth narrower": "nn.init.xavier_uniform_(parameter, gain=0.9)",
    "Kaiming, uniform": "nn.init.kaiming_uniform_(parameter)",
    "Kaiming, normal": "nn.init.kaiming_normal_(parameter)",
    "narrow, normal": "nn.init.normal_(parameter, std=0.02)",
    "truncated normal": "nn.init.trunc_normal_(parameter, std=0.2, a=-0.35, b=0.35)",
}


def _started(how: str) -> Subject:
    line = "            nn.init.xavier_uniform_(parameter)"
    text = edited(SOLUTION, (line, f"            {how}"))
    return trusted(Source(text, "model.py"), how)


def _errors(subject: Subject, draws: range, alike: bool) -> list[int]:
    """The seeds with which its start is not told to be like the reference's, or unlike it."""
    probe = STEP.probes["model_start"]
    asked = observe(probe, reference(STEP.slug), Draw(0)).values
    return [s for s in draws if (observe(probe, subject, Draw(s)).values == asked) != alike]


@pytest.mark.parametrize("start", STARTS)
def test_another_start_is_told_from_xaviers(start: str) -> None:
    assert _errors(_started(STARTS[start]), range(20), alike=False) == []


@pytest.mark.parametrize("build", BUILDS)
def test_xaviers_start_is_never_refused(build: str) -> None:
    subject = trusted(Source(BUILDS[build], "model.py"), build)
    assert _errors(subject, range(20), alike=True) == []


@pytest.mark.slow
def test_there_is_no_error_in_a_thousand_draws() -> None:
    for build in BUILDS.values():
        assert _errors(trusted(Source(build, "m.py"), "m"), range(1000), alike=True) == []
    for how in STARTS.values():
        assert _errors(_started(how), range(1000), alike=False) == [], how
