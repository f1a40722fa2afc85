"""Demo of step 18: a tiny model learns some captions, translates two, and shows where it looked."""

import argparse
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import torch
from torch import nn

from autograder.demo import Say, captions, run, words
from transformer_ref import (
    Batch,
    LabelSmoothing,
    SimpleLossCompute,
    Vocabulary,
    build_vocabulary,
    collate_batch,
    make_model,
    make_optimizer,
    run_epoch,
    subsequent_mask,
)

# The first is in the corpus. Of the second only the words are.
SENTENCES = (
    "Ein Mann in einem blauen Hemd steht auf der Straße.",
    "Ein brauner Hund schläft vor dem Haus.",
)
SHADES = " .:-=+*#%@"
D_MODEL = 64

TEXTS = {
    "en": {
        "before": "before training, {sentence!r} becomes\n   {translation!r}",
        "trained": "{updates} updates on {pairs} pairs of captions: loss per token {loss:.2f}",
        "seen": "{sentence} (it was in the corpus)",
        "new": "{sentence} (it was not)",
        "beam": "   beam {beam}: {translation}",
        "hypotheses": "the hypotheses of beam {beam}, best first:",
        "hypothesis": "   {score:>6.2f}  {words}",
        "hypotheses_off": "   Is the best of them first, and is each of them another?",
        "shapes": "attention maps (layers, heads, queries, keys):",
        "shape": "   {name:<13} {shape}",
        "map": "where the translation looked in the source (last layer, mean of its heads):",
        "row": "   {word:>{width}} |{cells}|",
        "keys": "   {word:>{width}}  {cells}",
        "sums": "each row of a map sums to 1: from {low:.3f} to {high:.3f}",
        "sums_off": "the rows of the maps sum to {low:.3f} up to {high:.3f}. Why not to 1?",
        "plotted": "The maps are drawn in {path}.",
        "no_plot": "(A picture needs matplotlib: pip install 'transformer-by-building[plots]')",
    },
    "ko": {
        "before": "학습하기 전에는 {sentence!r}의 번역이\n   {translation!r}",
        "trained": "{updates}번 갱신, 캡션 {pairs}쌍: 토큰당 손실 {loss:.2f}",
        "seen": "{sentence} (말뭉치에 있던 문장)",
        "new": "{sentence} (없던 문장)",
        "beam": "   빔 {beam}: {translation}",
        "hypotheses": "빔 {beam}의 가설을 좋은 것부터:",
        "hypothesis": "   {score:>6.2f}  {words}",
        "hypotheses_off": "   가장 좋은 것이 먼저인가요? 서로 다른 가설인가요?",
        "shapes": "어텐션 지도 (층, 헤드, query, key):",
        "shape": "   {name:<13} {shape}",
        "map": "번역문이 원문의 어디를 보았는지(마지막 층, 헤드들의 평균):",
        "row": "   {word:>{width}} |{cells}|",
        "keys": "   {word:>{width}}  {cells}",
        "sums": "지도의 행마다 더하면 1이에요: {low:.3f}부터 {high:.3f}까지",
        "sums_off": "지도의 행을 더하면 {low:.3f}부터 {high:.3f}까지예요. 왜 1이 아닐까요?",
        "plotted": "지도를 {path}에 그렸어요.",
        "no_plot": "(그림에는 matplotlib이 필요해요: pip install 'transformer-by-building[plots]')",
    },
}

SIZES = {"updates": 200, "beam": 4, "plot": None}


class Translator(NamedTuple):
    """A model and the two dictionaries it was built for."""

    model: nn.Module
    src_vocab: Vocabulary
    tgt_vocab: Vocabulary


def show(step: ModuleType, say: Say, options: argparse.Namespace) -> None:
    pairs = captions()
    torch.manual_seed(0)
    src_vocab, tgt_vocab = (build_vocabulary(map(words, side)) for side in zip(*pairs, strict=True))
    sizes = {"N": 2, "d_model": D_MODEL, "d_ff": 128, "h": 4}
    model = make_model(len(src_vocab), len(tgt_vocab), **sizes)
    translator = Translator(model, src_vocab, tgt_vocab)

    # First of all, so that unfinished code is told before anybody waits.
    translation = step.translate(model, SENTENCES[0], words, src_vocab, tgt_vocab, max_len=12)
    say("before", sentence=SENTENCES[0], translation=translation)

    loss = train(translator, pairs, options.updates)
    say("trained", updates=options.updates, pairs=len(pairs), loss=loss)
    for sentence in SENTENCES:
        seen = any(sentence == source for source, _ in pairs)
        say("seen" if seen else "new", sentence=sentence)
        for beam in (1, options.beam):
            translation = step.translate(*in_order(translator, sentence), beam=beam)
            say("beam", beam=beam, translation=translation)

    model.eval()
    show_search(step, say, translator, options)
    show_maps(step, say, translator, options.plot)


def in_order(translator: Translator, sentence: str) -> tuple:
    return (translator.model, sentence, words, translator.src_vocab, translator.tgt_vocab)


def train(translator: Translator, pairs: list[tuple[str, str]], updates: int) -> float:
    """Train on all pairs at once, and return the last loss."""
    model, src_vocab, tgt_vocab = translator
    pad = tgt_vocab["<blank>"]
    src, tgt = collate_batch(pairs, words, words, src_vocab, tgt_vocab)
    batch = Batch(src, tgt, pad=pad)
    criterion = LabelSmoothing(len(tgt_vocab), padding_idx=pad, smoothing=0.1)
    compute = SimpleLossCompute(model.generator, criterion)
    optimizer, scheduler = make_optimizer(model, D_MODEL, factor=0.5, warmup=40)
    model.train()
    loss, _ = run_epoch([batch] * updates, model, compute, optimizer, scheduler)
    model.eval()
    loss, _ = run_epoch([batch], model, compute, None, None, mode="eval")
    return float(loss)


def read(translator: Translator, sentence: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a source sentence's ids and mask."""
    vocab = translator.src_vocab
    src = torch.tensor([[vocab["<s>"], *vocab(words(sentence)), vocab["</s>"]]])
    return src, torch.ones(1, 1, src.size(1), dtype=torch.bool)


def show_search(
    step: ModuleType, say: Say, translator: Translator, options: argparse.Namespace
) -> None:
    vocab = translator.tgt_vocab
    src, src_mask = read(translator, SENTENCES[1])
    ends = (vocab["<s>"], vocab["</s>"])
    found = step.beam_search(translator.model, src, src_mask, 20, *ends, beam=options.beam)
    say("hypotheses", beam=options.beam)
    for ids, score in found:
        say("hypothesis", score=score, words=" ".join(vocab.tokens(ids)))
    texts = {tuple(map(int, ids)) for ids, _ in found}
    scores = [score for _, score in found]
    if len(texts) < len(found) or scores != sorted(scores, reverse=True):
        say("hypotheses_off")


def show_maps(step: ModuleType, say: Say, translator: Translator, plot: Path | None) -> None:
    vocab = translator.tgt_vocab
    src, src_mask = read(translator, SENTENCES[1])
    translation = step.translate(*in_order(translator, SENTENCES[1]))
    tgt = torch.tensor([[vocab["<s>"], *vocab(translation.split())]])
    masks = src_mask, subsequent_mask(tgt.size(1))
    maps = step.attention_maps(translator.model, src, masks[0], tgt, masks[1])
    say("shapes")
    for name, values in maps.items():
        say("shape", name=name, shape=tuple(values.shape))

    source, target = translator.src_vocab.tokens(src[0]), vocab.tokens(tgt[0])
    mean = maps["decoder_src"][-1].mean(dim=0)
    say("map")
    width = max(map(len, target))
    columns = [max(3, len(word)) for word in source]
    for word, row in zip(target, mean.tolist(), strict=True):
        cells = " ".join(shade(v) * column for v, column in zip(row, columns, strict=True))
        say("row", word=word, width=width, cells=cells)
    cells = " ".join(f"{word:<{column}}" for word, column in zip(source, columns, strict=True))
    say("keys", word="", width=width, cells=cells)

    sums = torch.cat([values.sum(dim=-1).flatten() for values in maps.values()])
    whole = torch.allclose(sums, torch.ones_like(sums), atol=1e-3)
    say("sums" if whole else "sums_off", low=sums.min().item(), high=sums.max().item())
    if plot:
        draw(say, maps, source, target, plot)


def shade(value: float) -> str:
    """Return a character that is the darker the larger a number between 0 and 1 is."""
    return SHADES[min(int(value * len(SHADES)), len(SHADES) - 1)]


def draw(
    say: Say, maps: dict[str, torch.Tensor], source: list[str], target: list[str], path: Path
) -> None:
    """Draw the last layer of each map, the mean of its heads, with the words on both axes."""
    if not importlib.util.find_spec("matplotlib"):
        say("no_plot")
        return
    from matplotlib.figure import Figure

    # Whose words are where: queries go down, keys go across.
    axes = {"encoder": (source, source), "decoder_self": (target, target)}
    axes["decoder_src"] = (target, source)
    figure = Figure(figsize=(15, 5), layout="constrained")
    for place, (name, (queries, keys)) in zip(figure.subplots(1, 3), axes.items(), strict=True):
        place.imshow(maps[name][-1].mean(dim=0).numpy(), cmap="viridis", vmin=0, vmax=1)
        place.set_xticks(range(len(keys)), keys, rotation=90)
        place.set_yticks(range(len(queries)), queries)
        place.set_title(name)
    figure.savefig(path)
    say("plotted", path=path)


if __name__ == "__main__":
    run(__file__, TEXTS, show, **SIZES)
