"""Step 18, the reference: beam search (paper, section 6.1), translation, and attention maps."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from .inference import greedy_decode
from .masks import subsequent_mask

__all__ = ["attention_maps", "beam_search", "translate"]

Hypothesis = tuple[list[int], float]


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
) -> list[Hypothesis]:
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

    def score(hypothesis: Hypothesis) -> float:
        ids, log_p = hypothesis
        return log_p / ((5 + len(ids) - 1) / 6) ** alpha

    def extensions(ids: list[int], log_p: float) -> list[Hypothesis]:
        ys = torch.tensor([ids], device=src.device)
        out = model.decode(memory, src_mask, ys, subsequent_mask(len(ids)).to(src.device))
        log_probs = model.generator(out[:, -1])[0]
        best = log_probs.topk(min(beam, log_probs.numel()))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [([*ids, index], log_p + value) for index, value in pairs]

    kept: list[Hypothesis] = [([start_symbol], 0.0)]
    for _ in range(max_len - 1):
        candidates = []
        for ids, log_p in kept:
            ended = len(ids) > 1 and ids[-1] == end_symbol
            candidates += [(ids, log_p)] if ended else extensions(ids, log_p)
        kept = sorted(candidates, key=score, reverse=True)[:beam]
        if all(ids[-1] == end_symbol for ids, _ in kept):
            break
    return [(ids, score((ids, log_p))) for ids, log_p in kept]


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
