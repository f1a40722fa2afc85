"""Demo of step 07: what the encoder weighs, and who hears of a word in it."""

import argparse
from types import ModuleType

import torch
from torch import nn

from autograder.demo import Say, run
from transformer_ref import MultiHeadedAttention, PositionwiseFeedForward

BATCH, LENGTH, PADDED = 2, 9, 2

TEXTS = {
    "en": {
        "shapes": "words {x} -> memory {y}",
        "parameters": "parameters: {count:,}",
        "formula": "   {layers} layers x {layer:,} + a last norm of {norm:,} = {expected:,}",
        "formula_differs": (
            "   {layers} layers x {layer:,} + a last norm of {norm:,} would be {expected:,}"
        ),
        "norm": "rows of the memory: mean {mean:.3f}, std {std:.3f}",
        "norm_why": "   That is the last norm. The layers only add to x.",
        "norm_lost": "   Behind a fresh last norm it would be 0.000 and 1.000.",
        "touched": "{length} words, of which the last {padded} are padding. Who hears of it:",
        "word": "   the first word changes:             {heard}",
        "padding": "   the padding changes:               {heard}",
        "no_mask": "   the padding changes, without mask: {heard}",
        "touched_why": "   # = the output here changes. What the mask hides reaches no real word.",
        "touched_deaf": "   Some do not hear of the first word. Is the attention's result added?",
        "touched_lost": "   A real word hears of the padding. Does the mask reach the attention?",
    },
    "ko": {
        "shapes": "단어 {x} -> 메모리 {y}",
        "parameters": "파라미터 수: {count:,}",
        "formula": "   층 {layers}개 x {layer:,} + 마지막 정규화 {norm:,} = {expected:,}",
        "formula_differs": (
            "   층 {layers}개 x {layer:,} + 마지막 정규화 {norm:,}이라면 {expected:,}개여야 해요."
        ),
        "norm": "메모리의 행: 평균 {mean:.3f}, 표준편차 {std:.3f}",
        "norm_why": "   마지막 정규화가 한 일이에요. 층들은 x에 더하기만 해요.",
        "norm_lost": "   갓 만든 마지막 정규화를 지났다면 0.000과 1.000이어야 해요.",
        "touched": "단어 {length}개 중 마지막 {padded}개는 패딩이에요. 바꾸면 어디까지 전해질까요?",
        "word": "   첫 단어를 바꾸면:          {heard}",
        "padding": "   패딩을 바꾸면:             {heard}",
        "no_mask": "   마스크 없이 패딩을 바꾸면: {heard}",
        "touched_why": "   #은 출력이 달라진 위치예요. 가린 것은 진짜 단어에 전해지지 않아요.",
        "touched_deaf": "   첫 단어가 전해지지 않은 위치가 있어요. 어텐션의 결과를 더하나요?",
        "touched_lost": "   패딩이 진짜 단어에 전해졌어요. 마스크가 어텐션까지 가나요?",
    },
}

SIZES = {"layers": 6, "d_model": 512, "d_ff": 2048, "h": 8}


@torch.no_grad()
def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    d_model, layers = options.d_model, options.layers
    attention = MultiHeadedAttention(options.h, d_model, 0.0)
    feed_forward = PositionwiseFeedForward(d_model, options.d_ff, 0.0)
    layer = step.EncoderLayer(d_model, attention, feed_forward, 0.0)
    encoder = step.Encoder(layer, layers)

    x = torch.randn(BATCH, LENGTH, d_model)
    mask = torch.ones(BATCH, 1, LENGTH, dtype=torch.bool)
    mask[:, :, -PADDED:] = False
    memory = encoder(x, mask)
    say("shapes", x=tuple(x.shape), y=tuple(memory.shape))

    # A gain and a bias for each of a layer's two norms, and for the last one.
    norm = 2 * d_model
    of_layer = count(attention) + count(feed_forward) + 2 * norm
    expected = layers * of_layer + norm
    say("parameters", count=count(encoder))
    formula = "formula" if count(encoder) == expected else "formula_differs"
    say(formula, layers=layers, layer=of_layer, norm=norm, expected=expected)

    # Without the minus sign that rounding to -0.000 would leave.
    mean = round(memory.mean().item(), 3) + 0.0
    std = memory.std(dim=-1).mean().item()
    say("norm", mean=mean, std=std)
    say("norm_why" if abs(mean) < 1e-3 and abs(std - 1) < 1e-2 else "norm_lost")
    show_who_hears(encoder, x, mask, say)


def show_who_hears(encoder: nn.Module, x: torch.Tensor, mask: torch.Tensor, say: Say) -> None:
    say("touched", length=LENGTH, padded=PADDED)
    first, padding = slice(0, 1), slice(LENGTH - PADDED, LENGTH)
    word = who_hears(encoder, x, mask, first)
    say("word", heard=marks(word))
    real = who_hears(encoder, x, mask, padding)
    say("padding", heard=marks(real))
    say("no_mask", heard=marks(who_hears(encoder, x, None, padding)))
    if real[:-PADDED].any():
        say("touched_lost")
    else:
        say("touched_why" if word.all() else "touched_deaf")


def who_hears(
    encoder: nn.Module, x: torch.Tensor, mask: torch.Tensor | None, where: slice
) -> torch.Tensor:
    """Return for each position whether its output changes when the words there do: (L,), bool."""
    changed = x.clone()
    changed[:, where] += torch.randn_like(changed[:, where])
    difference = (encoder(changed, mask) - encoder(x, mask)).abs()
    return difference.amax(dim=(0, 2)) > 1e-4


def marks(heard: torch.Tensor) -> str:
    return " ".join("#" if here else "." for here in heard.tolist())


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
