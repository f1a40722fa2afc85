"""Demo of step 04: what the position-wise feed-forward network does to a sentence."""

import argparse
from collections.abc import Callable
from types import ModuleType

import torch
from torch import nn

from autograder.demo import Say, run

TEXTS = {
    "en": {
        "shapes": "input {x} -> hidden {hidden} -> output {y}",
        "shapes_closed": "input {x} -> output {y}",
        "named_otherwise": (
            "(There is no layer named w_1 here. The hidden layer was found by its width, {d_ff}: "
            "{name}.)"
        ),
        "no_inside": "(No layer of width {d_ff} was seen at work, so its inside cannot be shown.)",
        "parameters": "parameters: {count:,}",
        "formula": "   (d_model x d_ff + d_ff) + (d_ff x d_model + d_model) = {expected:,}",
        "formula_differs": "   By the formula {expected:,}: is a bias missing, or a layer extra?",
        "alone": "the 4th token in its sentence and all alone: outputs differ by {difference:.1e}",
        "alone_same": "   Rounding only. No token sees another one here; that is attention's work.",
        "alone_mixed": "   That is more than rounding. Do the positions mix, or is it chance?",
        "zeros": "hidden units that are 0 when they reach the second layer: {share:.0%}",
        "zeros_why": "   Of numbers spread evenly around 0, ReLU silences the negative half.",
        "zeros_off": "   It would be about half. What else makes them 0, or keeps them from it?",
        "zeros_none": "   Not one. Is there a ReLU between the layers?",
    },
    "ko": {
        "shapes": "입력 {x} -> 은닉층 {hidden} -> 출력 {y}",
        "shapes_closed": "입력 {x} -> 출력 {y}",
        "named_otherwise": (
            "(w_1이라는 층이 없어서, 너비가 {d_ff}인 층을 찾아 은닉층으로 보았어요: {name})"
        ),
        "no_inside": "(너비가 {d_ff}인 층을 찾지 못해서 안쪽은 보여 드릴 수 없어요.)",
        "parameters": "파라미터 수: {count:,}",
        "formula": "   (d_model x d_ff + d_ff) + (d_ff x d_model + d_model) = {expected:,}",
        "formula_differs": (
            "   식대로라면 {expected:,}개예요. 편향이 빠졌거나 층이 더 있는 건 아닐까요?"
        ),
        "alone": "4번째 토큰을 문장째 넣을 때와 혼자 넣을 때, 출력의 차이: {difference:.1e}",
        "alone_same": "   반올림 오차뿐이에요. 토큰끼리 정보를 나누는 일은 어텐션이 맡아요.",
        "alone_mixed": "   반올림 오차라기엔 커요. 위치끼리 섞이나요, 아니면 우연인가요?",
        "zeros": "ReLU를 지나 0이 되어 둘째 층에 닿은 은닉 유닛: {share:.0%}",
        "zeros_why": "   0을 중심으로 고르게 퍼진 수에서 음수인 절반이 ReLU에 막혀요.",
        "zeros_off": "   절반쯤이어야 해요. ReLU 말고 무엇이 0을 만들거나 막나요?",
        "zeros_none": "   하나도 없어요. 두 층 사이에 ReLU가 있나요?",
    },
}

SIZES = {"d_model": 512, "d_ff": 2048}


@torch.no_grad()
def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    d_model, d_ff = options.d_model, options.d_ff
    ffn = step.PositionwiseFeedForward(d_model, d_ff, dropout=0.0)
    x = torch.randn(2, 10, d_model)

    y, outputs, inputs = watch(ffn, x, d_ff)
    if outputs:
        name = "w_1" if "w_1" in outputs else next(iter(outputs))
        say("shapes", x=tuple(x.shape), hidden=tuple(outputs[name].shape), y=tuple(y.shape))
        if name != "w_1":
            say("named_otherwise", d_ff=d_ff, name=name)
    else:
        say("shapes_closed", x=tuple(x.shape), y=tuple(y.shape))
        say("no_inside", d_ff=d_ff)

    count = sum(parameter.numel() for parameter in ffn.parameters())
    expected = (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)
    say("parameters", count=count)
    say("formula" if count == expected else "formula_differs", expected=expected)

    difference = (y[:, 3:4] - ffn(x[:, 3:4])).abs().max().item()
    say("alone", difference=difference)
    say("alone_same" if difference < 1e-4 else "alone_mixed")

    if inputs:
        # The last layer that is fed the hidden units is the second one.
        reaching = list(inputs.values())[-1]
        share = (reaching == 0).float().mean().item()
        say("zeros", share=share)
        # The fewer units there are, the more a share of them varies.
        if abs(share - 0.5) < 2 / d_ff**0.5:
            say("zeros_why")
        else:
            say("zeros_off" if share > 0 else "zeros_none")


def watch(
    ffn: nn.Module, x: torch.Tensor, d_ff: int
) -> tuple[torch.Tensor, dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Run the network and note what is d_ff wide, whatever the layers are called.

    Returns:
        The output; by layer name, in the order of their work, the outputs of width d_ff; likewise
        the inputs of width d_ff.
    """
    outputs: dict[str, torch.Tensor] = {}
    inputs: dict[str, torch.Tensor] = {}

    def note(seen: dict[str, torch.Tensor], name: str, tensor: object) -> None:
        if not isinstance(tensor, torch.Tensor) or tensor.dim() < 2:
            return
        # A convolution of kernel 1 has its channels in the middle.
        for turned in (tensor, tensor.transpose(-2, -1)):
            if turned.size(-1) == d_ff:
                seen[name] = turned
                return

    def hook_for(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[object, ...], output: object) -> None:
            note(outputs, name, output)
            if args:
                note(inputs, name, args[0])

        return hook

    layers = [(name, layer) for name, layer in ffn.named_modules() if not list(layer.children())]
    handles = [layer.register_forward_hook(hook_for(name)) for name, layer in layers if name]
    y = ffn(x)
    for handle in handles:
        handle.remove()
    return y, outputs, inputs


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
