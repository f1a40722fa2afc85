"""Demo of step 06: what layer normalization does to a row, and a residual connection to a layer."""

import argparse
from types import ModuleType

import torch
from torch import nn

from autograder.demo import Say, run

TEXTS = {
    "en": {
        "rows": "three rows of {features} features, before and after LayerNorm:",
        "row": (
            "   mean {mean_before:8.3f} -> {mean_after:7.3f}"
            "     std {std_before:8.3f} -> {std_after:6.3f}"
        ),
        "rows_off": "   Each row should get mean 0 and std 1. What is subtracted and divided by?",
        "parameters": "parameters: {count:,} (a gain and a bias a feature)",
        "parameters_off": "parameters: {count:,}. Is there a gain and a bias for each feature?",
        "constant": "a row that is {number:g} everywhere becomes {values}",
        "constant_off": "   It should be 0 everywhere. Is the mean taken off? Is there an eps?",
        "formula": "the row {row}",
        "yours": "   by this code         {values}   std, n - 1: {std:.3f}",
        "torchs": "   by torch's own layer {values}   std, n - 1: {std:.3f}",
        "formula_why": "   torch divides by n, so its rows come out wider; least so in wide rows.",
        "formula_same": "   They agree: both divide by n. In wide rows, n - 1 is much the same.",
        "formula_off": "   By n - 1, the row would get {values}. What does this code divide by?",
        "nothing": "a sublayer that returns 0: the output differs from x by {difference:.3f}",
        "received": "what the sublayer receives: mean {mean:.3f}, std {std:.3f}",
        "received_off": "   Behind a norm it would be mean 0 and std 1. Does x pass one first?",
        "added": "a sublayer that returns 1: the block adds from {low:.3f} to {high:.3f}",
        "residual_why": "   x passes untouched, and the sublayer says what to add to it.",
        "residual_lost": "   With a residual connection these would be 0, and 1 to 1.",
    },
    "ko": {
        "rows": "특성 {features}개짜리 행 세 개, LayerNorm 전과 후:",
        "row": (
            "   평균 {mean_before:8.3f} -> {mean_after:7.3f}"
            "     표준편차 {std_before:8.3f} -> {std_after:6.3f}"
        ),
        "rows_off": ("   행마다 평균 0, 표준편차 1이어야 해요. 무엇을 빼고 무엇으로 나누나요?"),
        "parameters": "파라미터 수: {count:,} (특성마다 게인 하나, 편향 하나)",
        "parameters_off": "파라미터 수: {count:,}. 특성마다 게인과 편향이 하나씩 있나요?",
        "constant": "모든 값이 {number:g}인 행은 이렇게 돼요: {values}",
        "constant_off": "   모두 0이어야 하지 않을까요? 평균을 빼나요? eps가 있나요?",
        "formula": "행 {row}",
        "yours": "   이 코드    {values}  표준편차(n-1): {std:.3f}",
        "torchs": "   torch의 것 {values}  표준편차(n-1): {std:.3f}",
        "formula_why": "   torch는 n으로 나누어서 결과의 폭이 더 넓어요. 행이 길면 차이가 작아요.",
        "formula_same": "   둘이 같아요. 둘 다 n으로 나누어요. 긴 행에서는 n - 1과 거의 같아요.",
        "formula_off": "   n - 1이라면 {values}이어야 해요. 이 코드는 무엇으로 나누나요?",
        "nothing": "0만 내놓는 서브층을 넣을 때, 출력과 x의 차이: {difference:.3f}",
        "received": "서브층이 받는 값: 평균 {mean:.3f}, 표준편차 {std:.3f}",
        "received_off": (
            "   정규화를 지났다면 평균 0, 표준편차 1이어야 해요. x가 먼저 정규화를 지나나요?"
        ),
        "added": "1만 내놓는 서브층을 넣을 때, x에 더해지는 값: {low:.3f}부터 {high:.3f}까지",
        "residual_why": "   x는 그대로 지나가고, 서브층은 거기에 더할 값만 정해요.",
        "residual_lost": "   잔차 연결이라면 차이는 0, 더해지는 값은 1이어야 해요.",
    },
}

SIZES = {"features": 512}


@torch.no_grad()
def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    features = options.features
    # Rows of different place and width.
    x = torch.randn(3, features) * torch.tensor([[0.1], [1.0], [20.0]])
    x = x + torch.tensor([[-3.0], [0.0], [50.0]])
    norm = step.LayerNorm(features)
    y = norm(x)

    say("rows", features=features)
    for before, after in zip(x, y, strict=True):
        say(
            "row",
            mean_before=before.mean().item(),
            mean_after=flat(after.mean()),
            std_before=before.std().item(),
            std_after=after.std().item(),
        )
    if not normalized(y):
        say("rows_off")
    count = sum(parameter.numel() for parameter in norm.parameters())
    say("parameters" if count == 2 * features else "parameters_off", count=count)

    compare_with_torch(step, say)
    show_residual(step, say, x)


def compare_with_torch(step: ModuleType, say: Say) -> None:
    constant = step.LayerNorm(4)(torch.full((4,), 7.0))
    say("constant", number=7, values=numbers(constant))
    if not torch.allclose(constant, torch.zeros(4), atol=1e-3):
        say("constant_off")
    row = torch.tensor([1.0, 2.0, 3.0, 4.0])
    say("formula", row=numbers(row))
    yours, torchs = step.LayerNorm(4)(row), nn.LayerNorm(4)(row)
    for name, y in (("yours", yours), ("torchs", torchs)):
        say(name, values=numbers(y), std=y.std().item())
    wanted = (row - row.mean()) / row.std()
    if torch.allclose(yours, wanted, atol=1e-3):
        say("formula_why")
    elif torch.allclose(yours, torchs, atol=1e-3):
        say("formula_same")
    else:
        say("formula_off", values=numbers(wanted))


def show_residual(step: ModuleType, say: Say, x: torch.Tensor) -> None:
    block = step.SublayerConnection(x.size(-1), 0.0)
    difference = (block(x, torch.zeros_like) - x).abs().max().item()
    say("nothing", difference=difference)

    received = []

    def ones(inputs: torch.Tensor) -> torch.Tensor:
        received.append(inputs)
        return torch.ones_like(inputs)

    added = block(x, ones) - x
    if received:
        say("received", mean=flat(received[0].mean()), std=received[0].std(dim=-1).mean().item())
        if not normalized(received[0]):
            say("received_off")
    say("added", low=added.min().item(), high=added.max().item())
    kept = difference == 0 and torch.allclose(added, torch.ones_like(x), atol=1e-3)
    say("residual_why" if kept else "residual_lost")


def normalized(rows: torch.Tensor) -> bool:
    """Return whether each row has mean 0 and std 1, nearly: by n - 1, as this step has it, or n."""
    std = rows.std(dim=-1)
    by_n = rows.std(dim=-1, correction=0)
    near = [torch.allclose(one, torch.ones_like(one), atol=1e-2) for one in (std, by_n)]
    return any(near) and bool((rows.mean(dim=-1).abs() < 1e-3).all())


def flat(number: torch.Tensor) -> float:
    """Return the number without the minus sign that rounding to -0.000 would leave."""
    return round(number.item(), 3) + 0.0


def numbers(row: torch.Tensor) -> str:
    return "[" + ", ".join(f"{flat(number):.3f}" for number in row) + "]"


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
