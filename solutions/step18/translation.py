"""Step 18: translating. Fill in the bodies, then run `pytest exercises/step18`.

The last step. Your model translates, with a search that looks at several sentences at once, and
shows where it looked while it did.

Paper: "Attention Is All You Need", section 6.1 (beam search) and the appendix (attention maps);
the length penalty is that of Wu et al., "Google's Neural Machine Translation System", section 7.
"""

from collections.abc import Callable

import torch
from torch import nn

from transformer_ref import Vocabulary, subsequent_mask


def beam_search(
    model: nn.Module,
    src: torch.Tensor,
    src_mask: torch.Tensor,
    max_len: int,
    start_symbol: int,
    end_symbol: int,
    beam: int = 4,
    alpha: float = 0.6,
) -> list[tuple[list[int], float]]:
    """Look for the most likely targets, following several hypotheses at once.

    A hypothesis is a list of ids that begins with start_symbol. Its log p is the sum of the
    log-probabilities of all ids after that one. Its length is their number, end_symbol included.
    Its score, by which hypotheses of different length are compared, is

        log p / ((5 + length) / 6) ** alpha

    A hypothesis is finished when it ends with end_symbol. In each round the finished ones keep the
    score they have, every unfinished one is made longer by one id, in all ways, and of all these
    the `beam` best stay: a finished one waits for as long as it is among them. The search ends when
    all that stay are finished, or as long as max_len allows; what is unfinished then has its score
    as it is. With beam=1 it finds what `greedy_decode` finds.

    No gradients are kept. The caller calls `model.eval()`; the mode is not changed here.

    Args:
        model: `model.encode(src, src_mask)` gives the memory, and is called once;
            `model.decode(memory, src_mask, tgt, tgt_mask)` gives features, tgt (1, L) int64,
            tgt_mask (1, L, L) bool; `model.generator(features)` gives log-probabilities.
        src: (1, S), int64, one sentence.
        src_mask: (1, 1, S), True or 1 = may look.
        max_len: the most ids in a hypothesis, start_symbol counted.
        start_symbol: the id that begins every target.
        end_symbol: the id that ends one.
        beam: how many hypotheses are followed.
        alpha: how much longer hypotheses are favoured. 0: the score is log p.

    Returns:
        At most `beam` pairs (ids, score), the best first. The ids begin with start_symbol; they
        end with end_symbol if the hypothesis is finished.
    """
    ### BEGIN SOLUTION

    def score(hypothesis: tuple[list[int], float]) -> float:
        ids, log_p = hypothesis
        length = len(ids) - 1
        penalty = ((5 + length) / 6) ** alpha
        return log_p / penalty

    def finished(ids: list[int]) -> bool:
        return len(ids) > 1 and ids[-1] == end_symbol

    def continuations(ids: list[int]) -> list[tuple[int, float]]:
        target = torch.tensor([ids], device=src.device)
        target_mask = subsequent_mask(len(ids)).to(src.device)
        features = model.decode(memory, src_mask, target, target_mask)
        log_probs = model.generator(features[:, -1])[0]
        # Of one hypothesis, no more than `beam` continuations can be among the `beam` best of all.
        likely = log_probs.topk(min(beam, len(log_probs)))
        return list(zip(likely.indices.tolist(), likely.values.tolist(), strict=True))

    # One at the start: several equal ones would find the same sentence several times.
    hypotheses = [([start_symbol], 0.0)]
    with torch.no_grad():
        memory = model.encode(src, src_mask)
        for _ in range(max_len - 1):
            candidates = []
            for ids, log_p in hypotheses:
                if finished(ids):
                    candidates.append((ids, log_p))
                    continue
                for token, log_prob in continuations(ids):
                    # A new list: the others that began like this one keep their own.
                    candidates.append(([*ids, token], log_p + log_prob))

            candidates.sort(key=score, reverse=True)
            hypotheses = candidates[:beam]
            if all(finished(ids) for ids, _ in hypotheses):
                break

    return [(ids, score((ids, log_p))) for ids, log_p in hypotheses]
    ### END SOLUTION


def translate(
    model: nn.Module,
    sentence: str,
    src_pipeline: Callable[[str], list[str]],
    src_vocab: Vocabulary,
    tgt_vocab: Vocabulary,
    max_len: int = 72,
    beam: int = 1,
) -> str:
    """Translate one sentence.

    The source is "<s>", its tokens, "</s>", as in training, with a mask that hides nothing. The
    target is looked for with `beam_search`, from the target vocabulary's "<s>" to its "</s>".

    It is done in eval mode and without gradients, on the device of the model's parameters.
    Afterwards the model is in the mode it was in before.

    Args:
        model: an `EncoderDecoder`.
        sentence: the source text.
        src_pipeline: from a text to its tokens.
        src_vocab: the source's vocabulary.
        tgt_vocab: the target's.
        max_len: the most ids in the target, "<s>" counted.
        beam: how many hypotheses to follow. 1: greedy.

    Returns:
        The best target's tokens, joined by single spaces, without the specials "<s>", "</s>",
        "<blank>" and "<unk>".
    """
    ### BEGIN SOLUTION
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    words = src_vocab(src_pipeline(sentence))
    src = torch.tensor([[src_vocab["<s>"], *words, src_vocab["</s>"]]], device=device)
    src_mask = torch.ones(1, 1, src.size(1), dtype=torch.bool, device=device)

    before = model.training
    model.eval()  # No dropout while we translate.
    try:
        start, end = tgt_vocab["<s>"], tgt_vocab["</s>"]
        found = beam_search(model, src, src_mask, max_len, start, end, beam=beam)
    finally:
        model.train(before)  # Back to what the caller had.

    ids, _ = found[0]
    specials = ("<s>", "</s>", "<blank>", "<unk>")
    return " ".join(token for token in tgt_vocab.tokens(ids) if token not in specials)
    ### END SOLUTION


def attention_maps(
    model: nn.Module,
    src: torch.Tensor,
    src_mask: torch.Tensor,
    tgt: torch.Tensor,
    tgt_mask: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Show where every head of every layer looks.

    The model reads the source and goes through the target once, in eval mode and without
    gradients; afterwards it is in the mode it was in before. In this call each attention leaves
    its weights in `.attn`, (1, heads, queries, keys). The attentions are
    `model.encoder.layers[i].self_attn`, `model.decoder.layers[i].self_attn` and
    `model.decoder.layers[i].src_attn`.

    Args:
        model: an `EncoderDecoder`.
        src: (1, S), int64, one sentence.
        src_mask: (1, 1, S), True or 1 = may look.
        tgt: (1, T), int64.
        tgt_mask: (1, T, T), likewise.

    Returns:
        Three maps, float, (layers, heads, queries, keys). A row, one query's, sums to 1.

        - "encoder": (layers, heads, S, S), the source looks at the source.
        - "decoder_self": (layers, heads, T, T), the target looks at the target.
        - "decoder_src": (layers, heads, T, S), the target looks at the source.
    """
    ### BEGIN SOLUTION
    before = model.training
    model.eval()  # Dropout would make holes in the maps.
    try:
        with torch.no_grad():
            model.forward(src, tgt, src_mask, tgt_mask)
    finally:
        model.train(before)  # The maps are made; training may go on.

    # Batch row 0 of each layer, one layer upon the other.
    encoder = [layer.self_attn.attn[0] for layer in model.encoder.layers]
    decoder_self = [layer.self_attn.attn[0] for layer in model.decoder.layers]
    decoder_src = [layer.src_attn.attn[0] for layer in model.decoder.layers]
    return {
        "encoder": torch.stack(encoder),
        "decoder_self": torch.stack(decoder_self),
        "decoder_src": torch.stack(decoder_src),
    }
    ### END SOLUTION
