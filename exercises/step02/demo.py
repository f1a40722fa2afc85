"""Demo of step 02: the mask as a picture, and what attention makes of it."""

import argparse
from types import ModuleType

import torch

from autograder.demo import Say, run
from transformer_ref import attention

TEXTS = {
    "en": {
        "mask": "subsequent_mask({size}): {shape}, {dtype}. A row looks, a column is looked at:",
        "row": "   position {position:<2} {picture}   sees {seen} of {size}",
        "pairs": "pairs that may look: {seen} of {pairs}",
        "triangle": "   Each position sees itself and the ones before it: 1 + 2 + ... + {size}.",
        "no_triangle": "   Itself and what came before would be another picture: {wanted} pairs.",
        "weights": "what attention makes of it when all scores are equal:",
        "numbers": "   {numbers}   sum {total:.3f}",
        "ahead": "   weight on positions ahead: {ahead:.3f}",
        "padding": (
            "with a padding mask, two sentences, the second {short} long: "
            "{causal} & {padding} -> {both}"
        ),
        "padding_row": "   {pictures}",
        "who": "who may look at whom (1 = may look)",
        "down": "who looks",
        "across": "who is looked at",
    },
    "ko": {
        "mask": "subsequent_mask({size}): {shape}, {dtype}. 행이 보는 쪽, 열이 보이는 쪽이에요:",
        "row": "   위치 {position:<2} {picture}   {seen}개를 봐요 (전체 {size}개)",
        "pairs": "서로 볼 수 있는 쌍: {seen}개 (전체 {pairs}개)",
        "triangle": "   위치마다 자신과 그 앞만 봐요. 1 + 2 + ... + {size}개예요.",
        "no_triangle": "   위치마다 자신과 그 앞만 본다면 다른 그림이에요. 쌍은 {wanted}개예요.",
        "weights": "점수가 모두 같을 때 어텐션이 만드는 가중치:",
        "numbers": "   {numbers}   합 {total:.3f}",
        "ahead": "   뒤쪽 위치에 준 가중치: {ahead:.3f}",
        "padding": (
            "패딩 마스크와 함께 쓰면 (문장 두 개, 둘째 문장의 길이는 {short}): "
            "{causal} & {padding} -> {both}"
        ),
        "padding_row": "   {pictures}",
        "who": "누가 누구를 볼 수 있나 (1 = 볼 수 있음)",
        "down": "보는 위치",
        "across": "보이는 위치",
    },
}

SIZES = {"size": 6}


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    size = options.size
    mask = step.subsequent_mask(size)
    say("mask", size=size, shape=tuple(mask.shape), dtype=str(mask.dtype).removeprefix("torch."))
    may_look = mask.reshape(size, size) != 0
    for position, row in enumerate(may_look):
        say("row", position=position, picture=marks(row), seen=int(row.sum()), size=size)

    seen, wanted = int(may_look.sum()), size * (size + 1) // 2
    say("pairs", seen=seen, pairs=size * size)
    triangle = torch.equal(may_look, torch.ones(size, size).tril() == 1)
    say("triangle" if triangle else "no_triangle", size=size, wanted=wanted)

    say("weights")
    # Without a difference between the keys, only the mask decides.
    equal = torch.zeros(1, size, 4)
    _, weights = attention(equal, equal, equal, mask)
    for row in weights[0].tolist():
        say("numbers", numbers=" ".join(f"{number:.3f}" for number in row), total=sum(row))
    say("ahead", ahead=weights.triu(diagonal=1).sum().item())
    show_padding(mask != 0, say)


def show_padding(mask: torch.Tensor, say: Say) -> None:
    """Join the mask with one that hides the padding of the second of two sentences."""
    size = mask.size(-1)
    short = (size + 1) // 2
    padding = torch.arange(size) < torch.tensor([[[size]], [[short]]])
    both = mask & padding
    shapes = {"causal": mask, "padding": padding, "both": both}
    say("padding", short=short, **{name: tuple(tensor.shape) for name, tensor in shapes.items()})
    for row in zip(*both, strict=True):
        say("padding_row", pictures="      ".join(map(marks, row)))


def marks(row: torch.Tensor) -> str:
    return " ".join("#" if seen else "." for seen in row.tolist())


def picture(step: ModuleType) -> dict[str, torch.Tensor]:
    """Return the mask of a sentence of six words."""
    return {"who": step.subsequent_mask(6)}


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
