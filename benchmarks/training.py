"""How fast the reference trains, against the plain solution: `python -m benchmarks.training`.

All ways train on the sentence lengths of Multi30k, with drawn ids: a training step takes as long
whatever the words are. What is counted are real tokens, of both sides; padding is not.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from autograder.workshop.corpus import read_pairs
from benchmarks.memory import memory_of, peak_memory
from benchmarks.models import END, PAD, SIZES, START, VOCAB, reference
from benchmarks.plain import plain
from transformer_ref import batches_by_length

ROWS, PADDED = 32, 72  # The Annotated Transformer's, a device
POSITIONS = ROWS * PADDED  # what all ways may hold at a time

Lengths = list[tuple[int, int]]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("MULTI30K_DIR"))
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--memory-of", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lengths = _lengths(options.data_dir) if options.data_dir else _drawn_lengths()
    size = SIZES[options.size]
    if options.memory_of:
        print(_memory_needed(WAYS[options.memory_of], lengths, size))
        return
    whence = "Multi30k's" if options.data_dir else "drawn (mean 13, deviation 4), for want of data,"
    print(f"size {options.size}, {options.threads} threads; {len(lengths)} pairs, lengths {whence}")
    print(f"at most {POSITIONS} positions of a side a step, padding among them\n")
    _print(*_measure(lengths, size, options.seconds))


@dataclass(frozen=True)
class Way:
    """A way of training: whose code, on which batches, and in which precision."""

    title: str
    of: Callable[[], ModuleType]
    tight: bool
    precision: Callable[[], AbstractContextManager[object]] = nullcontext


def _autocast() -> AbstractContextManager[object]:
    return torch.autocast("cpu", dtype=torch.bfloat16)


WAYS = {
    "padded": Way(f"plain, padded to {PADDED}", plain, tight=False),
    "tight": Way("plain, batches by length", plain, tight=True),
    "reference": Way("reference, batches by length", reference, tight=True),
    "bfloat16": Way("reference, bfloat16 autocast", reference, tight=True, precision=_autocast),
}


def _has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 numbers itself (Linux)."""
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and bool({"avx512_bf16", "amx_bf16"} & set(cpu.read_text().split()))


class Trainer:
    """A model of someone's code, and all that it is trained with."""

    def __init__(self, of: ModuleType, size: dict[str, Any]) -> None:
        torch.manual_seed(0)
        self.of = of
        self.model = of.make_model(*VOCAB, **size)
        self.optimizer, self.scheduler = of.make_optimizer(self.model, size["d_model"])
        criterion = of.LabelSmoothing(VOCAB[1], PAD, smoothing=0.1)
        self.loss_compute = of.SimpleLossCompute(self.model.generator, criterion)

    def step(self, src: Tensor, tgt: Tensor) -> float:
        """Make an update, and return the seconds that it took."""
        start = time.perf_counter()
        batch = self.of.Batch(src, tgt, PAD)
        self.of.run_epoch([batch], self.model, self.loss_compute, self.optimizer, self.scheduler)
        return time.perf_counter() - start


def _measure(
    lengths: Lengths, size: dict[str, Any], seconds: float
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Tokens and steps a second of each way, in turns, so that a busy machine slows all down."""
    names = [name for name in WAYS if name != "bfloat16" or _has_bfloat16()]
    trainers = {of: Trainer(of(), size) for of in {WAYS[name].of for name in names}}
    streams = {True: _batches(lengths, tight=True), False: _batches(lengths, tight=False)}
    tokens: dict[str, list[float]] = defaultdict(list)
    steps: dict[str, list[float]] = defaultdict(list)
    end, warm = time.monotonic() + seconds, False
    while time.monotonic() < end or len(steps["padded"]) < 3:
        pairs = {tight: next(stream) for tight, stream in streams.items()}
        for name in names:
            way, (src, tgt) = WAYS[name], pairs[WAYS[name].tight]
            with way.precision():
                took = trainers[way.of].step(src, tgt)
            if warm:
                tokens[name].append(float((src != PAD).sum() + (tgt[:, 1:] != PAD).sum()) / took)
                steps[name].append(1 / took)
        warm = True
    return tokens, steps


def _batches(lengths: Lengths, tight: bool) -> Iterator[tuple[Tensor, Tensor]]:
    """Source and target ids, without end: by length, or rows as they come, padded to the same."""
    draw = torch.Generator().manual_seed(1)
    while True:
        if tight:
            groups = batches_by_length([max(pair) for pair in lengths], POSITIONS, generator=draw)
        else:
            order = torch.randperm(len(lengths), generator=draw)
            groups = [rows.tolist() for rows in order.split(ROWS)]
        for group in groups:
            sources, targets = zip(*(lengths[i] for i in group), strict=True)
            longest = (max(sources), max(targets)) if tight else (PADDED, PADDED)
            yield _ids(sources, longest[0], VOCAB[0]), _ids(targets, longest[1], VOCAB[1])


def _ids(lengths: tuple[int, ...], width: int, vocab: int) -> Tensor:
    """Rows (B, width) of drawn ids between the markers, and padding."""
    column, ends = torch.arange(width), torch.tensor(lengths).clamp(max=width).unsqueeze(1)
    ids = torch.randint(PAD + 1, vocab, (len(lengths), width))
    ids[:, 0] = START
    return ids.masked_fill(column == ends - 1, END).masked_fill(column >= ends, PAD)


def _lengths(folder: Path) -> Lengths:
    """Lengths of Multi30k's training pairs in words and marks, the two markers counted."""
    pairs = read_pairs(*(Path(folder) / f"train.{language}.gz" for language in ("de", "en")))
    return [(_length(source), _length(target)) for source, target in pairs]


def _length(text: str) -> int:
    return 2 + len(re.findall(r"\w+|[^\w\s]", text))


def _drawn_lengths(number: int = 20_000) -> Lengths:
    """The like of them where there is no data: the sides of a pair are about equally long."""
    draw = random.Random(0)
    sources = [max(3, round(draw.gauss(13, 4))) for _ in range(number)]
    return [(n + 2, max(3, n + round(draw.gauss(0, 2))) + 2) for n in sources]


def _print(tokens: dict[str, list[float]], steps: dict[str, list[float]]) -> None:
    print(f"{'':32}{'tokens/s':>9}{'steps/s':>9}{'reference is':>14}{'peak MiB':>10}")
    for name, rates in tokens.items():
        pairs = zip(tokens["reference"], rates, strict=True)
        times = statistics.median(ours / theirs for ours, theirs in pairs)
        memory = memory_of("benchmarks.training", name)
        print(
            f"{WAYS[name].title:32}{statistics.median(rates):9.0f}"
            f"{statistics.median(steps[name]):9.2f}{times:8.2f} times{memory:10.0f}"
        )
    print(f"\nmedians of {len(tokens['reference'])} rounds, one step of each way in turn")


def _memory_needed(way: Way, lengths: Lengths, size: dict[str, Any]) -> float:
    trainer, stream = Trainer(way.of(), size), _batches(lengths, way.tight)
    with way.precision():
        for _ in range(3):
            trainer.step(*next(stream))
    return peak_memory()


if __name__ == "__main__":
    main()
