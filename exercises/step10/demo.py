"""Demo of step 10: a parrot writes sentences of different lengths, then a model its first words."""

import argparse
from types import ModuleType

import torch
from torch import nn

from autograder.demo import Say, run
from transformer_ref import make_model

PAD, START, END = 0, 1, 2
SOURCES = torch.tensor(
    [
        [5, 3, 7, END, PAD, PAD],
        [8, 4, 6, 3, 9, END],
        [9, END, PAD, PAD, PAD, PAD],
    ]
)
VOCAB = 10

TEXTS = {
    "en": {
        "parrot": "a parrot for a model repeats the source; {start} starts a text, {end} ends it:",
        "row": "   {source}   ->   {target}",
        "stopped": "shape {shape}, {dtype}, of at most {max_len} tokens",
        "waits": "   A row that has ended waits. When all have ended, nobody is asked any more.",
        "one_row": "   But there were {rows} sentences.",
        "goes_on": "   The longest text has {longest} tokens. Does the end symbol stop anything?",
        "unfilled": "   After its end, a row should hold the end symbol only.",
        "misheard": "   It would be {start}, then the source up to {end}. What follows what?",
        "counts": "calls of encode: {encode}, of decode: {decode}",
        "masks": "what each position might see, when the text was {length} tokens long:",
        "mask_row": "   {picture}",
        "masks_off": "   Should each position not see itself and what came before it, and no more?",
        "no_masks": "(decode got no mask that can be drawn.)",
        "no_gradients": "no gradients were recorded",
        "gradients": "gradients were recorded, which costs time and memory and serves nobody",
        "endless": "without an end symbol: {shape}",
        "short": "with max_len 1: {shape}",
        "lengths_off": "   Are {max_len} and 1 not the lengths with the start symbol?",
        "random": "a model that has learnt nothing yet, with all {rows} sentences at once:",
        "alone": "   one by one, it writes the same in {same} of {rows} cases",
        "alone_off": "   It should in all. Does a row hear of the others, or of chance?",
    },
    "ko": {
        "parrot": "모델 대신 앵무새가 원문을 따라 말해요. {start}은 글의 시작, {end}는 끝이에요:",
        "row": "   {source}   ->   {target}",
        "stopped": "모양 {shape}, {dtype}, 토큰은 많아야 {max_len}개",
        "waits": "   끝난 행은 기다려요. 모두 끝나면 더 묻지 않아요.",
        "one_row": "   그런데 문장은 {rows}개였어요.",
        "goes_on": "   가장 긴 글의 토큰은 {longest}개예요. 끝 기호에서 멈추는 것이 있나요?",
        "unfilled": "   행이 끝난 뒤의 자리에는 끝 기호만 있어야 해요.",
        "misheard": "   {start} 다음에 원문이 {end}까지 와야 해요. 무엇 다음에 무엇을 붙이나요?",
        "counts": "부른 횟수: encode {encode}, decode {decode}",
        "masks": "글이 토큰 {length}개였을 때, 위치마다 볼 수 있던 것:",
        "mask_row": "   {picture}",
        "masks_off": "   위치마다 자신과 그 앞만 봐야 하지 않을까요?",
        "no_masks": "(decode가 받은 것 가운데 그릴 수 있는 마스크가 없어요.)",
        "no_gradients": "기울기는 기록하지 않았어요.",
        "gradients": "기울기를 기록했어요. 아무도 쓰지 않는데 시간과 메모리만 들어요.",
        "endless": "끝 기호가 없으면: {shape}",
        "short": "max_len이 1이면: {shape}",
        "lengths_off": "   시작 기호까지 세어 길이가 {max_len}, 1이어야 하지 않을까요?",
        "random": "아직 아무것도 배우지 않은 모델에 문장 {rows}개를 한꺼번에 넣으면:",
        "alone": "   하나씩 넣어도 똑같이 쓰는 문장: {same}개 (전체 {rows}개)",
        "alone_off": "   모두 같아야 해요. 다른 행이나 우연이 끼어드나요?",
    },
}

SIZES = {"max_len": 12}


class Parrot(nn.Module):
    """Says the source again, word by word, and remembers how it was asked.

    Its features are the probabilities themselves, as if d_model were the size of the vocabulary.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.encoded = 0
        self.masks: list[torch.Tensor | None] = []
        self.recorded = False

    def encode(self, src: torch.Tensor, src_mask: torch.Tensor | None) -> torch.Tensor:
        self.encoded += 1
        return nn.functional.one_hot(src, VOCAB) * self.weight

    def decode(
        self,
        memory: torch.Tensor,
        src_mask: torch.Tensor | None,
        tgt: torch.Tensor,
        tgt_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        self.masks.append(tgt_mask)
        self.recorded |= torch.is_grad_enabled()
        # Behind the last word of the source it says the first again, and never runs dry.
        return memory[:, torch.arange(tgt.size(1)) % memory.size(1)]

    def generator(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(x + 1e-9)


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    max_len = options.max_len
    parrot = Parrot().eval()
    say("parrot", start=START, end=END)
    src_mask = (SOURCES != PAD).unsqueeze(1)
    ys = step.greedy_decode(parrot, SOURCES, src_mask, max_len, START, END)
    for source, target in zip(SOURCES, ys, strict=False):
        say("row", source=ids(source), target=ids(target))
    say("stopped", shape=tuple(ys.shape), dtype=name_of(ys.dtype), max_len=max_len)
    judge(ys, max_len, say)

    say("counts", encode=parrot.encoded, decode=len(parrot.masks))
    show_last_mask(parrot, say)
    say("gradients" if parrot.recorded else "no_gradients")

    endless = step.greedy_decode(Parrot().eval(), SOURCES, src_mask, max_len, START)
    say("endless", shape=tuple(endless.shape))
    short = step.greedy_decode(Parrot().eval(), SOURCES, src_mask, 1, START, END)
    say("short", shape=tuple(short.shape))
    if (endless.size(1), short.size(1)) != (max_len, 1):
        say("lengths_off", max_len=max_len)
    show_a_model(step, say, max_len)


def judge(ys: torch.Tensor, max_len: int, say: Say) -> None:
    """Say whether all rows are there, wait when they have ended, end together, and are right."""
    if len(ys) != len(SOURCES):
        say("one_row", rows=len(SOURCES))
        return
    # The start symbol comes first, then the source up to its end.
    lengths = 1 + (SOURCES == END).int().argmax(dim=-1) + 1
    longest = min(int(lengths.max()), max_len)
    after = torch.arange(ys.size(1)) >= lengths.unsqueeze(1)
    if ys.size(1) > longest:
        say("goes_on", longest=longest)
    elif (ys[after] != END).any():
        say("unfilled")
    elif ys.tolist() != repeated()[:, :longest].tolist():
        say("misheard", start=START, end=END)
    else:
        say("waits")


def repeated() -> torch.Tensor:
    """Return what the parrot says when it is asked as it should be."""
    start = torch.full((len(SOURCES), 1), START)
    return torch.cat([start, SOURCES.masked_fill(SOURCES == PAD, END)], dim=1)


def show_last_mask(parrot: Parrot, say: Say) -> None:
    mask = parrot.masks[-1] if parrot.masks else None
    if mask is None or mask.size(-1) != mask.size(-2):
        say("no_masks")
        return
    length = mask.size(-1)
    say("masks", length=length)
    rows = mask.reshape(-1, length)[:length]
    for row in rows:
        say("mask_row", picture=" ".join("#" if seen else "." for seen in row.tolist()))
    if not torch.equal(rows != 0, torch.ones(length, length).tril() == 1):
        say("masks_off")


def show_a_model(step: ModuleType, say: Say, max_len: int) -> None:
    """Let a small model with random weights write, a batch at once and one by one."""
    model = make_model(VOCAB, VOCAB, N=2, d_model=24, d_ff=40, h=3).eval()
    src_mask = (SOURCES != PAD).unsqueeze(1)
    together = step.greedy_decode(model, SOURCES, src_mask, max_len, START)
    say("random", rows=len(SOURCES))
    for source, target in zip(SOURCES, together, strict=False):
        say("row", source=ids(source), target=ids(target))
    same = 0
    for row in range(len(together)):
        one, its_mask = SOURCES[row : row + 1], src_mask[row : row + 1]
        alone = step.greedy_decode(model, one, its_mask, max_len, START)
        same += torch.equal(alone[0], together[row])
    say("alone", same=same, rows=len(SOURCES))
    if same != len(SOURCES):
        say("alone_off")


def ids(row: torch.Tensor) -> str:
    return " ".join(str(number) for number in row.tolist())


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
