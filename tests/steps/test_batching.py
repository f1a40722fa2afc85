"""Step 11: batches built in many ways, right and wrong, graded as a learner's file would be."""

from __future__ import annotations

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import batching_builds, harness
from tests.steps.harness import failed, named

STEP = find_step(11)
SOLUTION = STEP.solution.read_text(encoding="utf-8")
_TOP = "import torch\nfrom transformer_ref import subsequent_mask\n\n"

# Mistakes are planted in these by hand.
BUILDS = {
    "published": _TOP
    + """
class Batch:
    def __init__(self, src, tgt=None, pad=2):
        self.src = src
        self.src_mask = (src != pad).unsqueeze(-2)
        if tgt is not None:
            self.tgt = tgt[:, :-1]
            self.tgt_y = tgt[:, 1:]
            self.tgt_mask = self.make_std_mask(self.tgt, pad)
            self.ntokens = (self.tgt_y != pad).data.sum()

    @staticmethod
    def make_std_mask(tgt, pad):
        tgt_mask = (tgt != pad).unsqueeze(-2)
        tgt_mask = tgt_mask & subsequent_mask(tgt.size(-1)).type_as(tgt_mask.data)
        return tgt_mask
""",
    "dataclass": _TOP
    + """
from dataclasses import dataclass


def make_std_mask(tgt, pad):
    n = tgt.shape[1]
    i = torch.arange(n)
    allowed = (i[None, :] <= i[:, None]).to(torch.uint8)
    return allowed[None] * (1 - (tgt == pad)[:, None, :].to(torch.uint8))


@dataclass
class Batch:
    src: torch.Tensor
    full: torch.Tensor = None
    pad: int = 2

    def __post_init__(self):
        self.src_mask = (self.src != self.pad).to(torch.uint8)[:, None, :]
        self.tgt = self.tgt_y = self.tgt_mask = None
        self.ntokens = 0
        if self.full is not None:
            last = self.full.shape[1] - 1
            self.tgt = self.full.narrow(1, 0, last)
            self.tgt_y = self.full.narrow(1, 1, last)
            self.tgt_mask = make_std_mask(self.tgt, self.pad)
            self.ntokens = (self.tgt_y != self.pad).float().sum()
""",
    "properties": _TOP
    + """
def make_std_mask(tgt, pad):
    rows = []
    for sentence in tgt.tolist():
        hides = [token == pad for token in sentence]
        rows.append(
            [[j <= i and not hides[j] for j in range(len(hides))] for i in range(len(hides))]
        )
    return torch.tensor(rows)


class Batch:
    def __init__(self, src, tgt=None, pad=2):
        self.src, self._whole, self._pad = src, tgt, pad

    @property
    def src_mask(self):
        return torch.logical_not(self.src.eq(self._pad))[:, None]

    @property
    def tgt(self):
        return None if self._whole is None else self._whole[:, : self._whole.size(1) - 1]

    @property
    def tgt_y(self):
        return None if self._whole is None else self._whole[..., 1:].contiguous()

    @property
    def tgt_mask(self):
        return None if self._whole is None else make_std_mask(self.tgt, self._pad)

    @property
    def ntokens(self):
        return None if self._whole is None else sum(
            token != self._pad for row in self.tgt_y.tolist() for token in row
        )
""",
}

BATCH = SOLUTION[SOLUTION.index("class Batch") :]


def std_mask(body: str) -> str:
    """The solution with another body of `make_std_mask`."""
    return f"{_TOP}\ndef make_std_mask(tgt, pad):\n    {body}\n\n\n{BATCH}"


def edited(text: str, *edit: str) -> str:
    for find, replace in zip(edit[::2], edit[1::2], strict=True):
        assert text.count(find) == 1, (find, text.count(find))
        text = text.replace(find, replace)
    return text


HONEST = BUILDS | {
    "14.2 padding hidden as the one that looks, too": std_mask(
        "real = tgt != pad\n"
        "    return real[:, None] & real[:, :, None] & subsequent_mask(tgt.size(1))"
    ),
    "14.1 int masks": std_mask(
        "real = (tgt != pad).int()[:, None]\n    return real * subsequent_mask(tgt.size(1)).int()"
    ),
    "14.1 float, filled": std_mask(
        "mask = torch.ones(*tgt.shape, tgt.size(1)).tril()\n"
        "    return mask.masked_fill((tgt == pad)[:, None], 0)"
    ),
    "14.1 einsum": std_mask(
        "real = (tgt != pad).float()\n"
        "    causal = torch.ones(tgt.size(1), tgt.size(1)).tril()\n"
        "    return torch.einsum('bj,ij->bij', real, causal) > 0"
    ),
    "14.3 causal only for the batch, with padding at its right": edited(
        SOLUTION,
        "self.tgt_mask = make_std_mask(self.tgt, pad)",
        "self.tgt_mask = subsequent_mask(self.tgt.size(1))",
    ),
    "14.7 a static method and a function": edited(
        BUILDS["published"],
        "class Batch",
        "def make_std_mask(tgt, pad):\n    return Batch.make_std_mask(tgt, pad)\n\n\nclass Batch",
    ),
    "14.4 ntokens as an int64 tensor of its own": edited(
        SOLUTION,
        "int((self.tgt_y != pad).sum())",
        "torch.tensor([len(r[r != pad]) for r in self.tgt_y]).sum()",
    ),
    "14.8 nothing for a target that is not there": edited(
        SOLUTION,
        "if tgt is not None:",
        "self.tgt = self.tgt_y = self.tgt_mask = self.ntokens = None\n        if tgt is not None:",
    ),
    "14.8 a target that cannot be looked at when there is none": edited(
        BUILDS["properties"],
        "return None if self._whole is None else self._whole[:, : ",
        "return self._whole[:, : ",
        "return None if self._whole is None else make_std_mask",
        "return make_std_mask",
    ),
    "14.5 copies": edited(
        SOLUTION, "self.src = src", "self.src = src.clone()", "= tgt[:, 1:]", "= tgt[:, 1:].clone()"
    ),
}
HONEST |= batching_builds.HONEST
# Variations that get full marks and a remark.
ADVISED = {"dataclass", "14.1 int masks", "14.1 float, filled"}

# By mistake: an edit of each build; none, where it has no place.
PLANTED: dict[str, tuple[tuple[str, ...], ...]] = {
    "padding-hides-rows": (
        ("(tgt != pad).unsqueeze(-2)", "(tgt != pad).unsqueeze(-1)"),
        ("(tgt == pad)[:, None, :]", "(tgt == pad)[:, :, None]"),
        ("hides[j] for", "hides[i] for"),
    ),
    "padding-test-inverted": (
        ("(tgt != pad)", "(tgt == pad)"),
        ("(tgt == pad)", "(tgt != pad)"),
        ("[token == pad", "[token != pad"),
    ),
    "future-not-hidden": (
        (" & subsequent_mask(tgt.size(-1)).type_as(tgt_mask.data)", ""),
        ("<= i[:, None]", "< i[:, None] + n"),
        ("j <= i and not", "not"),
    ),
    "padding-not-hidden": (
        ("tgt_mask & subsequent", "subsequent"),
        ("(tgt == pad)[", "(tgt != tgt)["),
        (" and not hides[j]", ""),
    ),
    "parts-joined-by-or": (
        ("tgt_mask & sub", "tgt_mask | sub"),
        ("allowed[None] * (", "allowed[None] | ("),
        ("i and not", "i or not"),
    ),
    "std-mask-inverted": (
        ("return tgt_mask", "return tgt_mask == 0"),
        ("return allowed[None] *", "return 1 - allowed[None] *"),
        ("return torch.tensor(rows)", "return ~torch.tensor(rows)"),
    ),
    "std-mask-additive": (
        ("return tgt_mask", "return (tgt_mask == 0) * -1e9"),
        (
            "return allowed[None] *",
            "return -1e4 * (1.0 - allowed[None] *",
            "[:, None, :].to(torch.uint8))",
            "[:, None, :].to(torch.uint8)))",
        ),
        (
            "return torch.tensor(rows)",
            "return torch.tensor(rows).float().log()",
        ),
    ),
    "std-mask-as-large-as-the-batch": (
        ("subsequent_mask(tgt.size(-1)).type_as(tgt_mask.data)", "subsequent_mask(len(tgt))"),
        (),
        (),
    ),
    "triangle-turned": (
        (".type_as(tgt_mask.data)", ".transpose(1, 2)"),
        ("<= i", ">= i"),
        ("j <= i", "j >= i"),
    ),
    "future-only": (
        ("& subsequent", "& ~subsequent"),
        ("<= i", "> i"),
        ("j <= i", "j > i"),
    ),
    "token-hidden-from-itself": (
        (".type_as(tgt_mask.data)", ".tril(-1)"),
        ("<= i", "< i"),
        ("j <= i", "j < i"),
    ),
    "next-token-seen": (
        ("subsequent_mask(tgt.size(-1))", "torch.ones(1, *tgt.shape[1:] * 2).tril(1)"),
        ("<= i[:, None]", "<= i[:, None] + 1"),
        ("j <= i", "j <= i + 1"),
    ),
    "std-pad-zero": (
        ("(tgt != pad)", "(tgt != 0)"),
        ("(tgt == pad)", "(tgt == 0)"),
        ("token == pad", "not token"),
    ),
    "std-pad-two": (
        ("(tgt != pad)", "(tgt != 2)"),
        ("(tgt == pad)", "(tgt == 2)"),
        ("token == pad", "token == 2"),
    ),
    "std-head-axis-extra": (
        ("return tgt_mask", "return tgt_mask[:, None]"),
        (
            "return allowed[None] *",
            "return allowed[None, None].mT.mT *",
            "[:, None, :].to(torch.uint8))",
            "[:, None, None, :].to(torch.uint8))",
        ),
        ("(rows)", "(rows)[:, None]"),
    ),
    "src-mask-two-dims": (
        ("(src != pad).unsqueeze(-2)", "src != pad"),
        ("(torch.uint8)[:, None, :]\n", "(torch.uint8)\n"),
        ("(self._pad))[:, None]", "(self._pad))"),
    ),
    "src-mask-axis-last": (
        ("(src != pad).unsqueeze(-2)", "(src != pad).unsqueeze(-1)"),
        ("(torch.uint8)[:, None, :]\n", "(torch.uint8)[:, :, None]\n"),
        ("(self._pad))[:, None]", "(self._pad))[..., None]"),
    ),
    "src-mask-head-axis": (
        ("(src != pad).unsqueeze(-2)", "(src != pad).unsqueeze(1).unsqueeze(2)"),
        ("(torch.uint8)[:, None, :]\n", "(torch.uint8)[:, None, None, :]\n"),
        ("(self._pad))[:, None]", "(self._pad))[:, None, None]"),
    ),
    "src-padding-inverted": (
        ("(src != pad)", "(src == pad)"),
        ("self.src != self.pad", "self.src == self.pad"),
        ("torch.logical_not(self.src.eq(self._pad))", "self.src.eq(self._pad)"),
    ),
    "src-mask-additive": (
        ("(src != pad).unsqueeze(-2)", "(src == pad).unsqueeze(-2) * -1e9"),
        (
            "(self.src != self.pad).to(torch.uint8)[:, None, :]\n",
            "(self.src == self.pad).float()[:, None, :] * -1e4\n",
        ),
        (
            "torch.logical_not(self.src.eq(self._pad))[:, None]",
            "self.src.ne(self._pad)[:, None].float().log()",
        ),
    ),
    "src-pad-zero": (
        ("(src != pad)", "(src != 0)"),
        ("self.src != self.pad", "self.src != 0"),
        ("self.src.eq(self._pad)", "self.src.eq(0)"),
    ),
    "src-pad-two": (
        ("(src != pad)", "(src != 2)"),
        ("self.src != self.pad", "self.src != 2"),
        ("self.src.eq(self._pad)", "self.src.eq(2)"),
    ),
    "target-not-shifted": (
        ("tgt[:, :-1]", "tgt", "tgt[:, 1:]", "tgt"),
        (".narrow(1, 0, last)", "", ".narrow(1, 1, last)", ""),
        ("[:, : self._whole.size(1) - 1]", "", "[..., 1:]", ""),
    ),
    "both-without-last": (
        ("tgt[:, 1:]", "tgt[:, :-1]"),
        ("narrow(1, 1,", "narrow(1, 0,"),
        ("[..., 1:]", "[..., :-1]"),
    ),
    "both-without-first": (
        ("tgt[:, :-1]", "tgt[:, 1:]"),
        ("narrow(1, 0,", "narrow(1, 1,"),
        ("[:, : self._whole.size(1) - 1]", "[:, 1:]"),
    ),
    "wrong-ends-trimmed": (
        (
            "self.tgt = tgt[:, :-1]",
            "self.tgt = tgt[:, 1:]",
            "self.tgt_y = tgt[:, 1:]",
            "self.tgt_y = tgt[:, :-1]",
        ),
        (
            "self.tgt = self.full.narrow(1, 0, last)",
            "self.tgt = self.full.narrow(1, 1, last)",
            "self.tgt_y = self.full.narrow(1, 1, last)",
            "self.tgt_y = self.full.narrow(1, 0, last)",
        ),
        ("[:, : self._whole.size(1) - 1]", "[:, 1:]", "[..., 1:]", "[..., :-1]"),
    ),
    "labels-uncut": (("tgt[:, 1:]", "tgt"), (".narrow(1, 1, last)", ""), ("[..., 1:]", "")),
    "input-uncut": (
        ("tgt[:, :-1]", "tgt"),
        (".narrow(1, 0, last)", ""),
        ("[:, : self._whole.size(1) - 1]", ""),
    ),
    "mask-of-labels": (
        ("mask(self.tgt, pad)", "mask(self.tgt_y, pad)"),
        ("mask(self.tgt, self", "mask(self.tgt_y, self"),
        ("mask(self.tgt, self", "mask(self.tgt_y, self"),
    ),
    "mask-of-uncut-target": (
        ("mask(self.tgt, pad)", "mask(tgt, pad)"),
        ("mask(self.tgt, self", "mask(self.full, self"),
        ("mask(self.tgt, self", "mask(self._whole, self"),
    ),
    "mask-head-axis": (
        ("self.make_std_mask(self.tgt, pad)", "self.make_std_mask(self.tgt, pad).unsqueeze(1)"),
        ("make_std_mask(self.tgt, self.pad)", "make_std_mask(self.tgt, self.pad)[:, None]"),
        ("make_std_mask(self.tgt, self._pad)", "make_std_mask(self.tgt, self._pad)[:, None]"),
    ),
    "mask-hides-padding-only": (
        ("self.make_std_mask(self.tgt, pad)", "(self.tgt != pad)[:, None]"),
        ("make_std_mask(self.tgt, self.pad)", "(self.tgt != self.pad)[:, None]"),
        ("make_std_mask(self.tgt, self._pad)", "(self.tgt != self._pad)[:, None]"),
    ),
    "all-cells-counted": (
        ("(self.tgt_y != pad).data.sum()", "self.tgt_y.numel()"),
        ("(self.tgt_y != self.pad).float().sum()", "self.tgt_y.size(0) * last"),
        ("token != self._pad for", "1 for"),
    ),
    "larger-ids-counted": (
        ("(self.tgt_y != pad)", "(self.tgt_y > pad)"),
        ("(self.tgt_y != self.pad)", "(self.tgt_y > self.pad)"),
        ("token != self._pad for", "token > self._pad for"),
    ),
    "input-counted": (
        ("(self.tgt_y != pad)", "(self.tgt != pad)"),
        ("(self.tgt_y != self.pad)", "(self.tgt != self.pad)"),
        ("in self.tgt_y.tolist()", "in self.tgt.tolist()"),
    ),
    "uncut-target-counted": (
        ("(self.tgt_y != pad)", "(tgt != pad)"),
        ("(self.tgt_y != self.pad)", "(self.full != self.pad)"),
        ("in self.tgt_y.tolist()", "in self._whole.tolist()"),
    ),
    "source-counted": (
        ("(self.tgt_y != pad)", "(src != pad)"),
        ("(self.tgt_y != self.pad)", "(self.src != self.pad)"),
        ("in self.tgt_y.tolist()", "in self.src.tolist()"),
    ),
    "padding-counted": (
        ("(self.tgt_y != pad)", "(self.tgt_y == pad)"),
        ("(self.tgt_y != self.pad)", "(self.tgt_y == self.pad)"),
        ("token != self", "token == self"),
    ),
    "sentences-counted": (
        ("(self.tgt_y != pad).data.sum()", "src.size(0)"),
        ("(self.tgt_y != self.pad).float().sum()", "float(len(self.src))"),
        (
            "token != self._pad for row in self.tgt_y.tolist() for token in row",
            "1 for _ in self.src",
        ),
    ),
    "target-required": (
        ("        if tgt is not None:", "        if pad:"),
        (),
        (),
    ),
    "source-mask-with-target-only": (
        (
            "        self.src_mask = (src != pad).unsqueeze(-2)\n        if tgt is not None:",
            "        if tgt is not None:\n            self.src_mask = (src != pad).unsqueeze(-2)",
        ),
        ("self.src_mask =", "self.src_mask = None if self.full is None else"),
        ("return torch.logical", "return self._whole if self._whole is None else torch.logical"),
    ),
}
CASES = [
    pytest.param(slug, build, edit, id=f"{slug}-{build}")
    for slug, edits in PLANTED.items()
    for build, edit in zip(BUILDS, edits, strict=True)
    if edit
]


def graded(text: str, seed: int = 3) -> Verdict:
    return harness.graded(STEP, text, seed)


@pytest.mark.parametrize("name", HONEST)
def test_right_batches_get_full_marks(name: str) -> None:
    verdict = graded(HONEST[name])
    assert failed(verdict) == set(), verdict
    assert failed(verdict, advice=True) == ({"mask_dtypes"} if name in ADVISED else set())


@pytest.mark.parametrize(("slug", "build", "edit"), CASES)
def test_a_planted_mistake_is_named_and_nothing_else_is(
    slug: str, build: str, edit: tuple[str, ...]
) -> None:
    verdict = graded(edited(BUILDS[build], *edit))
    assert named(verdict) == {slug}, verdict
    assert verdict.points < 10


# Edits of the solution that no entry of the catalogue knows, and the checks that they cost.
UNKNOWN: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "the first is always hidden": (
        (
            "return is_token & has_come",
            "return is_token & has_come & (torch.arange(tgt.size(1)) > 0)",
        ),
        {"std_mask_past"},
    ),
    "a window of two": (
        ("has_come =", "has_come = subsequent_mask(tgt.size(1)).triu(-1)  #"),
        {"std_mask_past"},
    ),
    "all after the first padding is hidden": (
        ("return is_token & has_come", "return is_token.cumprod(-1).bool() & has_come"),
        {"std_mask_past"},
    ),
    "padding of the first sentence for all": (
        ("return is_token & has_come", "return is_token[:1] & has_come.expand(len(tgt), -1, -1)"),
        {"std_mask_padding", "std_mask_past"},
    ),
    "flat": (
        ("return is_token & has_come", "return (is_token & has_come).flatten()"),
        {"std_mask_shape", "std_mask_future", "std_mask_padding", "std_mask_past"},
    ),
    "shifted by two": (("tgt[:, 1:]", "tgt[:, 2:]"), {"shift"}),
    "turned around": (("self.tgt_y = tgt[:, 1:]", "self.tgt_y = tgt[:, 1:].flip(1)"), {"shift"}),
    "labels turned to -100": (
        ("self.tgt_y = tgt[:, 1:]", "self.tgt_y = tgt[:, 1:].masked_fill(tgt[:, 1:] == pad, -100)"),
        {"shift"},
    ),
    "ids below the padding hidden": (
        ("is_token = (tgt != pad)", "is_token = (tgt > pad)"),
        {"std_mask_past"},
    ),
    "source ids below the padding hidden": (("(src != pad)", "(src > pad)"), {"src_mask"}),
    "nothing of the source hidden": (("(src != pad)", "(src == src)"), {"src_mask"}),
    "the same as a float": (
        ("self.src = src", "self.src = src.float()"),
        {"src_mask", "source_only"},
    ),
    "a mask of two dimensions": (
        ("make_std_mask(self.tgt, pad)", "make_std_mask(self.tgt, pad).all(0)"),
        {"tgt_mask"},
    ),
    "padding of the mask by another id": (
        ("make_std_mask(self.tgt, pad)", "make_std_mask(self.tgt, 0)"),
        {"tgt_mask"},
    ),
    "a target of zeros": (
        (
            "if tgt is not None:",
            "tgt = torch.zeros_like(src) if tgt is None else tgt\n        if True:",
        ),
        {"source_only"},
    ),
    "kept by the class": (
        ("self.tgt = tgt[:, :-1]", "Batch.tgt = tgt[:, :-1]"),
        {"source_only"},
    ),
    "a dict": (
        (
            ".sum())\n",
            ".sum())\n\n    def __new__(cls, *args):\n"
            "        made = super().__new__(cls)\n"
            "        made.__init__(*args)\n"
            "        return vars(made)\n",
        ),
        {"src_mask", "shift", "tgt_mask", "ntokens", "source_only"},
    ),
    "kept as float": (
        ("self.src = src", "self.src = src.float() + 0.5"),
        {"src_mask", "source_only"},
    ),
    "counted by set": (
        ("int((self.tgt_y != pad).sum())", "len(set(self.tgt_y.flatten().tolist()))"),
        {"ntokens"},
    ),
    "one too many": (
        ("int((self.tgt_y != pad).sum())", "int((self.tgt_y != pad).sum()) + 1"),
        {"ntokens"},
    ),
    "another default": (("pad: int = 2)", "pad: int = 0)"), {"src_mask"}),
    "the other name": (
        (".sum())", ".sum())\n            self.trg_y = self.__dict__.pop('tgt_y')"),
        {"shift", "ntokens"},
    ),
    "target changed": (
        ("self.tgt = tgt[:, :-1]", "tgt[:, 0] = 1\n            self.tgt = tgt[:, :-1]"),
        {"shift"},
    ),
    "a mask of nothing": (
        ("self.tgt_mask = make_std_mask(self.tgt, pad)", "self.tgt_mask = None"),
        {"tgt_mask"},
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    edit, checks = UNKNOWN[name]
    verdict = graded(edited(SOLUTION, *edit))
    assert failed(verdict) == checks, verdict
    assert named(verdict) == set()


def test_a_mistake_in_one_export_costs_the_other_nothing() -> None:
    for mistake in STEP.misconceptions:
        verdict = graded(mistake.applied_to(SOLUTION))
        exports = {c.export for c in verdict.checks if c.points < c.max_points}
        assert len(exports) == 1, mistake.slug


def test_the_other_meaning_of_true_costs_one_check() -> None:
    verdict = graded(STEP.misconception("std-mask-inverted").applied_to(SOLUTION))
    assert failed(verdict) == {"std_mask_future"}
