"""Step 18, the reference: beam search (paper, section 6.1), translation, and attention maps."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .caching import CachedDecoder, can_cache
from .inference import greedy_decode
from .masks import subsequent_mask

__all__ = ["attention_maps", "beam_search", "translate"]


@torch.no_grad()
def beam_search(
    model: Any,
    src: Tensor,
    src_mask: Tensor | None,
    max_len: int,
    start_symbol: int,
    end_symbol: int,
    beam: int = 4,
    alpha: float = 0.6,
) -> list[tuple[list[int], float]]:
    """Look for the most probable target, keeping the best few beginnings at each step.

        score = log P(target | source) / ((5 + length) / 6)^alpha

    (Wu et al., 2016, equation 14, without the coverage penalty.) The length counts what follows
    the start symbol, the end symbol among it. A hypothesis that has ended stays in the beam with
    its score for as long as it is among the best; the others are extended by every id. The search
    goes on until all have ended or are max_len long. With a beam of 1 it is greedy decoding.

    Args:
        model: an `EncoderDecoder`; the caller puts it into eval mode.
        src: (1, S), int64.
        src_mask: (1, 1, S), 0 or False = hidden; None hides nothing.
        max_len: the length of the longest target, its start symbol counted.
        start_symbol: the id every target begins with.
        end_symbol: the id that ends one.
        beam: how many hypotheses are kept, 1 or more.
        alpha: 0 ranks by probability alone; more favours longer targets.

    Returns:
        At most `beam` pairs of ids and score, the best first.

    Raises:
        ValueError: when src holds more than one sentence, or beam or max_len is below 1.
    """
    if src.size(0) != 1 or beam < 1 or max_len < 1:
        raise ValueError(
            f"one sentence, a beam and a max_len of at least 1 are needed: src holds "
            f"{src.size(0)}, {beam=}, {max_len=}"
        )
    memory = model.encode(src, src_mask)
    decoder = (CachedDecoder if can_cache(model) else _PlainDecoder)(model, memory, src_mask)
    kept = [_Hypothesis([start_symbol], 0.0)]
    for _ in range(max_len - 1):
        waiting = [hypothesis for hypothesis in kept if hypothesis.ended]
        growing = [hypothesis for hypothesis in kept if not hypothesis.ended]
        if not growing:
            break
        candidates = waiting + _continued(growing, decoder, end_symbol, beam)
        kept = sorted(candidates, key=lambda it: it.score(alpha), reverse=True)[:beam]
    return [(hypothesis.ids, hypothesis.score(alpha)) for hypothesis in kept]


@dataclass(frozen=True)
class _Hypothesis:
    """The beginning of a target."""

    ids: list[int]
    log_p: float
    ended: bool = False
    row: int = 0  # Which row of the decoder's it goes on from.

    def score(self, alpha: float) -> float:
        length = len(self.ids) - 1
        return self.log_p / ((5 + length) / 6) ** alpha


def _continued(
    growing: list[_Hypothesis], decoder: "CachedDecoder | _PlainDecoder", end_symbol: int, beam: int
) -> list[_Hypothesis]:
    """Extend each hypothesis by its `beam` most probable ids: no more of its can stay."""
    device = decoder.device
    decoder.select(torch.tensor([hypothesis.row for hypothesis in growing], device=device))
    last_ids = torch.tensor([hypothesis.ids[-1] for hypothesis in growing], device=device)
    log_probs = decoder.step(last_ids)
    best = log_probs.topk(min(beam, log_probs.size(-1)), dim=-1)
    found = zip(growing, best.indices.tolist(), best.values.tolist(), strict=True)
    return [
        _Hypothesis([*hypothesis.ids, index], hypothesis.log_p + value, index == end_symbol, row)
        for row, (hypothesis, ids, values) in enumerate(found)
        for index, value in zip(ids, values, strict=True)
    ]


class _PlainDecoder:
    """What `CachedDecoder` does, for one sentence and any model: each step computes everything."""

    def __init__(self, model: Any, memory: Tensor, src_mask: Tensor | None) -> None:
        self._model, self._memory, self._src_mask = model, memory, src_mask
        self.device = memory.device
        self._ys = torch.empty(1, 0, dtype=torch.int64, device=self.device)

    def step(self, ids: Tensor) -> Tensor:
        self._ys = torch.cat((self._ys, ids.unsqueeze(1)), dim=1)
        rows, length = self._ys.shape
        memory, src_mask = (
            None if x is None else x.expand(rows, *x.shape[1:])
            for x in (self._memory, self._src_mask)
        )
        tgt_mask = subsequent_mask(length).to(ids.device)
        features = self._model.decode(memory, src_mask, self._ys, tgt_mask)
        log_probs: Tensor = self._model.generator(features[:, -1])
        return log_probs

    def select(self, rows: Tensor) -> None:
        self._ys = self._ys[rows]


@torch.no_grad()
def translate(
    model: Any,
    sentence: str,
    src_pipeline: Callable[[str], list[str]],
    src_vocab: Any,
    tgt_vocab: Any,
    max_len: int = 72,
    beam: int = 1,
) -> str:
    """Translate one sentence, in eval mode; the model's mode is put back.

    Args:
        model: an `EncoderDecoder`.
        sentence: the source text.
        src_pipeline: cuts it into tokens.
        src_vocab: numbers source tokens, e.g. a `Vocabulary`.
        tgt_vocab: likewise for target tokens.
        max_len: the length of the longest target, its start symbol counted.
        beam: 1 decodes greedily; otherwise see `beam_search`.

    Returns:
        The target's tokens joined by single spaces, without "<s>", "</s>", "<blank>" and "<unk>".
    """
    device = next(model.parameters(), torch.empty(0)).device
    ids = [src_vocab["<s>"], *src_vocab(src_pipeline(sentence)), src_vocab["</s>"]]
    src = torch.tensor([ids], device=device)
    src_mask = torch.ones_like(src, dtype=torch.bool).unsqueeze(-2)
    start, end = tgt_vocab["<s>"], tgt_vocab["</s>"]
    with _eval_mode(model):
        if beam == 1:
            found = greedy_decode(model, src, src_mask, max_len, start, end)[0].tolist()
        else:
            found, _ = beam_search(model, src, src_mask, max_len, start, end, beam)[0]
    specials = {tgt_vocab[token] for token in ("<s>", "</s>", "<blank>", "<unk>")}
    return " ".join(tgt_vocab.tokens([index for index in found if index not in specials]))


@torch.no_grad()
def attention_maps(
    model: Any,
    src: Tensor,
    src_mask: Tensor | None,
    tgt: Tensor,
    tgt_mask: Tensor | None,
) -> dict[str, Tensor]:
    """Collect who looks at whom when a pair goes through the model, in eval mode.

    The model's mode is put back.

    Args:
        model: an `EncoderDecoder` whose attention layers keep their weights as `.attn`.
        src: (1, S), int64.
        src_mask: (1, 1, S), 0 or False = hidden; None hides nothing.
        tgt: (1, T), int64, as the decoder reads it, start symbol first.
        tgt_mask: (1, T, T), likewise; it has to hide the future.

    Returns:
        "encoder" (layers, heads, S, S), "decoder_self" (layers, heads, T, T) and "decoder_src"
        (layers, heads, T, S), of the model's dtype; queries by row, so that each row sums to 1.

    Raises:
        ValueError: when src or tgt holds more than one sentence.
    """
    if src.size(0) != 1 or tgt.size(0) != 1:
        raise ValueError(f"one pair is needed: src holds {src.size(0)}, tgt {tgt.size(0)}")
    with _eval_mode(model):
        model(src, tgt, src_mask, tgt_mask)
    encoder, decoder = model.encoder.layers, model.decoder.layers
    return {
        "encoder": torch.stack([layer.self_attn.attn[0] for layer in encoder]),
        "decoder_self": torch.stack([layer.self_attn.attn[0] for layer in decoder]),
        "decoder_src": torch.stack([layer.src_attn.attn[0] for layer in decoder]),
    }


@contextmanager
def _eval_mode(model: nn.Module) -> Iterator[None]:
    """Switch a model to eval mode for a while; then each module is put back by itself."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
