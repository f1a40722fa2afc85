"""Demo of step 11: a batch of three sentences, what is read and what is said, and who may look."""

import argparse
from types import ModuleType
from typing import Any

import torch

from autograder.demo import Say, run

PAD = 2
SOURCES = torch.tensor([[0, 7, 4, 9, 5, 1], [0, 6, 8, 1, PAD, PAD], [0, 3, 9, 4, 1, PAD]])
TARGETS = torch.tensor(
    [[0, 5, 8, 6, 1, PAD, PAD], [0, 9, 1, PAD, PAD, PAD, PAD], [0, 4, 7, 3, 8, 6, 1]]
)

TEXTS = {
    "en": {
        "sources": "sources {shape}, with pad {pad} drawn as _, and what may be looked at:",
        "source": "   {ids}      {picture}",
        "source_mask": "   src_mask: {shape}, {dtype}",
        "source_off": "   Should it not be {shape}, with a # at each token and at no padding?",
        "targets": "targets {whole}: the decoder reads {tgt} and has to say {tgt_y}:",
        "reads": "   reads  {ids}",
        "says": "   says   {ids}",
        "shifted": "   Below each id stands the one that follows it.",
        "not_shifted": "   Below an id should stand the one that follows it in the target.",
        "target_mask": "tgt_mask: {shape}, {dtype}. A row looks, a column is looked at:",
        "pictures": "   {pictures}",
        "numbers": "   {numbers}",
        "hidden": "   In the column of a padding, nobody sees anything.",
        "seen": "   Somebody sees padding. Which axis is the one that is looked at?",
        "padding_only": "   Only paddings see a padding; nobody reads what comes of them.",
        "blind": "   Somebody does not see itself, or a token before it. What is hidden?",
        "ahead": "   Somebody sees what comes after it.",
        "tokens": "ntokens: {ntokens}; tgt_y has {cells} cells",
        "counted": "   So many predictions count: all but the padding of tgt_y.",
        "miscounted": "   But {wanted} of the ids to be said are no padding.",
        "alone": "without a target, only the source is there: src {src}, src_mask {src_mask}",
        "behind": "make_std_mask (1 = may look), padding at 4 and 5; their rows are set to 0",
        "between": "the same, padding at 1 and 3, where what comes after could see it",
        "down": "who looks",
        "across": "who is looked at",
    },
    "ko": {
        "sources": "원문 {shape}과 볼 수 있는 위치 (패딩 {pad}는 _로 그렸어요):",
        "source": "   {ids}      {picture}",
        "source_mask": "   src_mask: {shape}, {dtype}",
        "source_off": "   {shape}이고, 패딩 말고는 모두 #이어야 하지 않을까요?",
        "targets": "번역문 {whole}: 디코더가 읽는 것 {tgt}, 말해야 하는 것 {tgt_y}:",
        "reads": "   읽기   {ids}",
        "says": "   말하기 {ids}",
        "shifted": "   id마다 바로 아래에 그다음 id가 있어요.",
        "not_shifted": "   id 아래에는 번역문에서 그다음에 오는 id가 있어야 해요.",
        "target_mask": "tgt_mask: {shape}, {dtype}. 행이 보는 쪽, 열이 보이는 쪽이에요:",
        "pictures": "   {pictures}",
        "numbers": "   {numbers}",
        "hidden": "   패딩 위치의 열은 아무도 볼 수 없어요.",
        "seen": "   패딩을 보는 위치가 있어요. 보이는 쪽은 어느 축인가요?",
        "padding_only": "   패딩을 보는 것은 패딩뿐이에요. 거기서 나온 것은 아무도 읽지 않아요.",
        "blind": "   자신이나 앞의 토큰을 못 보는 위치가 있어요. 무엇을 가렸나요?",
        "ahead": "   자기보다 뒤에 오는 것을 보는 위치가 있어요.",
        "tokens": "ntokens: {ntokens}. tgt_y의 칸은 {cells}개예요.",
        "counted": "   tgt_y에서 패딩을 뺀 것만 예측으로 세요.",
        "miscounted": "   그런데 말해야 할 id 가운데 패딩이 아닌 것은 {wanted}개예요.",
        "alone": "번역문이 없으면 원문만 있어요: src {src}, src_mask {src_mask}",
        "behind": "make_std_mask (1 = 볼 수 있음), 4와 5가 패딩 (패딩의 행은 0으로 채웠어요)",
        "between": "패딩이 1과 3에 있어서 뒤에서 보일 수 있을 때",
        "down": "보는 위치",
        "across": "보이는 위치",
    },
}


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    batch = step.Batch(SOURCES, TARGETS, PAD)
    say("sources", shape=tuple(batch.src.shape), pad=PAD)
    seen = batch.src_mask.reshape(len(SOURCES), -1)
    for row, its_mask in zip(batch.src, seen, strict=True):
        say("source", ids=drawn(row), picture=marks(its_mask))
    say("source_mask", **described(batch.src_mask))
    wanted_mask = (SOURCES != PAD).unsqueeze(1)
    if not torch.equal(batch.src_mask != 0, wanted_mask):
        say("source_off", shape=tuple(wanted_mask.shape))

    shapes = {"whole": TARGETS, "tgt": batch.tgt, "tgt_y": batch.tgt_y}
    say("targets", **{name: tuple(tensor.shape) for name, tensor in shapes.items()})
    for read, said in zip(batch.tgt, batch.tgt_y, strict=True):
        say("reads", ids=drawn(read))
        say("says", ids=drawn(said))
    shifted = torch.equal(batch.tgt, TARGETS[:, :-1]) and torch.equal(batch.tgt_y, TARGETS[:, 1:])
    say("shifted" if shifted else "not_shifted")

    show_target_mask(batch, say)
    wanted = int((TARGETS[:, 1:] != PAD).sum())
    say("tokens", ntokens=int(batch.ntokens), cells=batch.tgt_y.numel())
    say("counted" if int(batch.ntokens) == wanted else "miscounted", wanted=wanted)

    alone = step.Batch(SOURCES, pad=PAD)
    say("alone", src=tuple(alone.src.shape), src_mask=tuple(alone.src_mask.shape))


def show_target_mask(batch: Any, say: Say) -> None:
    """Draw the mask of each sentence, with the ids that are looked at above its columns."""
    mask = batch.tgt_mask
    say("target_mask", **described(mask))
    say("numbers", numbers="      ".join(map(drawn, batch.tgt)))
    for rows in zip(*mask, strict=True):
        say("pictures", pictures="      ".join(map(marks, rows)))
    may_look = mask != 0
    # A padded position may look wherever it likes; nobody reads what comes out of it.
    real = (batch.tgt != PAD).unsqueeze(2)
    padding = (batch.tgt == PAD).unsqueeze(1)
    if (may_look & padding & real).any():
        say("seen")
    elif (may_look.triu(diagonal=1) & real).any():
        say("ahead")
    elif (~may_look & ~padding & real).tril().any():
        say("blind")
    else:
        say("padding_only" if (may_look & padding).any() else "hidden")


def described(mask: torch.Tensor) -> dict[str, object]:
    return {"shape": tuple(mask.shape), "dtype": str(mask.dtype).removeprefix("torch.")}


def drawn(row: torch.Tensor) -> str:
    return " ".join("_" if number == PAD else str(number) for number in row.tolist())


def marks(row: torch.Tensor) -> str:
    return " ".join("#" if seen else "." for seen in row.tolist())


def picture(step: ModuleType) -> dict[str, torch.Tensor]:
    """Return the masks of two sentences; nobody reads the rows of padding, so they are made 0."""
    sentences = torch.tensor([[0, 5, 8, 6, PAD, PAD], [0, PAD, 9, PAD, 4, 1]])
    # Some have it as a part of the class only.
    make_mask = getattr(step, "make_std_mask", None) or step.Batch.make_std_mask
    mask = make_mask(sentences, PAD) * (sentences != PAD).unsqueeze(2)
    return {"behind": mask[:1], "between": mask[1:]}


if __name__ == "__main__":
    run(__file__, TEXTS, show)
