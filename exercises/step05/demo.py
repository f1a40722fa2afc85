"""Demo of step 05: how large a word's vector is, and the waves that tell where it stands."""

import argparse
import math
from types import ModuleType

import torch
from torch import nn

from autograder.demo import Say, run

NARROW = 8
ROWS = 5

TEXTS = {
    "en": {
        "shapes": "ids {ids} -> vectors {vectors} -> with positions {y}",
        "parameters": "parameters: {words:,} of the words, {positions} of the positions",
        "parameters_differ": (
            "   It would be {expected:,}, and 0: what is trained here, and what is fixed?"
        ),
        "factor": "a vector is its row of the table times {factor:.3f}",
        "factor_why": "   sqrt(d_model) = {wanted:.3f}",
        "factor_differs": "   sqrt(d_model) would be {wanted:.3f}",
        "no_table": "(No parameter of shape ({vocab}, {d_model}) was found, so no row to compare.)",
        "table": "the first {rows} positions of a model {d_model} wide:",
        "row": "   position {position}: {numbers}",
        "pairs": "a sine squared plus the cosine beside it squared: from {low:.3f} to {high:.3f}",
        "pairs_why": "   Each pair is a clock hand that turns, the first fast, the last slowly.",
        "pairs_differ": (
            "   It would be 1 everywhere if both had the same frequency and nothing scaled them."
        ),
        "origin": "   At position 0, a sine is 0 and a cosine 1. Where does the counting begin?",
        "waves": "a turn takes {fast:.2f} positions in the first pair, {slow:,.0f} in the last",
        "waves_differ": (
            "   By the formula it would be {fast:.2f} and {slow:,.0f}. "
            "What are the base, the exponent and its sign?"
        ),
        "products": (
            "positions 10 and 15 multiplied: {near:.2f}; 40 and 45: {far:.2f}; "
            "10 and 45: {apart:.2f}"
        ),
        "products_why": "   The product depends on the distance only, not on the place.",
        "products_differ": "   The first two pairs are equally far apart; these should be equal.",
        "products_flat": "   All three are equal. What tells position 10 from position 45?",
        "wave_table": "what is added to each position",
        "down": "position",
        "across": "column of the vector",
    },
    "ko": {
        "shapes": "id {ids} -> 벡터 {vectors} -> 위치를 더한 것 {y}",
        "parameters": "파라미터 수: 단어 쪽 {words:,}개, 위치 쪽 {positions}개",
        "parameters_differ": (
            "   각각 {expected:,}개와 0개여야 해요. 무엇을 학습하고 무엇을 고정하나요?"
        ),
        "factor": "벡터 = 표의 행 x {factor:.3f}",
        "factor_why": "   sqrt(d_model) = {wanted:.3f}",
        "factor_differs": "   sqrt(d_model)이라면 {wanted:.3f}이어야 해요.",
        "no_table": "(모양이 ({vocab}, {d_model})인 파라미터가 없어서 표의 행과 견줄 수 없어요.)",
        "table": "처음 {rows}개 위치 (너비 {d_model}인 모델):",
        "row": "   위치 {position}: {numbers}",
        "pairs": "사인 제곱 더하기 옆에 있는 코사인 제곱: {low:.3f}부터 {high:.3f}까지",
        "pairs_why": "   쌍마다 도는 시곗바늘 하나예요. 첫 쌍은 빠르게, 마지막 쌍은 느리게 돌아요.",
        "pairs_differ": (
            "   둘의 주파수가 같고 값의 크기를 바꾸지 않았다면 어디서나 1이어야 해요."
        ),
        "origin": "   위치 0에서 사인은 0, 코사인은 1이에요. 위치를 어디서부터 세나요?",
        "waves": "한 바퀴 도는 데 첫 쌍은 위치 {fast:.2f}개, 마지막 쌍은 {slow:,.0f}개가 걸려요",
        "waves_differ": (
            "   식대로라면 {fast:.2f}개와 {slow:,.0f}개예요. 밑과 지수, 지수의 부호는 무엇인가요?"
        ),
        "products": (
            "위치끼리의 내적: 10과 15는 {near:.2f}, 40과 45는 {far:.2f}, 10과 45는 {apart:.2f}"
        ),
        "products_why": "   내적은 위치가 아니라 둘 사이의 거리만 따라가요.",
        "products_differ": "   앞의 두 쌍은 거리가 같으니 내적도 같아야 해요.",
        "products_flat": "   셋이 모두 같아요. 위치 10과 위치 45는 무엇이 다른가요?",
        "wave_table": "위치마다 더하는 값",
        "down": "위치",
        "across": "벡터의 열",
    },
}

SIZES = {"d_model": 512, "vocab": 8316}


@torch.no_grad()
def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    d_model, vocab = options.d_model, options.vocab
    words = step.Embeddings(d_model, vocab)
    positions = step.PositionalEncoding(d_model, 0.0)
    ids = torch.randint(vocab, (2, 10))
    vectors = words(ids)
    y = positions(vectors.clone())
    shapes = {"ids": ids, "vectors": vectors, "y": y}
    say("shapes", **{name: tuple(tensor.shape) for name, tensor in shapes.items()})
    say("parameters", words=count(words), positions=count(positions))
    if (count(words), count(positions)) != (vocab * d_model, 0):
        say("parameters_differ", expected=vocab * d_model)
    show_factor(words, ids, vectors, say, options)

    say("table", rows=ROWS, d_model=NARROW)
    for position, row in enumerate(waves(step, NARROW, ROWS)):
        numbers = " ".join(f"{number:6.3f}" for number in row.tolist())
        say("row", position=position, numbers=numbers)
    table = waves(step, d_model, 50)
    show_pairs(table, say)
    show_products(table, say)


def show_factor(
    words: nn.Module,
    ids: torch.Tensor,
    vectors: torch.Tensor,
    say: Say,
    options: argparse.Namespace,
) -> None:
    """Compare the vectors with the rows of the table, whatever the table is called."""
    shape = (options.vocab, options.d_model)
    table = next((table for table in words.parameters() if table.shape == shape), None)
    if table is None:
        say("no_table", vocab=options.vocab, d_model=options.d_model)
        return
    factor = (vectors.norm() / table[ids].norm()).item()
    wanted = math.sqrt(options.d_model)
    say("factor", factor=factor)
    close = math.isclose(factor, wanted, rel_tol=1e-4)
    say("factor_why" if close else "factor_differs", wanted=wanted)


def show_pairs(table: torch.Tensor, say: Say) -> None:
    cosine = table[:, 1::2].double()
    sine = table[:, 0::2].double()[:, : cosine.size(1)]
    sizes = sine**2 + cosine**2
    say("pairs", low=sizes.min().item(), high=sizes.max().item())
    even = torch.allclose(sizes, torch.ones_like(sizes), atol=1e-3)
    if not even:
        say("pairs_differ")
    elif sine[0].any():
        say("origin")
    else:
        # From position 0 to position 1 the hand moves by its frequency.
        periods = 2 * math.pi / torch.atan2(sine[1], cosine[1])
        turns = {"fast": rounded(periods[0].item()), "slow": rounded(periods[-1].item())}
        if 0 < turns["fast"] <= turns["slow"] < math.inf:
            say("pairs_why")
        say("waves", **turns)
        slowest = 10_000 ** (2 * (sine.size(1) - 1) / table.size(1))
        wanted = {"fast": rounded(2 * math.pi), "slow": rounded(2 * math.pi * slowest)}
        if not all(math.isclose(turns[name], wanted[name], rel_tol=1e-2) for name in turns):
            say("waves_differ", **wanted)


def rounded(number: float) -> float:
    """Return the number with the three digits that single precision leaves of a slow wave."""
    return float(f"{number:.3g}")


def show_products(table: torch.Tensor, say: Say) -> None:
    near, far, apart = (
        (table[first] @ table[second]).item() for first, second in ((10, 15), (40, 45), (10, 45))
    )
    say("products", near=near, far=far, apart=apart)
    if not math.isclose(near, far, rel_tol=1e-4, abs_tol=1e-2):
        say("products_differ")
    else:
        say("products_flat" if math.isclose(near, apart, abs_tol=1e-2) else "products_why")


def waves(step: ModuleType, d_model: int, length: int) -> torch.Tensor:
    """Return what the positions add to nothing: (length, d_model)."""
    return step.PositionalEncoding(d_model, 0.0)(torch.zeros(1, length, d_model))[0]


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


@torch.no_grad()
def picture(step: ModuleType) -> dict[str, torch.Tensor]:
    """Return the table of positions of a narrow model."""
    return {"wave_table": waves(step, 64, 50)}


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
