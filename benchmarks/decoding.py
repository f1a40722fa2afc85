"""How fast the reference decodes, against the plain solution: `python -m benchmarks.decoding`.

All ways decode the same sentences with the same random weights, and to the same length: a model
that has learnt nothing does not know when to end. Only the ratios mean something elsewhere.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from benchmarks.memory import memory_of, peak_memory
from benchmarks.models import END, PAD, SIZES, START, VOCAB, reference
from benchmarks.plain import plain

BEAM = 4
REPEATS = 3  # of what decodes all sentences at once

Sentences = list[Tensor]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--length", type=int, default=25, help="of a target, start symbol counted")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--memory-of", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    size, sentences = SIZES[options.size], _sentences(options.sentences)
    if options.memory_of:
        way = WAYS[options.memory_of]
        if not way.at_once:  # The longest one needs most, and takes least time.
            sentences = [max(sentences, key=Tensor.numel)]
        way.decode(way.of(), _model(way.of(), size), sentences, options.length)
        print(peak_memory())
        return
    words = sum(src.size(1) for src in sentences) / len(sentences)
    print(
        f"{len(sentences)} sentences of {words:.1f} ids on average (drawn: mean 14, deviation 4), "
        f"targets of {options.length}\nsize {options.size}, float32, {options.threads} threads\n"
    )
    seconds = _measure(size, sentences, options.length)
    print(f"{'':38}{'seconds':>9}{'times as fast':>15}{'peak MiB':>10}")
    for name, way in WAYS.items():
        faster = seconds["plain"] / seconds[name]
        memory = memory_of("benchmarks.decoding", name)
        print(f"{way.title:38}{seconds[name]:9.2f}{faster:15.2f}{memory:10.0f}")


def _one_by_one(of: ModuleType, model: nn.Module, sentences: Sentences, length: int) -> None:
    for src in sentences:
        of.greedy_decode(model, src, _mask(src), length, START, END)


def _batched(of: ModuleType, model: nn.Module, sentences: Sentences, length: int) -> None:
    rows = [src[0] for src in sentences]
    src = pad_sequence(rows, batch_first=True, padding_value=PAD)
    of.greedy_decode(model, src, _mask(src), length, START, END)


def _beam(of: ModuleType, model: nn.Module, sentences: Sentences, length: int) -> None:
    for src in sentences:
        of.beam_search(model, src, _mask(src), length, START, END, BEAM)


def _mask(src: Tensor) -> Tensor:
    return (src != PAD).unsqueeze(-2)


@dataclass(frozen=True)
class Way:
    """A way of decoding: whose code, and how many sentences at a time."""

    title: str
    of: Callable[[], ModuleType]
    decode: Callable[[ModuleType, nn.Module, Sentences, int], None]
    at_once: bool = False


WAYS = {
    "plain": Way("plain greedy, one by one", plain, _one_by_one),
    "plain_batch": Way("plain greedy, all in one batch", plain, _batched, at_once=True),
    "single": Way("reference greedy, one by one", reference, _one_by_one),
    "batch": Way("reference greedy, all in one batch", reference, _batched, at_once=True),
    "beam": Way(f"reference beam {BEAM}, one by one", reference, _beam),
}


def _model(of: ModuleType, size: dict[str, Any]) -> nn.Module:
    """A model, the same whoever's code it is, that never ends a target."""
    torch.manual_seed(0)
    model: nn.Module = of.make_model(*VOCAB, **size).eval()
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
    model.generator.proj.bias.data[END] = -1e4
    return model


def _sentences(number: int) -> Sentences:
    """Rows (1, S) of drawn ids, about as long as Multi30k's German sentences with markers."""
    draw = torch.Generator().manual_seed(0)
    lengths = torch.normal(14.0, 4.0, (number,), generator=draw).round().clamp(5, 40).int()
    return [torch.randint(4, VOCAB[0], (1, n), generator=draw) for n in lengths.tolist()]


def _measure(size: dict[str, Any], sentences: Sentences, length: int) -> dict[str, float]:
    """Seconds that each way takes, in turns, so that a busy machine slows all of them down."""
    models = {of: _model(of(), size) for of in (plain, reference)}

    def timed(way: Way, sentences: Sentences) -> float:
        start = time.perf_counter()
        way.decode(way.of(), models[way.of], sentences, length)
        return time.perf_counter() - start

    seconds: dict[str, float] = defaultdict(float)
    rounds: dict[str, list[float]] = defaultdict(list)
    for way in WAYS.values():
        timed(way, sentences[:1])
    at = {round(len(sentences) * (i + 0.5) / REPEATS) for i in range(REPEATS)}
    for i, src in enumerate(sentences):
        for name, way in WAYS.items():
            if not way.at_once:
                seconds[name] += timed(way, [src])
            elif i in at:
                rounds[name].append(timed(way, sentences))
    return seconds | {name: statistics.median(values) for name, values in rounds.items()}


if __name__ == "__main__":
    main()
