"""Demo of step 08: what the decoder weighs, and who hears of a word of the target or source."""

import argparse
from types import ModuleType

import torch
from torch import nn

from autograder.demo import Say, run
from transformer_ref import MultiHeadedAttention, PositionwiseFeedForward

BATCH, TARGET, SOURCE, PADDED = 2, 5, 9, 2

TEXTS = {
    "en": {
        "shapes": "target {x}, memory {memory} -> features {y}",
        "parameters": "parameters: {count:,}",
        "formula": "   {layers} layers x {layer:,} + a last norm of {norm:,} = {expected:,}",
        "formula_differs": (
            "   {layers} layers x {layer:,} + a last norm of {norm:,} would be {expected:,}"
        ),
        "target": "{length} words of the target, none may look ahead. Who hears of it:",
        "word": "   word {number} changes:               {heard}",
        "no_mask": "   word {number} changes, without mask: {heard}",
        "target_why": "   # = the output here changes. A word reaches itself and those after it.",
        "target_deaf": "   It should reach all those after it. Is the attention's result added?",
        "target_lost": "   The future leaks: a word hears of one that comes after it.",
        "source": "{length} words of the source, the last {padded} are padding. Who hears of it:",
        "first": "   the first word of the source changes: {heard}",
        "padding": "   its padding changes:                  {heard}",
        "source_why": "   Every word of the target sees the whole source, except what is hidden.",
        "source_deaf": "   Nobody hears of the source. Do keys and values come from the memory?",
        "source_lost": "   The padding is heard. Does the source mask reach the attention to it?",
    },
    "ko": {
        "shapes": "번역문 {x}, 메모리 {memory} -> 특성 {y}",
        "parameters": "파라미터 수: {count:,}",
        "formula": "   층 {layers}개 x {layer:,} + 마지막 정규화 {norm:,} = {expected:,}",
        "formula_differs": (
            "   층 {layers}개 x {layer:,} + 마지막 정규화 {norm:,}이라면 {expected:,}개여야 해요."
        ),
        "target": "번역문 단어 {length}개. 뒤는 볼 수 없어요. 바꾸면 어디까지 전해질까요?",
        "word": "   {number}번째 단어를 바꾸면:             {heard}",
        "no_mask": "   마스크 없이 {number}번째 단어를 바꾸면: {heard}",
        "target_why": "   #은 출력이 달라진 위치예요. 단어는 자신과 그 뒤에만 전해져요.",
        "target_deaf": "   그 뒤의 단어에 모두 전해져야 해요. 어텐션의 결과를 더하나요?",
        "target_lost": "   미래가 새고 있어요. 뒤에 올 단어가 앞 단어에 전해졌어요.",
        "source": (
            "원문 단어 {length}개 중 마지막 {padded}개는 패딩이에요. 번역문의 어디에 전해질까요?"
        ),
        "first": "   원문의 첫 단어를 바꾸면: {heard}",
        "padding": "   원문의 패딩을 바꾸면:    {heard}",
        "source_why": "   번역문의 단어는 모두 원문 전체를 봐요. 가린 곳만 빼고요.",
        "source_deaf": "   원문이 아무에게도 전해지지 않아요. key와 value가 메모리에서 오나요?",
        "source_lost": "   패딩이 전해졌어요. 원문 마스크가 원문을 보는 어텐션까지 가나요?",
    },
}

SIZES = {"layers": 6, "d_model": 512, "d_ff": 2048, "h": 8}


@torch.no_grad()
def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    d_model, layers = options.d_model, options.layers
    self_attn = MultiHeadedAttention(options.h, d_model, 0.0)
    src_attn = MultiHeadedAttention(options.h, d_model, 0.0)
    feed_forward = PositionwiseFeedForward(d_model, options.d_ff, 0.0)
    layer = step.DecoderLayer(d_model, self_attn, src_attn, feed_forward, 0.0)
    decoder = step.Decoder(layer, layers)

    x, memory = torch.randn(BATCH, TARGET, d_model), torch.randn(BATCH, SOURCE, d_model)
    src_mask = torch.ones(BATCH, 1, SOURCE, dtype=torch.bool)
    src_mask[:, :, -PADDED:] = False
    no_look_ahead = torch.ones(1, TARGET, TARGET).tril() == 1
    y = decoder(x, memory, src_mask, no_look_ahead)
    say("shapes", x=tuple(x.shape), memory=tuple(memory.shape), y=tuple(y.shape))

    # A gain and a bias for each of a layer's three norms, and for the last one.
    norm = 2 * d_model
    of_layer = count(self_attn) + count(src_attn) + count(feed_forward) + 3 * norm
    expected = layers * of_layer + norm
    say("parameters", count=count(decoder))
    formula = "formula" if count(decoder) == expected else "formula_differs"
    say(formula, layers=layers, layer=of_layer, norm=norm, expected=expected)

    show_target(decoder, x, memory, src_mask, no_look_ahead, say)
    show_source(decoder, x, memory, src_mask, no_look_ahead, say)


def show_target(
    decoder: nn.Module,
    x: torch.Tensor,
    memory: torch.Tensor,
    src_mask: torch.Tensor,
    tgt_mask: torch.Tensor,
    say: Say,
) -> None:
    say("target", length=TARGET)
    leak = deaf = False
    for place in range(TARGET):
        changed = nudged(x, slice(place, place + 1))
        heard = differs(
            decoder(changed, memory, src_mask, tgt_mask), decoder(x, memory, src_mask, tgt_mask)
        )
        say("word", number=place + 1, heard=marks(heard))
        leak = leak or bool(heard[:place].any())
        deaf = deaf or not bool(heard[place:].all())
    heard = differs(decoder(changed, memory, src_mask, None), decoder(x, memory, src_mask, None))
    say("no_mask", number=TARGET, heard=marks(heard))
    if leak:
        say("target_lost")
    else:
        say("target_deaf" if deaf else "target_why")


def show_source(
    decoder: nn.Module,
    x: torch.Tensor,
    memory: torch.Tensor,
    src_mask: torch.Tensor,
    tgt_mask: torch.Tensor,
    say: Say,
) -> None:
    say("source", length=SOURCE, padded=PADDED)
    y = decoder(x, memory, src_mask, tgt_mask)
    heard = {}
    for name, where in (("first", slice(0, 1)), ("padding", slice(SOURCE - PADDED, SOURCE))):
        heard[name] = differs(decoder(x, nudged(memory, where), src_mask, tgt_mask), y)
        say(name, heard=marks(heard[name]))
    if heard["padding"].any():
        say("source_lost")
    else:
        say("source_why" if heard["first"].all() else "source_deaf")


def nudged(x: torch.Tensor, where: slice) -> torch.Tensor:
    """Return x with other words at some positions."""
    changed = x.clone()
    changed[:, where] += torch.randn_like(changed[:, where])
    return changed


def differs(y: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return for each position whether two outputs differ there by more than rounding: (L,)."""
    return (y - other).abs().amax(dim=(0, 2)) > 1e-4


def marks(heard: torch.Tensor) -> str:
    return " ".join("#" if here else "." for here in heard.tolist())


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
