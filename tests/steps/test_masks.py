"""Step 02: masks written in many ways, right and wrong, graded as a learner's file would be."""

from __future__ import annotations

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import harness
from tests.steps.harness import edited, failed, named

STEP = find_step(2)

# Bodies of `subsequent_mask(size)`. The number is that of a kind of honest difference.
RIGHT = {
    "2.1 triu of ones, compared": "return torch.triu(torch.ones(1, size, size), diagonal=1) == 0",
    "2.1 triu as uint8, compared": (
        "upper = torch.ones(size, size).triu(1).type(torch.uint8)\n    return upper[None] == 0"
    ),
    "2.1 tril of ones": "return torch.tril(torch.ones((1, size, size), dtype=torch.bool))",
    "2.1 one minus triu": "return (1 - torch.ones(1, size, size).triu(1)).bool()",
    "2.1 triu turned": "return torch.ones(size, size).triu().t().unsqueeze(0) > 0",
    "2.1 arange": "i = torch.arange(size)\n    return (i[None, :] <= i[:, None])[None]",
    "2.1 cumulative sum": "return torch.eye(size).cumsum(0).bool()[None].mT.flip(1, 2)",
    "2.1 numpy": (
        "import numpy\n    upper = numpy.triu(numpy.ones((1, size, size)), k=1).astype('uint8')\n"
        "    return torch.from_numpy(upper) == 0"
    ),
    "2.1 loops": "return torch.tensor([[[j <= i for j in range(size)] for i in range(size)]])",
    "2.1 tril_indices": (
        "mask = torch.zeros(size, size, dtype=torch.bool)\n"
        "    mask[tuple(torch.tril_indices(size, size))] = True\n    return mask.unsqueeze(dim=0)"
    ),
    "2.4 cut from a table": "return torch.ones(1, 500, 500).tril().bool()[:, :size, :size]",
    "2.4 expanded view": (
        "i = torch.arange(size)\n"
        "    return (i.expand(1, size, size) <= i.view(1, size, 1).expand(1, size, size))"
    ),
    "2.4 device given": "return torch.ones(1, size, size, device='cpu').tril().to(torch.bool)",
    "2.5 one size by itself": (
        "if size == 1:\n        return torch.tensor([[[True]]])\n"
        "    return ~torch.ones(1, size, size).triu(1).bool()"
    ),
}
TYPES = ["torch.uint8", "torch.int64", "torch.int32", "torch.float32", "torch.float64"]

# Five ways of writing it. Mistakes are planted in them by hand.
BUILDS = {
    "triu": """
    shape = (1, size, size)
    hidden = torch.triu(torch.ones(shape), diagonal=1).type(torch.uint8)
    return hidden == 0
""",
    "tril": """
    mask = torch.tril(torch.ones(size, size, dtype=torch.uint8), diagonal=0)
    return mask.bool().unsqueeze(0)
""",
    "loops": """
    rows = []
    for i in range(size):
        rows.append([1 if j <= i else 0 for j in range(size)])
    return torch.tensor([rows]) != 0
""",
    "numpy": """
    import numpy
    n = size
    mask = numpy.fromfunction(lambda _, i, j: i >= j, (1, n, n))
    return torch.from_numpy(mask)
""",
}

# For each mistake, what is replaced in each build (in the order of BUILDS).
PLANTED: dict[str, list[list[tuple[str, str]]]] = {
    "mask-inverted": [
        [("hidden == 0", "hidden == 1")],
        [("mask.bool()", "~mask.bool()")],
        [("1 if j <= i else 0", "0 if j <= i else 1")],
        [("i >= j", "i < j")],
    ],
    "mask-triangle-flipped": [
        [("torch.triu", "torch.tril"), ("diagonal=1", "diagonal=-1")],
        [("torch.tril", "torch.triu")],
        [("j <= i", "i <= j")],
        [("lambda _, i, j", "lambda _, j, i")],
    ],
    "mask-diagonal-hidden": [
        [("diagonal=1", "diagonal=0")],
        [("diagonal=0", "diagonal=-1")],
        [("j <= i", "j < i")],
        [("i >= j", "i > j")],
    ],
    "mask-sees-next": [
        [("diagonal=1", "diagonal=2")],
        [("diagonal=0", "diagonal=1")],
        [("j <= i", "j <= i + 1")],
        [("i >= j", "i + 1 >= j")],
    ],
    "mask-all-visible": [
        [("hidden == 0", "(hidden == 0) | True")],
        [("mask.bool()", "(~mask).bool()")],
        [("j <= i", "True")],
        [("i >= j", "i >= 0")],
    ],
    "mask-all-hidden": [
        [("hidden == 0", "hidden == 2")],
        [("torch.ones", "torch.zeros")],
        [("torch.tensor([rows]) != 0", "torch.tensor([rows]) > 1")],
        [("i >= j", "i < 0")],
    ],
    "mask-only-diagonal": [
        [("torch.triu(torch.ones(shape), diagonal=1)", "1 - torch.eye(size)[None]")],
        [("torch.tril(torch.ones(size, size, dtype=torch.uint8), diagonal=0)", "torch.eye(size)")],
        [("j <= i", "j == i")],
        [("i >= j", "i == j")],
    ],
    "mask-diagonal-only-hidden": [
        [("torch.triu(torch.ones(shape), diagonal=1)", "torch.eye(size)[None]")],
        [("mask.bool()", "(1 - torch.eye(size)).bool()")],
        [("j <= i", "j != i")],
        [("i >= j", "i != j")],
    ],
    "mask-mirrored": [
        [("hidden == 0", "hidden.flip(2) == 0")],
        [("mask.bool()", "mask.bool().fliplr()")],
        [("j <= i", "size - 1 - j <= i")],
        [("i >= j", "i + j >= n - 1")],
    ],
    "mask-to-be-added": [
        [("hidden == 0", "torch.ones(shape).mul(float('-inf')).triu(1)")],
        [("mask.bool()", "(mask.float().log())")],
        [("torch.tensor([rows]) != 0", "(torch.tensor([rows]) - 1) * 1e9")],
        [("torch.from_numpy(mask)", "(torch.from_numpy(mask).float() - 1) * 1e4")],
    ],
    "mask-batch-axis-missing": [
        [("(1, size, size)", "(size, size)")],
        [(".unsqueeze(0)", "")],
        [("[rows]", "rows")],
        [("(mask)", "(mask[0])")],
    ],
    "mask-head-axis-extra": [
        [("(1, size, size)", "(1, 1, size, size)")],
        [(".unsqueeze(0)", ".unsqueeze(0).unsqueeze(0)")],
        [("[rows]", "[[rows]]")],
        [("(mask)", "(mask[None])")],
    ],
    "mask-batch-axis-last": [
        [("hidden == 0", "(hidden == 0).permute(1, 2, 0)")],
        [("unsqueeze(0)", "unsqueeze(2)")],
        [("!= 0", ".transpose(0, 1).transpose(1, 2)")],
        [("(mask)", "(mask[0, :, :, None])")],
    ],
    "mask-one-row": [
        [("hidden == 0", "hidden[:, -1:] == 0")],
        [("mask.bool()", "mask[-1:].bool()")],
        [("[rows]", "[rows[-1:]]")],
        [("(mask)", "(mask[:, -1:])")],
    ],
    "mask-one-too-large": [
        [("(1, size, size)", "(1, size + 1, size + 1)")],
        [("torch.ones(size, size", "torch.ones(size + 1, size + 1")],
        [("rows = []", "rows = []\n    size = size + 1")],
        [("n = size", "n = size + 1")],
    ],
    "mask-one-too-small": [
        [("(1, size, size)", "(1, size - 1, size - 1)")],
        [("torch.ones(size, size", "torch.ones(size - 1, size - 1")],
        [("rows = []", "rows = []\n    size = size - 1"), ("[rows]", "[rows]).view(1, size, size")],
        [("n = size", "n = size - 1")],
    ],
    "mask-fixed-size": [
        [("(1, size, size)", "(1, 10, 10)")],
        [("torch.ones(size, size", "torch.ones(512, 512")],
        [("rows = []", "rows = []\n    size = 7")],
        [("n = size", "n = 100")],
    ],
}
CASES = [
    (slug, build) for slug, edits in PLANTED.items() for build, _ in zip(BUILDS, edits, strict=True)
]


def built(body: str) -> str:
    return f"import torch\n\ndef subsequent_mask(size):\n    {body.strip()}\n"


HONEST = {name: built(body) for name, body in (RIGHT | BUILDS).items()}


def graded(body: str, seed: int = 3) -> Verdict:
    return harness.graded(STEP, built(body), seed)


def planted(slug: str, build: str) -> str:
    return edited(BUILDS[build], *PLANTED[slug][list(BUILDS).index(build)])


@pytest.mark.parametrize("name", [*RIGHT, *BUILDS])
def test_right_masks_get_full_marks_and_no_remark(name: str) -> None:
    verdict = graded({**RIGHT, **BUILDS}[name])
    assert failed(verdict, advice=True) == set()
    assert verdict.points == 10


@pytest.mark.parametrize("dtype", TYPES)
def test_2_2_zeros_and_ones_of_another_type_are_a_remark(dtype: str) -> None:
    verdict = graded(f"return torch.ones(1, size, size).tril().to({dtype})")
    assert failed(verdict, advice=True) == {"dtype"}
    assert verdict.points == 10


@pytest.mark.parametrize(("slug", "build"), CASES)
def test_a_planted_mistake_is_named_and_nothing_else_is(slug: str, build: str) -> None:
    for seed in (1, 2):
        verdict = graded(planted(slug, build), seed)
        assert named(verdict) == {slug}, seed
        assert verdict.points < 10, seed


def test_every_known_mistake_is_planted() -> None:
    assert PLANTED.keys() == {m.slug for m in STEP.misconceptions}


@pytest.mark.parametrize("shape", ["(size, size)", "(1, 1, size, size)"])
def test_2_3_another_rank_costs_the_shape_only(shape: str) -> None:
    assert failed(graded(f"return torch.ones{shape}.tril().bool()")) == {"shape"}


def test_the_other_meaning_of_true_costs_one_check() -> None:
    verdict = graded("return torch.ones(1, size, size).triu(1).bool()")
    assert failed(verdict) == {"future"}
    carried = [c.check for c in verdict.checks if c.findings and c.state == "passed"]
    assert carried == ["past", "diagonal"]


UNKNOWN = {
    "random": "return torch.rand(1, size, size) > 0.5",
    "first row empty": (
        "m = torch.ones(1, size, size).tril() > 0\n    m[0, 0] = False\n    return m"
    ),
    "last row empty": (
        "m = torch.ones(1, size, size).tril() > 0\n    m[0, -1] = False\n    return m"
    ),
    "first column hidden": (
        "m = torch.ones(1, size, size).tril() > 0\n    m[:, 1:, 0] = False\n    return m"
    ),
    "the last two only": ("m = torch.ones(1, size, size)\n    return (m.tril() * m.triu(-1)) > 0"),
    "two ahead": "return torch.ones(1, size, size).tril(2) > 0",
    "two behind": "return torch.ones(1, size, size).tril(-2) > 0",
    "chessboard": "i = torch.arange(size)\n    return ((i[:, None] + i) % 2 == 0)[None]",
    "upside down": "return torch.ones(1, size, size).tril(-1).flip(2) > 0",
    "mirrored, inverted": "return torch.ones(1, size, size).triu(1).flip(2) > 0",
    "only the first row is right": (
        "m = torch.ones(1, size, size) > 0\n    m[0, 0, 1:] = False\n    return m"
    ),
    "right up to 6": (
        "m = torch.ones(1, size, size).tril() > 0\n    m[:, 6:, 0] = False\n    return m"
    ),
    "transposed for even sizes": (
        "m = torch.ones(1, size, size).tril() > 0\n    return m.mT if size % 2 == 0 else m"
    ),
    "size 1 is empty": "return (torch.ones(1, size, size).tril() > 0) & (size > 1)",
    "a batch of two": "return (torch.ones(size, size).tril() > 0).expand(2, size, size)",
    "flat": "return torch.ones(size, size).tril().flatten() > 0",
    "double width": "return torch.ones(1, size, 2 * size).tril() > 0",
    "a column": "return torch.ones(1, size, 1) > 0",
    "nothing": "torch.ones(1, size, size).tril()",
    "a list": "return torch.ones(1, size, size).tril().tolist()",
    "an array": "return torch.ones(1, size, size).tril().numpy()",
    "a pair": "m = torch.ones(1, size, size).tril()\n    return m, m",
    "an exception": "return torch.ones(1, size, size).tril(size=1)",
    "a meta tensor": "return torch.ones(1, size, size, device='meta').tril()",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    verdict = graded(UNKNOWN[name])
    assert verdict.points < 10
    assert named(verdict) == set()


# Right for a few words; and the checks that a long sentence costs.
SHORT = {
    "cut from a small table": (
        "return torch.ones(1, 16, 16).tril().bool()[:, :size, :size]",
        {"shape"},
    ),
    "positions counted in int8": (
        "i = torch.arange(size, dtype=torch.int8)\n    return (i <= i[:, None])[None]",
        {"future", "past"},
    ),
    "a window of twelve": (
        "m = torch.ones(1, size, size)\n    return (m.tril() * m.triu(-12)) > 0",
        {"past"},
    ),
    "a hundred at most": (
        "m = torch.ones(1, size, size).tril() > 0\n    m[0, 100:] = True\n    return m",
        {"future"},
    ),
    "no last word": (
        "m = torch.ones(1, size, size).tril() > 0\n    m[0, 99:, 99:] &= size < 100\n"
        "    m[0, 99:, 99:] |= torch.ones_like(m[0, 99:, 99:]).tril(-1)\n    return m",
        {"diagonal"},
    ),
}


@pytest.mark.parametrize("name", SHORT)
def test_what_is_right_for_short_sentences_only_costs_what_it_gets_wrong(name: str) -> None:
    body, checks = SHORT[name]
    for seed in (1, 2):
        verdict = graded(body, seed)
        assert failed(verdict) == checks, seed
        assert named(verdict) == set()


def test_a_very_large_mask_is_told_by_its_shape() -> None:
    verdict = graded("return torch.ones(1, 5000, 5000).tril().bool()")
    assert {c.state for c in verdict.checks} <= {"failed", "passed"}
    assert named(verdict) == {"mask-fixed-size"}


def test_two_mistakes_are_both_named() -> None:
    verdict = graded("return torch.ones(size, size).tril(-1).bool()")
    assert named(verdict) == {"mask-batch-axis-missing", "mask-diagonal-hidden"}
    assert failed(verdict) == {"shape", "diagonal"}
