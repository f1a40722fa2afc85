"""How fast the reference decodes, against the plain solution: `python -m benchmarks.decoding`.

All ways decode the same sentences with the same random weights, and to the same length: a model
that has learnt nothing does not know when to end. Only the ratios mean something elsewhere.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

import transformer_ref
from benchmarks.plain import plain

SIZES = {
    "base": {"N": 6, "d_model": 512, "d_ff": 2048, "h": 8},
    "small": {"N": 3, "d_model": 256, "d_ff": 512, "h": 8},
}
VOCAB = 8316, 6384  # Multi30k's
START, END, PAD = 0, 1, 2
BEAM = 4
REPEATS = 3


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
    models, sentences = _models(SIZES[options.size]), _sentences(options.sentences)
    if options.memory_of:
        WAYS[options.memory_of](*models, sentences, options.length)
        print(_peak_memory())
        return
    seconds = _measure(models, sentences, options.length)
    positions = sum(src.size(1) for src in sentences)
    print(
        f"{len(sentences)} sentences of {positions / len(sentences):.1f} positions, targets of "
        f"{options.length}; size {options.size}, float32, {options.threads} threads\n"
    )
    print(f"{'':38}{'seconds':>9}{'times as fast':>15}{'peak MiB':>10}")
    for name, way in WAYS.items():
        faster = seconds["plain"] / seconds[name]
        print(f"{way.__doc__:38}{seconds[name]:9.2f}{faster:15.2f}{_memory_of(name):10.0f}")


def _plain(reference: Any, solution: Any, sentences: list[Tensor], length: int) -> None:
    """plain greedy, one by one, no cache"""
    for src in sentences:
        plain().greedy_decode(solution, src, _mask(src), length, START, END)


def _batched(reference: Any, solution: Any, sentences: list[Tensor], length: int) -> None:
    """reference greedy, one batch"""
    rows = [src[0] for src in sentences]
    src = pad_sequence(rows, batch_first=True, padding_value=PAD)
    transformer_ref.greedy_decode(reference, src, _mask(src), length, START, END)


def _single(reference: Any, solution: Any, sentences: list[Tensor], length: int) -> None:
    """reference greedy, one by one"""
    for src in sentences:
        transformer_ref.greedy_decode(reference, src, _mask(src), length, START, END)


def _beam(reference: Any, solution: Any, sentences: list[Tensor], length: int) -> None:
    """reference beam 4, one by one"""
    for src in sentences:
        transformer_ref.beam_search(reference, src, _mask(src), length, START, END, BEAM)


Way = Callable[[Any, Any, list[Tensor], int], None]
WAYS: dict[str, Way] = {"plain": _plain, "batched": _batched, "single": _single, "beam": _beam}


def _models(size: dict[str, int]) -> tuple[Any, Any]:
    """The reference and the solution with the same weights, neither of which ever ends a target."""
    torch.manual_seed(0)
    models = transformer_ref.make_model(*VOCAB, **size), plain().make_model(*VOCAB, **size)
    models[0].generator.proj.bias.data[END] = -1e4
    for model in models:
        model.eval().load_state_dict(models[0].state_dict())
    return models


def _sentences(number: int) -> list[Tensor]:
    """Rows (1, S) of random words, about as long as Multi30k's German sentences with markers."""
    draw = torch.Generator().manual_seed(0)
    lengths = torch.normal(14.0, 4.0, (number,), generator=draw).round().clamp(5, 40).int()
    return [torch.randint(4, VOCAB[0], (1, n), generator=draw) for n in lengths.tolist()]


def _mask(src: Tensor) -> Tensor:
    return (src != PAD).unsqueeze(-2)


def _measure(models: tuple[Any, Any], sentences: list[Tensor], length: int) -> dict[str, float]:
    """Seconds that each way takes, in turns, so that a busy machine slows all of them down."""
    for way in WAYS.values():
        way(*models, sentences[:1], length)
    seconds: dict[str, float] = defaultdict(float)
    for src in sentences:
        for name in ("plain", "single", "beam"):
            seconds[name] += _timed(WAYS[name], models, [src], length)
    seconds["batched"] = statistics.median(
        _timed(_batched, models, sentences, length) for _ in range(REPEATS)
    )
    return seconds


def _timed(way: Way, models: tuple[Any, Any], sentences: list[Tensor], length: int) -> float:
    start = time.perf_counter()
    way(*models, sentences, length)
    return time.perf_counter() - start


def _memory_of(name: str) -> float:
    """What a process of its own needs at most to decode this way, in MiB."""
    command = [sys.executable, "-m", "benchmarks.decoding", *sys.argv[1:], "--memory-of", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _peak_memory() -> float:
    """The largest resident size of this process so far, in MiB (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
