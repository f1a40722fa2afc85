"""Demo of step 13: what the loss wants, read off its gradient; and what it thinks of certainty."""

import argparse
from collections.abc import Callable
from types import ModuleType

import torch
from torch import nn
from torch.nn import functional as F

from autograder.demo import Say, run

PAD = 0
SMOOTHINGS = (0.0, 0.1, 0.4)
SURE = (0.2, 0.5, 0.6, 0.8, 0.9, 0.99, 0.999)

TEXTS = {
    "en": {
        "wanted": "smoothing {smoothing}: what is wanted of {size} words; {pad} is padding:",
        "row": "   target {target}   {numbers}   sum {total:.3f}",
        "why": "   Read off the gradient: by so much the loss falls where a log-probability rises.",
        "shared_off": "   Should the target not get {sure:.3f}, and each other word {share:.3f}?",
        "sums": "   A row should sum to 1, or to 0 where the target is padding.",
        "padding": "   The padding should get nothing.",
        "certain": "what the loss adds when a model gives the target some other probability:",
        "titles": "   probability   smoothing {first}      {second}      {third}",
        "sure": "   {probability:<13} {first:>13.3f} {second:>8.3f} {third:>8.3f}",
        "certain_why": "   With smoothing, there is such a thing as too sure.",
        "certain_off": "   With smoothing it would rise again for who is too sure. Is there any?",
        "scalar": "what comes back for {rows} rows: shape {shape}",
        "summed": "   twice the rows give {ratio:.3f} times the loss: it is a sum",
        "mean": "   twice the rows give {ratio:.3f} times the loss: a sum would be 2.000",
        "only_padding": "a batch of padding only: loss {loss:.3f}, largest gradient {gradient:.3f}",
        "rows_off": "   Should a row of padding not add 0? Is a whole row emptied, or a column?",
        "without": "with {rows} rows of padding besides, the loss differs by {difference:.3f}",
        "cross_entropy": (
            "smoothing 0.0 against torch's cross-entropy: gradients differ by {difference:.3f}"
        ),
        "cross_off": "   Without smoothing they should agree. Where is the difference?",
        "little": "what is wanted with smoothing 0.1",
        "much": "what is wanted with smoothing 0.4",
        "down": "row; targets 2, 1, 0, 4",
        "across": "word; 0 is padding",
    },
    "ko": {
        "wanted": "smoothing {smoothing}: 단어 {size}개에 바라는 확률 (패딩은 단어 {pad}):",
        "row": "   정답 {target}   {numbers}   합 {total:.3f}",
        "why": "   기울기에서 읽었어요. 로그 확률이 커질 때 손실이 줄어드는 만큼이에요.",
        "shared_off": "   정답은 {sure:.3f}, 다른 단어는 저마다 {share:.3f}이어야 하지 않을까요?",
        "sums": "   행의 합은 1이어야 하고, 정답이 패딩이면 0이어야 해요.",
        "padding": "   패딩에는 아무것도 주지 않아야 해요.",
        "certain": "모델이 정답에 다른 확률을 주면 늘어나는 손실:",
        "titles": "   확률          smoothing {first}      {second}      {third}",
        "sure": "   {probability:<13} {first:>13.3f} {second:>8.3f} {third:>8.3f}",
        "certain_why": "   스무딩을 하면 지나친 확신도 손실이 돼요.",
        "certain_off": "   스무딩을 하면 지나친 확신에서 다시 커져야 해요. 스무딩을 하나요?",
        "scalar": "행 {rows}개의 결과: 모양 {shape}",
        "summed": "   행이 두 배면 손실은 {ratio:.3f}배예요. 곧 합이에요.",
        "mean": "   행이 두 배인데 손실은 {ratio:.3f}배예요. 합이라면 2.000배예요.",
        "only_padding": "패딩만 있는 배치: 손실 {loss:.3f}, 가장 큰 기울기 {gradient:.3f}",
        "rows_off": "   패딩 행은 0이어야 하지 않을까요? 행 전체를 비우나요, 한 열만 비우나요?",
        "without": "패딩 {rows}행을 덧붙일 때 손실의 차이: {difference:.3f}",
        "cross_entropy": ("smoothing 0.0과 torch의 교차 엔트로피, 기울기의 차이: {difference:.3f}"),
        "cross_off": "   스무딩이 없으면 같아야 해요. 어디가 다른가요?",
        "little": "smoothing 0.1일 때 바라는 확률",
        "much": "smoothing 0.4일 때 바라는 확률",
        "down": "행 (정답 2, 1, 0, 4)",
        "across": "단어 (0은 패딩)",
    },
}

SIZES = {"size": 5}

Criterion = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    size = options.size
    for smoothing in SMOOTHINGS[1:]:
        show_wanted(step.LabelSmoothing(size, PAD, smoothing), say, size, smoothing)
    show_certainty(step, say, size)
    show_padding(step.LabelSmoothing(size, PAD, SMOOTHINGS[1]), say, size)

    target = torch.arange(1, size)
    x = log_probs(len(target), size)
    own = gradient(step.LabelSmoothing(size, PAD, 0.0), x, target)
    torchs = gradient(nn.NLLLoss(reduction="sum"), x, target)
    say("cross_entropy", difference=largest(own - torchs))
    if not torch.allclose(own, torchs, atol=1e-4):
        say("cross_off")


def show_wanted(criterion: nn.Module, say: Say, size: int, smoothing: float) -> None:
    target = torch.tensor([2, 1, PAD, size - 1])
    wanted = -gradient(criterion, log_probs(len(target), size), target) + 0.0
    say("wanted", smoothing=smoothing, size=size, pad=PAD)
    for word, row in zip(target.tolist(), wanted.tolist(), strict=True):
        say("row", target=word, numbers=" ".join(f"{n:.3f}" for n in row), total=sum(row))
    sums = (target != PAD).float()
    if not torch.allclose(wanted.sum(dim=-1), sums, atol=1e-4):
        say("sums")
    elif largest(wanted[:, PAD]) > 1e-4:
        say("padding")
    elif not torch.allclose(wanted, shared(target, size, smoothing), atol=1e-4):
        say("shared_off", sure=1 - smoothing, share=smoothing / max(size - 2, 1))
    else:
        say("why")


def shared(target: torch.Tensor, size: int, smoothing: float) -> torch.Tensor:
    """Return (N, size): what the formula wants of each word."""
    rows = torch.full((len(target), size), smoothing / max(size - 2, 1))
    rows.scatter_(1, target.unsqueeze(1), 1 - smoothing)
    rows[:, PAD] = 0.0
    return rows * (target != PAD).unsqueeze(1)


def show_certainty(step: ModuleType, say: Say, size: int) -> None:
    """Let a model be surer and surer of the target, and its other words but the padding alike."""
    target = torch.tensor([1])
    columns = []
    for smoothing in SMOOTHINGS:
        criterion = step.LabelSmoothing(size, PAD, smoothing)
        # The best there is: to be as sure as is wanted. (A float has no logarithm of 0.)
        best = criterion(certain(size, min(1 - smoothing, 1 - 1e-6)), target).item()
        losses = (criterion(certain(size, sure), target).item() for sure in SURE)
        columns.append([loss - best for loss in losses])
    say("certain")
    say("titles", **named(SMOOTHINGS))
    for probability, *losses in zip(SURE, *columns, strict=True):
        say("sure", probability=probability, **named(losses))
    rising = (column[-1] > min(column) + 1e-4 for column in columns[1:])
    say("certain_why" if all(rising) else "certain_off")


def certain(size: int, probability: float) -> torch.Tensor:
    """Return the log-probabilities of a model that is so sure of word 1, and never says padding."""
    others = (1 - probability - 1e-9) / (size - 2)
    probabilities = torch.full((1, size), others)
    probabilities[0, PAD] = 1e-9
    probabilities[0, 1] = probability
    return probabilities.log()


def show_padding(criterion: nn.Module, say: Say, size: int) -> None:
    target = torch.arange(1, size)
    x = log_probs(len(target), size)
    loss = criterion(x, target)
    say("scalar", rows=len(target), shape=tuple(loss.shape))
    ratio = (criterion(torch.cat([x, x]), torch.cat([target, target])) / loss).item()
    say("summed" if abs(ratio - 2) < 1e-3 else "mean", ratio=ratio)

    padding = torch.full((3,), PAD)
    more = log_probs(len(padding), size)
    both = criterion(torch.cat([x, more]), torch.cat([target, padding]))
    difference = abs((both - loss).item())
    say("without", rows=len(padding), difference=difference)
    alone, steepest = criterion(more, padding).item(), largest(gradient(criterion, more, padding))
    say("only_padding", loss=alone, gradient=steepest)
    if not max(difference, abs(alone), steepest) < 1e-3:
        say("rows_off")


def gradient(criterion: Criterion, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    criterion(x, target).sum().backward()
    return torch.zeros_like(x) if x.grad is None else x.grad


def log_probs(rows: int, size: int) -> torch.Tensor:
    return F.log_softmax(torch.randn(rows, size), dim=-1)


def largest(tensor: torch.Tensor) -> float:
    return tensor.abs().max().item()


def named(values: object) -> dict[str, float]:
    return dict(zip(("first", "second", "third"), values, strict=True))


def picture(step: ModuleType) -> dict[str, torch.Tensor]:
    """Return the distributions that are wanted, a row for each target."""
    target = torch.tensor([2, 1, PAD, 4])
    return {
        "little": wanted(step.LabelSmoothing(5, PAD, 0.1), target, 5),
        "much": wanted(step.LabelSmoothing(5, PAD, 0.4), target, 5),
    }


def wanted(criterion: nn.Module, target: torch.Tensor, size: int) -> torch.Tensor:
    """Return (N, size): the distributions, also of a loss that normalizes what it gets once more.

    Where a word has no probability, the loss falls with its logit by what is wanted of it. So each
    column is read while the model is sure of another word.
    """

    def loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return criterion(F.log_softmax(logits, dim=-1), target)

    read = []
    for word in (0, 1):
        sure = torch.zeros(len(target), size)
        sure[:, word] = 30.0
        read.append(-gradient(loss, sure, target) + 0.0)
    return torch.cat([read[1][:, :1], read[0][:, 1:]], dim=-1)


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
