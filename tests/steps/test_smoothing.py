"""Step 13: label smoothing written in many ways, right and wrong."""

from __future__ import annotations

import pytest

from autograder.core.grading import grade
from autograder.core.step import find_step
from autograder.core.subject import Source
from autograder.core.verdict import Verdict
from tests.steps import smoothing_builds

STEP = find_step(13)

# Bodies of `forward(self, x, target)`; `self.size`, `self.pad` and `self.eps` are there.
RIGHT = {
    "16.1 zeros, filled and scattered in place": """
q = x.new_full(x.shape, self.eps / (self.size - 2))
q.scatter_(1, target[:, None], 1 - self.eps)
q[:, self.pad] = 0
q[target == self.pad] = 0
return nn.functional.kl_div(x, q, reduction="sum")
""",
    "16.1 one-hot": """
hot = nn.functional.one_hot(target, self.size).float()
q = hot * (1 - self.eps) + (1 - hot) * self.eps / (self.size - 2)
q[:, self.pad] = 0
q = q * (target != self.pad).float().unsqueeze(1)
return nn.KLDivLoss(reduction="sum")(x, q)
""",
    "16.2 the padding word first": """
q = torch.full(x.shape, self.eps / (self.size - 2))
q[:, self.pad] = 0
q.scatter_(1, target.unsqueeze(1), 1 - self.eps)
q.masked_fill_((target == self.pad).unsqueeze(1), 0)
return nn.KLDivLoss(reduction="sum")(x, q.detach())
""",
    "16.3 cross-entropy, written out": """
q = torch.full_like(x, self.eps / (self.size - 2)).scatter(1, target.unsqueeze(1), 1 - self.eps)
keep = torch.ones(self.size)
keep[self.pad] = 0
q = q * keep * (target != self.pad).unsqueeze(-1)
return -(q * x).sum()
""",
    "16.3 torch's cross-entropy of that distribution": """
q = torch.full_like(x, self.eps / (self.size - 2))
q.scatter_(1, target.unsqueeze(1), 1 - self.eps)
q[:, self.pad] = 0
q[target == self.pad] = 0
return nn.functional.cross_entropy(x, q, reduction="sum")
""",
    "16.3 two sums, no distribution": """
real = target != self.pad
right = x.gather(1, target.unsqueeze(1)).squeeze(1)
rest = x.sum(1) - right - x[:, self.pad]
loss = -(1 - self.eps) * right - self.eps / (self.size - 2) * rest
return (loss * real).sum()
""",
    "16.5 batchmean, times the rows": """
q = torch.full_like(x, self.eps / (self.size - 2))
q.scatter_(1, target.unsqueeze(1), 1 - self.eps)
q[:, self.pad] = 0
q[target == self.pad] = 0
return nn.functional.kl_div(x, q, reduction="batchmean") * x.size(0)
""",
    "16.6 the distribution is kept": """
q = x.data.clone()
q.fill_(self.eps / (self.size - 2))
q.scatter_(1, target.data.unsqueeze(1), 1 - self.eps)
q[:, self.pad] = 0
padded = torch.nonzero(target.data == self.pad)
if padded.dim() > 0:
    q.index_fill_(0, padded.squeeze(), 0.0)
self.true_dist = q
return nn.KLDivLoss(reduction="sum")(x, q.clone().detach())
""",
    "16.7 a fast path without smoothing": """
if self.eps == 0:
    return nn.functional.nll_loss(x, target, ignore_index=self.pad, reduction="sum")
q = torch.full_like(x, self.eps / (self.size - 2))
q.scatter_(1, target.unsqueeze(1), 1 - self.eps)
q[:, self.pad] = 0
q[target == self.pad] = 0
return nn.functional.kl_div(x, q, reduction="sum")
""",
    "16.4 in twice the precision": """
q = torch.full(x.shape, self.eps / (self.size - 2), dtype=torch.float64)
q.scatter_(1, target[:, None], 1 - self.eps)
q[:, self.pad] = 0
q[target == self.pad] = 0
return nn.functional.kl_div(x.double(), q, reduction="sum")
""",
    "16.8 rows of padding removed": """
real = target != self.pad
x, target = x[real], target[real]
q = torch.full_like(x, self.eps / (self.size - 2))
q.scatter_(1, target.unsqueeze(1), 1 - self.eps)
q[:, self.pad] = 0
return nn.functional.kl_div(x, q, reduction="sum")
""",
    "16.8 nothing to learn from padding alone": """
real = (target != self.pad).nonzero().flatten().tolist()
if not real:
    return torch.zeros(())
loss = 0.0
for row in real:
    for word in range(self.size):
        if word == self.pad:
            continue
        share = 1 - self.eps if word == target[row] else self.eps / (self.size - 2)
        loss = loss - share * x[row, word]
return loss
""",
}

# Mistakes planted in three of them, by hand: slug -> build -> edits.
ONE, TWO, SUMS = "16.1 one-hot", "16.2 the padding word first", "16.3 two sums, no distribution"
PLANTED: dict[str, dict[str, list[tuple[str, str]]]] = {
    "smoothing-in-training-only": {
        b: [(first, f"self.eps *= self.training\n{first}")]
        for b, first in ((ONE, "hot = nn"), (TWO, "q = torch.full("), (SUMS, "real ="))
    },
    "smoothing-share-by-vocabulary": {
        b: [("(self.size - 2)", "self.size")] for b in (ONE, TWO, SUMS)
    },
    "smoothing-share-less-one": {b: [("size - 2", "size - 1")] for b in (ONE, TWO, SUMS)},
    "smoothing-share-undivided": {b: [(" / (self.size - 2)", "")] for b in (ONE, TWO, SUMS)},
    "smoothing-confidence-one": {
        ONE: [("hot * (1 - self.eps)", "hot")],
        TWO: [("1 - self.eps)", "1.0)")],
        SUMS: [("-(1 - self.eps) * right", "-right")],
    },
    "smoothing-confidence-on-top": {
        ONE: [("(1 - hot) * self.eps", "self.eps")],
        SUMS: [("x.sum(1) - right", "x.sum(1)")],
    },
    "smoothing-padding-word-kept": {
        ONE: [("q[:, self.pad] = 0\n", "")],
        TWO: [("q[:, self.pad] = 0\n", "")],
        SUMS: [(" - x[:, self.pad]", "")],
    },
    "smoothing-padding-rows-kept": {
        ONE: [("q = q * (target != self.pad).float().unsqueeze(1)\n", "")],
    },
    "smoothing-padding-rows-rewarded": {
        TWO: [("q.masked_fill_((target == self.pad).unsqueeze(1), 0)\n", "")],
    },
    "smoothing-padding-inverted": {
        ONE: [("target != self.pad", "target == self.pad")],
        SUMS: [("target != self.pad", "target == self.pad")],
    },
    "smoothing-mean": {b: [('reduction="sum"', 'reduction="mean"')] for b in (ONE, TWO)}
    | {SUMS: [("(loss * real).sum()", "(loss * real).sum() / x.numel()")]},
    "smoothing-mean-of-rows": {SUMS: [("(loss * real).sum()", "(loss * real).mean()")]},
    "smoothing-mean-of-tokens": {SUMS: [("(loss * real).sum()", "loss[real].mean()")]},
    "smoothing-mean-of-tokens-or-one": {
        SUMS: [("(loss * real).sum()", "(loss * real).sum() / max(int(real.sum()), 1)")]
    },
    "smoothing-log-of-zero": {
        TWO: [
            (
                'nn.KLDivLoss(reduction="sum")(x, q.detach())',
                "torch.sum(q * torch.log(q)) - torch.sum(q * x)",
            )
        ]
    },
    "smoothing-row-sums": {SUMS: [("(loss * real).sum()", "loss * real")]},
    "smoothing-sign-flipped": {
        TWO: [("return nn", "return -nn")],
        SUMS: [("loss = -(1", "loss = (1"), (" - self.eps / (", " + self.eps / (")],
    },
    "smoothing-arguments-swapped": {TWO: [("(x, q.detach())", "(q, x)")]},
    "smoothing-probabilities": {TWO: [("(x, q.detach())", "(x.exp(), q)")]},
    "smoothing-graph-cut": {TWO: [("(x, q.detach())", "(x.data, q)")]},
    "smoothing-ignored": {b: [("self.eps", "0.0")] for b in (ONE, TWO, SUMS)},
    "smoothing-fixed": {b: [("self.eps", "0.1")] for b in (ONE, TWO, SUMS)},
}
CASES = [(slug, build) for slug, builds in PLANTED.items() for build in builds]

# Wrong in ways the catalogue does not hold.
UNKNOWN = {
    "half of the smoothing": [("self.eps / (", "self.eps / 2 / (")],
    "the first rows only": [("return", "q[3:] = 0\nreturn")],
    "the last word has no share": [("q[:, self.pad] = 0", "q[:, self.pad] = 0\nq[:, -1] = 0")],
    "one row less": [("return", "q[-1] = 0\nreturn")],
    "twice the sum": [("return", "return 2 *")],
    "no more than four rows": [("return", "q[4:] = 0\nreturn")],
    "squared": [("(x, q.detach())", "(x, q ** 2)")],
    "a column that is a row": [("q[:, self.pad] = 0", "q[self.pad % len(q)] = 0")],
    "drops": [("return", "q = nn.functional.dropout(q, 0.5)\nreturn")],
    "a scalar in a row": [("return", "return torch.ones(1) *")],
    "nothing": [("return ", "")],
    "an exception": [("return", "q.no_such()\nreturn")],
    "the share of its own count": [("(self.size - 2)", "(len(target) + 0.5)")],
}


def built(body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return f"""import torch
from torch import nn


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        self.size, self.pad, self.eps = size, padding_idx, smoothing

    def forward(self, x, target):
{lines}
"""


HONEST = {name: built(body) for name, body in RIGHT.items()} | smoothing_builds.HONEST


def graded(body: str, seed: int = 3) -> Verdict:
    return grade(STEP, Source(built(body), "smoothing.py"), seed=seed)


def edited(body: str, edits: list[tuple[str, str]]) -> str:
    for find, replace in edits:
        assert find in body, find
        body = body.replace(find, replace)
    return body


def failed(verdict: Verdict) -> set[str]:
    return {c.check for c in verdict.checks if c.state != "passed"}


def named(verdict: Verdict) -> set[str]:
    return {slug for c in verdict.checks for slug in c.misconceptions}


@pytest.mark.parametrize("name", HONEST)
def test_right_losses_get_full_marks(name: str) -> None:
    for seed in (3, 4):
        verdict = grade(STEP, Source(HONEST[name], "smoothing.py"), seed=seed)
        assert failed(verdict) == set()
        assert verdict.points == 10


@pytest.mark.parametrize(("slug", "build"), CASES)
def test_a_planted_mistake_is_named_and_nothing_else_is(slug: str, build: str) -> None:
    verdict = graded(edited(RIGHT[build], PLANTED[slug][build]))
    assert named(verdict) == {slug}
    assert verdict.points < 10


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    verdict = graded(edited(RIGHT[TWO], UNKNOWN[name]))
    assert verdict.points < 10
    assert named(verdict) == set()


# Neither do these get a name, and each costs what it gets wrong.
UNNAMED = {
    "a confidence of its own": ([("1 - self.eps)", "0.9)")], {"right_word", "without_smoothing"}),
    "never without smoothing": (
        [("q = torch.full", "assert self.eps > 0\nq = torch.full")],
        {"without_smoothing"},
    ),
    "a distribution that remembers": (
        [
            ("q = torch.full", "self.q = q = getattr(self, 'q', torch.full"),
            ("(self.size - 2))", "(self.size - 2)))"),
        ],
        {"sum"},
    ),
}


@pytest.mark.parametrize("name", UNNAMED)
def test_what_gets_no_name_costs_what_it_gets_wrong(name: str) -> None:
    edits, checks = UNNAMED[name]
    verdict = graded(edited(RIGHT[TWO], edits))
    assert failed(verdict) == checks
    assert named(verdict) == set()


# One mistake costs the one thing it gets wrong.
COSTS = {
    "smoothing-share-by-vocabulary": {"other_words"},
    "smoothing-confidence-one": {"right_word"},
    "smoothing-padding-word-kept": {"padding_word"},
    "smoothing-padding-rows-rewarded": {"padding_rows"},
    "smoothing-mean": {"sum"},
}


@pytest.mark.parametrize("slug", COSTS)
def test_a_mistake_costs_what_it_gets_wrong(slug: str) -> None:
    assert failed(graded(edited(RIGHT[TWO], PLANTED[slug][TWO]))) == COSTS[slug]


def test_torchs_own_smoothing_is_a_convention_and_costs_one_check() -> None:
    body = (
        "return nn.CrossEntropyLoss(ignore_index=self.pad, label_smoothing=self.eps,"
        " reduction='sum')(x, target)"
    )
    verdict = graded(body)
    assert failed(verdict) == {"right_word"}
    assert named(verdict) == {"smoothing-as-torch"}
