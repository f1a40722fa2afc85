"""Steps 07 and 08: what holds of layers and stacks alike, by the tables of both steps' tests."""

from types import ModuleType

import pytest

from autograder.core.child import Limits
from autograder.core.grading import grade
from autograder.core.subject import Source
from tests.steps import test_decoder, test_encoder
from tests.steps.harness import edited, failed, graded, named

both = pytest.mark.parametrize("of", [test_encoder, test_decoder], ids=lambda of: of.STEP.slug)


def each(table: str) -> pytest.MarkDecorator:
    """The test takes a module of tests as `of`, and as `name` each key of its table."""
    pairs = [(of, name) for of in (test_encoder, test_decoder) for name in getattr(of, table)]
    return pytest.mark.parametrize(
        ("of", "name"), [pytest.param(of, name, id=f"{of.STEP.slug}-{name}") for of, name in pairs]
    )


def nth(places: dict[str, dict[str, str]], n: int) -> dict[str, str]:
    """Each mistake is planted in one of the places, in turn."""
    return list(places.values())[n % len(places)]


@each("HONEST")
def test_right_builds_get_full_marks(of: ModuleType, name: str) -> None:
    assert failed(graded(of.STEP, of.HONEST[name])) == set()


@pytest.mark.slow
@each("HONEST")
def test_right_builds_get_full_marks_whatever_is_drawn(of: ModuleType, name: str) -> None:
    for seed in range(25):
        assert failed(graded(of.STEP, of.HONEST[name], seed)) == set(), seed


@each("LAYER_MISTAKES")
def test_a_mistake_planted_in_a_layer_is_named_and_nothing_else_is(
    of: ModuleType, name: str
) -> None:
    place = nth(of.PLACES, list(of.LAYER_MISTAKES).index(name))
    verdict = graded(of.STEP, of.composed({**place, "mistake": name}, {}))
    assert named(verdict) == {of.LAYER_MISTAKES[name]}, verdict


@each("STACK_MISTAKES")
def test_a_mistake_planted_in_a_stack_is_named_and_nothing_else_is(
    of: ModuleType, name: str
) -> None:
    place = nth(of.STACK_PLACES, list(of.STACK_MISTAKES).index(name))
    verdict = graded(of.STEP, of.composed({}, {**place, "mistake": name}))
    assert named(verdict) == {of.STACK_MISTAKES[name]}, verdict


@pytest.mark.slow
@each("LAYER_MISTAKES")
def test_it_is_named_in_every_layer_whatever_is_drawn(of: ModuleType, name: str) -> None:
    for place in of.PLACES.values():
        for seed in range(6):
            verdict = graded(of.STEP, of.composed({**place, "mistake": name}, {}), seed)
            assert named(verdict) == {of.LAYER_MISTAKES[name]}, (place, seed)


@pytest.mark.slow
@each("STACK_MISTAKES")
def test_it_is_named_in_every_stack_whatever_is_drawn(of: ModuleType, name: str) -> None:
    for place in of.STACK_PLACES.values():
        for seed in range(6):
            verdict = graded(of.STEP, of.composed({}, {**place, "mistake": name}), seed)
            assert named(verdict) == {of.STACK_MISTAKES[name]}, (place, seed)


@each("UNKNOWN")
def test_what_the_catalogue_does_not_hold_gets_no_name(of: ModuleType, name: str) -> None:
    verdict = graded(of.STEP, edited(of.SOLUTION, of.UNKNOWN[name]))
    assert verdict.points < 10
    assert named(verdict) == set(), verdict


@each("HIDDEN")
def test_what_shows_in_gradients_masks_or_training_costs_one_check_without_a_name(
    of: ModuleType, name: str
) -> None:
    edit, check = of.HIDDEN[name]
    for seed in (3, 4):
        verdict = graded(of.STEP, edited(of.SOLUTION, edit), seed)
        assert (failed(verdict), named(verdict)) == ({check}, set()), verdict


@each("FINE")
def test_other_ways_with_masks_and_gradients_are_right(of: ModuleType, name: str) -> None:
    assert failed(graded(of.STEP, edited(of.SOLUTION, of.FINE[name]))) == set()


@each("ONE_CHECK")
def test_one_slip_costs_what_it_is_about(of: ModuleType, name: str) -> None:
    assert failed(graded(of.STEP, of.composed({"mistake": name}, {}))) == of.ONE_CHECK[name]


@both
def test_gradient_checkpointing_passes(of: ModuleType) -> None:
    """Its first use in a process imports a good deal of torch: not within the usual limits here."""
    source = Source(of.composed({}, {"loop": "checkpoint"}), f"{of.STEP.slug}.py")
    assert failed(grade(of.STEP, source, seed=3, limits=Limits(probe=60, step=60))) == set()


@both
def test_what_is_returned_besides_costs_the_output_only(of: ModuleType) -> None:
    verdict = graded(of.STEP, of.composed({"mistake": "returns_more"}, {}))
    assert failed(verdict) == {"layer_output"}
    assert named(verdict) == {"layer-returns-more"}


@both
def test_post_norm_is_charged_once_and_carried(of: ModuleType) -> None:
    verdict = graded(of.STEP, of.composed({"mistake": "post_norm", "norm": "one_plus"}, {}))
    carried = {c.check for c in verdict.checks if c.findings and c.state == "passed"}
    assert verdict.points == 9
    assert "layer_output" in carried


@both
def test_a_mistake_is_named_beside_post_norm(of: ModuleType) -> None:
    """The convention is carried, and what is wrong besides it is told."""
    verdict = graded(of.STEP, of.composed({"mistake": "post_norm"}, {"mistake": "same"}))
    assert named(verdict) == {"layer-post-norm", of.STACK_MISTAKES["same"]}


@both
def test_mistakes_in_both_classes_are_both_named(of: ModuleType) -> None:
    verdict = graded(of.STEP, of.composed({"mistake": "no_mask"}, {"mistake": "norm_unused"}))
    assert named(verdict) == {of.LAYER_MISTAKES["no_mask"], of.STACK_MISTAKES["norm_unused"]}


@both
def test_the_stub_is_told_to_be_unwritten(of: ModuleType) -> None:
    verdict = graded(of.STEP, of.STEP.stub.read_text(encoding="utf-8"))
    assert verdict.points == 0
    assert {c.findings[0].text for c in verdict.checks} == {"not_implemented"}
