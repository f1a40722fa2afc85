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
        "parameters": "parameters: {count:,} (a gain and a bias a feature)",
        "constant": "a row that is {number:g} everywhere becomes {values}",
        "formula": "the row {row}",
        "yours": "   by this code         {values}   std, n - 1: {std:.3f}",
        "torchs": "   by torch's own layer {values}   std, n - 1: {std:.3f}",
        "formula_why": "   torch divides by n, so its rows come out wider; least so in wide rows.",
        "nothing": "a sublayer that returns 0: the output differs from x by {difference:.3f}",
        "received": "what the sublayer receives: mean {mean:.3f}, std {std:.3f}",
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
        "parameters": "파라미터 수: {count:,} (특성마다 gain 하나, bias 하나)",
        "constant": "모든 값이 {number:g}인 행은 이렇게 돼요: {values}",
        "formula": "행 {row}",
        "yours": "   이 코드    {values}  표준편차(n-1): {std:.3f}",
        "torchs": "   torch의 것 {values}  표준편차(n-1): {std:.3f}",
        "formula_why": "   torch는 n으로 나누어서 결과의 폭이 더 넓어요. 행이 길면 차이가 작아요.",
        "nothing": "0만 내놓는 서브층을 넣을 때, 출력과 x의 차이: {difference:.3f}",
        "received": "서브층이 받는 값: 평균 {mean:.3f}, 표준편차 {std:.3f}",
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
    say("parameters", count=sum(parameter.numel() for parameter in norm.parameters()))

    compare_with_torch(step, say)
    show_residual(step, say, x)


def compare_with_torch(step: ModuleType, say: Say) -> None:
    say("constant", number=7, values=numbers(step.LayerNorm(4)(torch.full((4,), 7.0))))
    row = torch.tensor([1.0, 2.0, 3.0, 4.0])
    say("formula", row=numbers(row))
    for name, norm in (("yours", step.LayerNorm(4)), ("torchs", nn.LayerNorm(4))):
        y = norm(row)
        say(name, values=numbers(y), std=y.std().item())
    say("formula_why")


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
    say("added", low=added.min().item(), high=added.max().item())
    kept = difference == 0 and torch.allclose(added, torch.ones_like(x), atol=1e-3)
    say("residual_why" if kept else "residual_lost")


def flat(number: torch.Tensor) -> float:
    """Return the number without the minus sign that rounding to -0.000 would leave."""
    return round(number.item(), 3) + 0.0


def numbers(row: torch.Tensor) -> str:
    return "[" + ", ".join(f"{flat(number):.3f}" for number in row) + "]"


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
