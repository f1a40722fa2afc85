"""Demo of step 01: what attention weights look like, and what scale and mask do to them."""

import argparse
import math
from types import ModuleType

import torch

from autograder.demo import Say, run

NARROW = 4

TEXTS = {
    "en": {
        "shapes": "query {q}, key {k}, value {v} -> output {y}, weights {p}",
        "weights": "the weights, one row a query, one column a key:",
        "row": "   {numbers}   sum {total:.3f}",
        "scale": "spread (variance) of what goes into the softmax:",
        "spread": "   d_k = {d_k:<4} plain dot products {plain:8.2f}   by this code {yours:8.2f}",
        "sharpest": (
            "largest weight of a row, on average, d_k = {d_k}: "
            "{yours:.2f} (of unscaled dot products: {plain:.2f})"
        ),
        "scale_why": "   With a spread near 1 at every width, no key is shut out from the start.",
        "scale_off": "   Divided by sqrt(d_k), both come near 1. What does this code divide by?",
        "mask": "the last key is hidden from everyone:",
        "mask_kept": "   It gets {hidden:.3f}, and the others share what it had.",
        "mask_unshared": (
            "   It gets {hidden:.3f}, but a row does not sum to 1. What comes after the softmax?"
        ),
        "mask_lost": "   It still gets {hidden:.3f} somewhere: the mask does not hide it.",
        "open": "the weights",
        "hidden": "the weights, the last key hidden from everyone",
        "down": "query",
        "across": "key",
    },
    "ko": {
        "shapes": "query {q}, key {k}, value {v} -> 출력 {y}, 가중치 {p}",
        "weights": "어텐션 가중치 (한 행이 query 하나, 한 열이 key 하나):",
        "row": "   {numbers}   합 {total:.3f}",
        "scale": "softmax에 들어가는 점수의 분산:",
        "spread": "   d_k = {d_k:<4} 내적 그대로 {plain:8.2f}   이 코드에서 {yours:8.2f}",
        "sharpest": (
            "행마다 가장 큰 가중치의 평균, d_k = {d_k}: "
            "{yours:.2f} (나누지 않고 softmax하면 {plain:.2f})"
        ),
        "scale_why": "   너비와 상관없이 분산이 1쯤이면 softmax가 처음부터 한 곳에 쏠리지 않아요.",
        "scale_off": "   sqrt(d_k)로 나누면 둘 다 1쯤이에요. 이 코드는 무엇으로 나누나요?",
        "mask": "마지막 key를 모두에게 가리면:",
        "mask_kept": "   가려진 key의 가중치는 {hidden:.3f}이고, 그 몫은 나머지가 나눠 가져요.",
        "mask_unshared": (
            "   가려진 key의 가중치는 {hidden:.3f}인데 합이 1이 아닌 행이 있어요. "
            "softmax 다음에 무엇을 하나요?"
        ),
        "mask_lost": "   가려진 key에 아직 {hidden:.3f}이 남아 있어요. 마스크가 듣지 않네요.",
        "open": "어텐션 가중치",
        "hidden": "마지막 key를 모두에게 가린 어텐션 가중치",
        "down": "query",
        "across": "key",
    },
}

SIZES = {"d_k": 64}


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 8), torch.randn(4, 8), torch.randn(4, 5)
    output, weights = step.attention(query, key, value)
    shapes = {"q": query, "k": key, "v": value, "y": output, "p": weights}
    say("shapes", **{name: tuple(tensor.shape) for name, tensor in shapes.items()})

    say("weights")
    rows(say, weights)

    say("scale")
    scaled = True
    for d_k in (NARROW, options.d_k):
        plain, yours = scores_and_weights(step, d_k)
        # The softmax forgets what a row has in common; beyond that its logarithm is its input.
        into = yours.log()
        into = into - into.mean(dim=-1, keepdim=True)
        say("spread", d_k=d_k, plain=plain.var().item(), yours=into.var().item())
        scaled &= math.isclose(plain.var().item() / d_k, into.var().item(), rel_tol=0.1)
    sharp = plain.softmax(dim=-1).amax(dim=-1).mean().item()
    say("sharpest", d_k=d_k, plain=sharp, yours=yours.amax(dim=-1).mean().item())
    say("scale_why" if scaled else "scale_off")

    say("mask")
    mask = torch.tensor([True, True, True, False])
    _, weights = step.attention(query, key, value, mask=mask)
    rows(say, weights)
    hidden = weights[..., -1].abs().max().item()
    whole = torch.allclose(weights.sum(dim=-1), torch.ones(len(weights)), atol=1e-4)
    kept = "mask_kept" if whole else "mask_unshared"
    say(kept if hidden < 1e-6 else "mask_lost", hidden=hidden)


def rows(say: Say, weights: torch.Tensor) -> None:
    for row in weights.tolist():
        say("row", numbers=" ".join(f"{number:.3f}" for number in row), total=sum(row))


def scores_and_weights(step: ModuleType, d_k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return plain dot products of random rows, and the weights that the code made of the rows."""
    query = torch.randn(64, d_k, dtype=torch.float64)
    key = torch.randn(64, d_k, dtype=torch.float64)
    plain = query @ key.T
    # The values are of another width, which is no scale.
    _, weights = step.attention(query, key, key[:, :1])
    return plain, weights


def picture(step: ModuleType) -> dict[str, torch.Tensor]:
    """Return the weights of the same queries and keys, without and with a mask."""
    fixed = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(length, 8, generator=fixed) for length in (4, 5, 5))
    mask = torch.tensor([True, True, True, True, False])
    return {
        "open": step.attention(query, key, value)[1],
        "hidden": step.attention(query, key, value, mask=mask)[1],
    }


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
