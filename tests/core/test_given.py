"""What learners' code may import from the reference package, however it is spelt."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from autograder.core.given import NotGiven, only_given
from autograder.core.grading import grade
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict

Graded = Callable[..., Verdict]
Network = Callable[..., str]

GIVEN = {"attention": "scaled_dot_product"}

REFUSED = [
    "from transformer_ref import PositionwiseFeedForward",
    "from transformer_ref import feed_forward",
    "from transformer_ref.feed_forward import PositionwiseFeedForward",
    "from transformer_ref.residual import LayerNorm",
    "import transformer_ref.feed_forward",
    "import transformer_ref.residual as later",
    "import transformer_ref; transformer_ref.PositionwiseFeedForward",
    "import transformer_ref as t; t.feed_forward.PositionwiseFeedForward",
    "import transformer_ref as t; getattr(t, 'Layer' + 'Norm')",
    "import importlib; importlib.import_module('transformer_ref.feed_forward')",
    "import importlib; importlib.import_module('.residual', 'transformer_ref')",
    "__import__('transformer_ref.feed_forward')",
    "import importlib.util as u; u.find_spec('transformer_ref.feed_forward')",
]


@pytest.mark.parametrize("spelling", REFUSED)
def test_this_step_and_later_ones_are_refused(graded: Graded, spelling: str) -> None:
    told = graded(spelling).checks[0].findings[0]
    assert told.text == "load.not_given"
    assert str(told.facts["message"]).startswith("transformer_ref.")
    assert told.facts["code"] == spelling


@pytest.mark.parametrize("spelling", REFUSED[:6])
def test_they_are_refused_inside_methods_too(
    graded: Graded, network: Network, spelling: str
) -> None:
    verdict = graded(network(forward=spelling))
    assert {f.text for c in verdict.checks for f in c.findings} == {"load.not_given"}
    assert verdict.points == 0


@pytest.mark.parametrize(
    "spelling",
    [
        "import sys; sys.modules['transformer_ref.feed_forward']",
        "import sys; sys.modules['transformer_ref.residual']",
    ],
)
def test_loaded_modules_do_not_hold_them(graded: Graded, spelling: str) -> None:
    assert graded(spelling).checks[0].findings[0].facts["kind"] == "KeyError"


def test_a_name_that_is_no_piece_is_an_ordinary_mistake(graded: Graded) -> None:
    told = graded("from transformer_ref import PositionwiseFeedFroward").checks[0].findings[0]
    assert told.text == "load.import"
    told = graded("import transformer_ref.feed_froward").checks[0].findings[0]
    assert told.text == "load.no_module"


def test_earlier_pieces_are_given_in_every_spelling() -> None:
    for spelling in (
        "from transformer_ref import attention",
        "from transformer_ref import *",
        "from transformer_ref.scaled_dot_product import attention",
        "from transformer_ref import scaled_dot_product as s; attention = s.attention",
        "import transformer_ref.scaled_dot_product as s; attention = s.attention",
        "import transformer_ref; attention = transformer_ref.attention",
        "import importlib as i; attention = i.import_module('transformer_ref').attention",
    ):
        with only_given(GIVEN):
            space: dict[str, object] = {}
            exec(spelling, space)
        from transformer_ref import attention

        assert space["attention"] is attention


def test_a_step_is_graded_with_its_given_pieces() -> None:
    step = find_step(3)
    text = step.solution.read_text(encoding="utf-8")
    assert "from transformer_ref import attention" in text
    assert grade(step, Source(text, "multi_head.py")).points == 10
    verdict = grade(find_step(1), Source("from transformer_ref import attention", "a.py"))
    assert verdict.checks[0].findings[0].text == "load.not_given"


def test_the_package_is_whole_again_afterwards() -> None:
    package = importlib.import_module("transformer_ref")
    before = {n: m for n, m in sys.modules.items() if n.startswith("transformer_ref")}
    finders = list(sys.meta_path)
    with pytest.raises(ZeroDivisionError), only_given({}):
        with pytest.raises(NotGiven):
            importlib.import_module("transformer_ref.residual")
        raise ZeroDivisionError
    assert {n: m for n, m in sys.modules.items() if n.startswith("transformer_ref")} == before
    assert sys.meta_path == finders
    assert importlib.import_module("transformer_ref") is package
    assert package.LayerNorm


# ---------------------------------------------------------------- files beside the learner's


def test_a_helper_beside_the_file_is_found(
    graded: Graded, network: Network, tmp_path: Path
) -> None:
    (tmp_path / "my_helper.py").write_text("def work(x): return x.relu()")
    text = network(top="from my_helper import work").replace(
        "self.w_1(x).relu()", "work(self.w_1(x))"
    )
    assert graded(text, str(tmp_path / "feed_forward.py")).points == 10


@pytest.mark.parametrize("name", ["random", "types", "json", "copy", "torch", "struct", "colorsys"])
def test_a_standard_module_is_never_shadowed(
    graded: Graded, network: Network, tmp_path: Path, name: str
) -> None:
    (tmp_path / f"{name}.py").write_text("raise RuntimeError('shadowed')")
    text = network(top=f"import {name}")
    assert graded(text, str(tmp_path / "feed_forward.py")).points == 10


# ---------------------------------------------------------------- torch's own parts

SDPA = "from torch.nn import functional as F\nimport functools, torch\nfrom torch import nn\n"
READY_MADE = {
    "called": "def attention(query, key, value, mask=None, dropout=None):\n"
    "    p = (query @ key.transpose(-2, -1) / query.size(-1) ** 0.5).softmax(-1)\n"
    "    return F.scaled_dot_product_attention(query, key, value), p",
    "alias": "attention = F.scaled_dot_product_attention",
    "partial": "attention = functools.partial(F.scaled_dot_product_attention)",
    "underneath": "def attention(query, key, value, mask=None, dropout=None):\n"
    "    return torch._C._nn.scaled_dot_product_attention(query, key, value), query",
}


@pytest.mark.parametrize("definition", READY_MADE.values(), ids=READY_MADE.keys())
def test_ready_made_attention_costs_the_main_check(definition: str) -> None:
    step = find_step(1)
    verdict = grade(step, Source(SDPA + definition, "attention.py"))
    main = next(v for c, v in zip(step.checks, verdict.checks, strict=True) if c.main)
    assert main.points == 0
    assert main.findings[0].text in {"ready_made", "unusable.ready_made"}


def test_subclass_of_the_ready_made_part_is_noticed() -> None:
    text = (
        "import copy\nfrom torch import nn\n"
        "def clones(module, N): return nn.ModuleList(copy.deepcopy(module) for _ in range(N))\n"
        "class MultiHeadedAttention(nn.MultiheadAttention):\n"
        "    def __init__(self, h, d_model, dropout=0.1):\n"
        "        super().__init__(d_model, h, dropout, batch_first=True)\n"
    )
    step = find_step(3)
    verdict = grade(step, Source(text, "multi_head.py"))
    main = next(v for c, v in zip(step.checks, verdict.checks, strict=True) if c.main)
    assert main.points == 0
    assert main.findings[0].text == "ready_made"


def test_helper_file_does_not_hide_the_ready_made_part(tmp_path: Path) -> None:
    (tmp_path / "my_sdpa.py").write_text(SDPA + READY_MADE["called"])
    text = "from my_sdpa import attention"
    step = find_step(1)
    verdict = grade(step, Source(text, str(tmp_path / "attention.py")))
    main = next(v for c, v in zip(step.checks, verdict.checks, strict=True) if c.main)
    assert main.findings[0].text == "ready_made"


def test_given_pieces_may_use_ready_made_parts() -> None:
    from autograder.core.ready_made import watched

    with watched(["torch.nn.Linear"]) as used:
        space = {"__name__": "transformer_ref.somewhere"}
        exec("from torch import nn\nnn.Linear(2, 2)", space)
        assert used == []
        exec("from torch import nn\nnn.Linear(2, 2)", {"__name__": "learner"})
        assert used == ["torch.nn.Linear"]


def test_the_watch_offers_no_way_past_it() -> None:
    from autograder.core.ready_made import watched

    with watched(["torch.nn.functional.scaled_dot_product_attention"]):
        watching = torch.nn.functional.scaled_dot_product_attention
        assert not hasattr(watching, "__wrapped__")
    assert torch.nn.functional.scaled_dot_product_attention is not watching
