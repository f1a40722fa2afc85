"""Demo of step 09: what the whole model weighs, and a sentence on its way through it."""

import argparse
import math
from collections.abc import Iterator
from types import ModuleType

import torch
from torch import nn

from autograder.demo import Say, run
from transformer_ref import subsequent_mask

SOURCE, TARGET = 9, 5
PARTS = ("encoder", "decoder", "src_embed", "tgt_embed", "generator")

TEXTS = {
    "en": {
        "parts": "the parts of the model, and how many parameters each has:",
        "part": "   {name:<10} {count:>12,}",
        "part_off": "      By the formula {expected:,}: is a size another, or a copy missing?",
        "no_part": "   {name:<10} (the model has no module of this name)",
        "total": "   total      {count:>12,}",
        "total_differs": "   The parts add up to {parts:,}: is something shared, or elsewhere?",
        "shapes": "shapes: {src} -> {memory} -> {features} -> {scores}",
        "shapes_why": "   source ids -> memory -> features of the target -> log-probabilities",
        "sums": "probabilities of all next words, summed at each position: {sums}",
        "sums_off": "   Each should be 1. Is it a log-softmax, and over the words?",
        "largest": "largest |w_1| of the first feed-forward network: {largest:.4f}",
        "named_otherwise": "   (Nothing is called w_1 here; this is {name}, found by its shape.)",
        "bound": "   Xavier's bound, sqrt(6 / ({d_model} + {d_ff})) = {bound:.4f}",
        "bound_off": "   The largest of so many would be just below it. How is a matrix drawn?",
        "no_w_1": "(The encoder has no matrix of d_ff = {d_ff} by d_model = {d_model} to look at.)",
        "dropout": "with dropout 0, two runs in training differ by {difference:.3f}",
        "dropout_why": "   So nothing is left to chance at that rate.",
        "dropout_lost": "   Some dropout has not heard of the rate. Is it the attentions'?",
    },
    "ko": {
        "parts": "모델의 부품과 저마다의 파라미터 수:",
        "part": "   {name:<10} {count:>12,}",
        "part_off": (
            "      식대로라면 {expected:,}개예요. 크기가 다르거나 복사가 빠진 것은 아닌가요?"
        ),
        "no_part": "   {name:<10} (이런 이름의 모듈이 모델에 없어요)",
        "total": "   합계       {count:>12,}",
        "total_differs": (
            "   부품을 더하면 {parts:,}개예요. 함께 쓰는 것이나 다른 곳에 둔 것이 있나요?"
        ),
        "shapes": "모양: {src} -> {memory} -> {features} -> {scores}",
        "shapes_why": "   원문의 id -> 메모리 -> 번역문의 특성 -> 로그 확률",
        "sums": "다음 단어들의 확률을 위치마다 모두 더하면: {sums}",
        "sums_off": "   모두 1이어야 해요. 로그 softmax를 단어 쪽으로 계산하나요?",
        "largest": "첫 피드포워드의 |w_1| 가운데 가장 큰 값: {largest:.4f}",
        "named_otherwise": "   (이름이 w_1인 것이 없어서, 모양을 보고 찾은 {name}의 값이에요.)",
        "bound": "   Xavier의 한계, sqrt(6 / ({d_model} + {d_ff})) = {bound:.4f}",
        "bound_off": "   이렇게 많으면 가장 큰 값은 한계 바로 아래예요. 행렬을 어떻게 뽑나요?",
        "no_w_1": "(인코더에 d_ff = {d_ff}, d_model = {d_model}인 행렬이 없어서 볼 수 없어요.)",
        "dropout": "드롭아웃 0으로 학습 모드에서 두 번 실행할 때의 차이: {difference:.3f}",
        "dropout_why": "   이 비율에서는 우연에 맡긴 것이 없어요.",
        "dropout_lost": "   비율을 받지 못한 드롭아웃이 있어요. 어텐션의 드롭아웃은 아닌가요?",
    },
}

SIZES = {"src_vocab": 8316, "tgt_vocab": 6384, "layers": 6, "d_model": 512, "d_ff": 2048, "h": 8}


@torch.no_grad()
def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    model = step.make_model(
        options.src_vocab,
        options.tgt_vocab,
        N=options.layers,
        d_model=options.d_model,
        d_ff=options.d_ff,
        h=options.h,
    )
    show_parts(model, say, by_formula(options))
    show_a_sentence(model.eval(), say, options)
    show_start(model, say, options)
    show_dropout(step, say)


def by_formula(options: argparse.Namespace) -> dict[str, int]:
    """Return by name how many parameters each part should have."""
    d_model, d_ff, layers = options.d_model, options.d_ff, options.layers
    attention, norm = 4 * (d_model * d_model + d_model), 2 * d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    counts = (
        layers * (attention + feed_forward + 2 * norm) + norm,
        layers * (2 * attention + feed_forward + 3 * norm) + norm,
        options.src_vocab * d_model,
        options.tgt_vocab * d_model,
        (d_model + 1) * options.tgt_vocab,
    )
    return dict(zip(PARTS, counts, strict=True))


def show_parts(model: nn.Module, say: Say, expected: dict[str, int]) -> None:
    say("parts")
    parts = 0
    for name in PARTS:
        part = getattr(model, name, None)
        if isinstance(part, nn.Module):
            say("part", name=name, count=count(part))
            parts += count(part)
            if count(part) != expected[name]:
                say("part_off", expected=expected[name])
        else:
            say("no_part", name=name)
    total = count(model)
    say("total", count=total)
    if parts != total:
        say("total_differs", parts=parts)


def show_a_sentence(model: nn.Module, say: Say, options: argparse.Namespace) -> None:
    src = torch.randint(options.src_vocab, (1, SOURCE))
    tgt = torch.randint(options.tgt_vocab, (1, TARGET))
    src_mask = torch.ones(1, 1, SOURCE, dtype=torch.bool)
    memory = model.encode(src, src_mask)
    features = model.decode(memory, src_mask, tgt, subsequent_mask(TARGET))
    scores = model.generator(features)
    shapes = {"src": src, "memory": memory, "features": features, "scores": scores}
    say("shapes", **{name: tuple(tensor.shape) for name, tensor in shapes.items()})
    say("shapes_why")
    sums = scores.exp().sum(dim=-1)[0].tolist()
    say("sums", sums=" ".join(f"{total:.3f}" for total in sums))
    if not all(math.isclose(total, 1, abs_tol=1e-3) for total in sums):
        say("sums_off")


def show_start(model: nn.Module, say: Say, options: argparse.Namespace) -> None:
    """Compare the largest weight of a matrix with the bound it was drawn within."""
    d_model, d_ff = options.d_model, options.d_ff
    found = list(first_matrices(model, {(d_ff, d_model), (d_model, d_ff)}))
    if not found:
        say("no_w_1", d_model=d_model, d_ff=d_ff)
        return
    name, matrix = next((pair for pair in found if "w_1" in pair[0].split(".")), found[0])
    largest = matrix.abs().max().item()
    say("largest", largest=largest)
    if "w_1" not in name.split("."):
        say("named_otherwise", name=name)
    bound = math.sqrt(6 / (d_model + d_ff))
    say("bound", d_model=d_model, d_ff=d_ff, bound=bound)
    if not 0.95 * bound < largest < 1.0001 * bound:
        say("bound_off")


def first_matrices(
    model: nn.Module, shapes: set[tuple[int, ...]]
) -> Iterator[tuple[str, torch.Tensor]]:
    for name, parameter in getattr(model, "encoder", model).named_parameters():
        if tuple(parameter.shape) in shapes:
            yield name, parameter


def show_dropout(step: ModuleType, say: Say) -> None:
    """Run a small model twice in training, where nothing should be left to chance."""
    model = step.make_model(11, 13, N=2, d_model=16, d_ff=32, h=2, dropout=0.0).train()
    src, tgt = torch.arange(8).unsqueeze(0), torch.arange(6).unsqueeze(0)
    masks = torch.ones(1, 1, 8, dtype=torch.bool), subsequent_mask(6)
    first, second = (model(src, tgt, *masks) for _ in range(2))
    difference = (first - second).abs().max().item()
    say("dropout", difference=difference)
    say("dropout_why" if difference == 0 else "dropout_lost")


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
