"""Demo of step 03: several attention heads side by side, and what each of them looks at."""

import argparse
from types import ModuleType

import torch

from autograder.demo import Say, run

TEXTS = {
    "en": {
        "clones": "clones: {count} copies; after a change to one, {changed} of them changed",
        "clones_alike": "   It should be 3 copies, and 1 that changed. Do they share anything?",
        "shapes": "query {q}, key and value {k} -> output {y}, weights {p}",
        "shapes_closed": "query {q}, key and value {k} -> output {y}",
        "no_attn": "(`.attn` holds no attention weights here, so the maps cannot be shown.)",
        "parameters": "parameters: {count:,}",
        "formula": "   4 x (d_model x d_model + d_model) = {expected:,}, for any number of heads",
        "formula_differs": "   The formula gives {expected:,}: is a bias or a projection missing?",
        "map": "one sentence of 4 words, 2 heads; a row says where a word looks:",
        "masked": "the same, and no word may look ahead:",
        "head": "   head {number}",
        "row": "      {numbers}   sum {total:.3f}",
        "ahead": "   weight on words ahead: {ahead:.3f}",
        "ahead_seen": "   It should be 0. Does the mask reach the attention, the right way round?",
        "sums": "   Each row should sum to 1. Where does the softmax run, and what comes after it?",
    },
    "ko": {
        "clones": "clones: 복사본 {count}개. 하나를 바꾸었을 때 바뀐 복사본은 {changed}개예요.",
        "clones_alike": ("   복사본 3개 중 1개만 바뀌어야 해요. 함께 쓰는 것이 있나요?"),
        "shapes": "query {q}, key와 value {k} -> 출력 {y}, 가중치 {p}",
        "shapes_closed": "query {q}, key와 value {k} -> 출력 {y}",
        "no_attn": "(`.attn`에 어텐션 가중치가 없어서 그림은 보여 드릴 수 없어요.)",
        "parameters": "파라미터 수: {count:,}",
        "formula": "   4 x (d_model x d_model + d_model) = {expected:,} (헤드 수와 상관없어요)",
        "formula_differs": (
            "   식대로라면 {expected:,}개예요. 편향이나 투영이 하나 빠진 건 아닐까요?"
        ),
        "map": "단어 4개짜리 문장, 헤드 2개. 한 행은 한 단어가 어디를 보는지 나타내요:",
        "masked": "뒤에 오는 단어를 못 보게 하면:",
        "head": "   헤드 {number}",
        "row": "      {numbers}   합 {total:.3f}",
        "ahead": "   뒤 단어에 준 가중치: {ahead:.3f}",
        "ahead_seen": "   0이어야 해요. 마스크가 뒤집히지 않고 어텐션까지 가나요?",
        "sums": (
            "   행의 합은 1이어야 해요. softmax를 어느 축으로 계산하고, 그다음에 무엇을 하나요?"
        ),
    },
}

SIZES = {"h": 8, "d_model": 512}


@torch.no_grad()
def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    count, changed = change_one_copy(step)
    say("clones", count=count, changed=changed)
    if (count, changed) != (3, 1):
        say("clones_alike")

    h, d_model = options.h, options.d_model
    attention = step.MultiHeadedAttention(h, d_model, dropout=0.0)
    query, memory = torch.randn(2, 10, d_model), torch.randn(2, 7, d_model)
    output = attention(query, memory, memory)
    shapes = {"q": tuple(query.shape), "k": tuple(memory.shape), "y": tuple(output.shape)}
    weights = kept(attention)
    if weights is None:
        say("shapes_closed", **shapes)
    else:
        say("shapes", **shapes, p=tuple(weights.shape))

    total = sum(parameter.numel() for parameter in attention.parameters())
    expected = 4 * (d_model * d_model + d_model)
    say("parameters", count=total)
    say("formula" if total == expected else "formula_differs", expected=expected)
    if weights is None:
        say("no_attn")
    else:
        show_maps(step, say)


def change_one_copy(step: ModuleType) -> tuple[int, int]:
    """Return how many copies `clones` made of 3, and how many felt a change to the first."""
    copies = step.clones(torch.nn.Linear(2, 2), 3)
    before = [copy.weight.clone() for copy in copies]
    copies[0].weight.add_(1)
    changed = [not torch.equal(copy.weight, old) for copy, old in zip(copies, before, strict=True)]
    return len(copies), sum(changed)


def kept(attention: torch.nn.Module) -> torch.Tensor | None:
    """Return the weights that the module kept of its last call."""
    weights = getattr(attention, "attn", None)
    return weights if isinstance(weights, torch.Tensor) and weights.dim() == 4 else None


def show_maps(step: ModuleType, say: Say) -> None:
    attention = step.MultiHeadedAttention(2, 8, dropout=0.0)
    words = 2 * torch.randn(1, 4, 8)
    no_look_ahead = torch.ones(1, 4, 4).tril() == 1
    whole = True
    for name, mask in (("map", None), ("masked", no_look_ahead)):
        say(name)
        attention(words, words, words, mask)
        weights = attention.attn
        sums = weights.sum(dim=-1)
        whole &= torch.allclose(sums, torch.ones_like(sums), atol=1e-4)
        for number, head in enumerate(weights[0], start=1):
            say("head", number=number)
            for row in head.tolist():
                say("row", numbers=" ".join(f"{weight:.3f}" for weight in row), total=sum(row))
    ahead = weights.triu(diagonal=1).sum().item()
    say("ahead", ahead=ahead)
    if not abs(ahead) < 1e-4:
        say("ahead_seen")
    if not whole:
        say("sums")


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
