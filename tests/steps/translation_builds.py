"""Searches and maps in more ways, all right: linked, recursive, in one tensor, merged, by name."""

from __future__ import annotations

# A hypothesis knows the one it was made of. The maps are made once more from what went in.
LINKED = """
import heapq
from typing import NamedTuple, Optional

import torch

from transformer_ref import subsequent_mask


class Link(NamedTuple):
    token: int
    log_p: float
    length: int
    before: Optional["Link"]

    def ids(self):
        found, link = [], self
        while link is not None:
            found.insert(0, link.token)
            link = link.before
        return found


@torch.inference_mode()
def beam_search(model, src, src_mask, max_len, start_symbol, end_symbol, beam=4, alpha=0.6):
    worth = lambda link: link.log_p * (6 / (5 + link.length)) ** alpha
    done = lambda link: link.before is not None and link.token == end_symbol
    memory = model.encode(src, src_mask)
    front = [Link(start_symbol, 0.0, 0, None)]
    for _ in range(1, max_len):
        if all(map(done, front)):
            break
        candidates = []
        for link in front:
            if done(link):
                candidates.append(link)
                continue
            ids = src.new_tensor(link.ids()).view(1, -1)
            features = model.decode(memory, src_mask, ids, subsequent_mask(link.length + 1))
            for token, log_prob in enumerate(model.generator(features)[0, -1].tolist()):
                candidates.append(Link(token, link.log_p + log_prob, link.length + 1, link))
        front = heapq.nlargest(beam, candidates, key=worth)
    return [(link.ids(), worth(link)) for link in front]


def translate(model, sentence, src_pipeline, src_vocab, tgt_vocab, max_len=72, beam=1):
    mode = model.training
    model.train(False)
    try:
        ids = src_vocab(["<s>", *src_pipeline(sentence), "</s>"])
        src = torch.tensor(ids, device=next(model.parameters()).device)[None]
        visible = (src != src_vocab["<blank>"]).unsqueeze(-2)
        ends = tgt_vocab["<s>"], tgt_vocab["</s>"]
        (ids, _), *_ = beam_search(model, src, visible, max_len, *ends, beam)
    finally:
        model.train(mode)
    words = (tgt_vocab.tokens([i])[0] for i in ids)
    return " ".join(w for w in words if not (w.startswith("<") and w.endswith(">")))


def attention_maps(model, src, src_mask, tgt, tgt_mask):
    asked, hooks = {}, []

    def note(module, args, kwargs):
        asked[module] = args, kwargs

    places = {
        "encoder": [layer.self_attn for layer in model.encoder.layers],
        "decoder_self": [layer.self_attn for layer in model.decoder.layers],
        "decoder_src": [layer.src_attn for layer in model.decoder.layers],
    }
    for attentions in places.values():
        for attention in attentions:
            hooks.append(attention.register_forward_pre_hook(note, with_kwargs=True))
    before = model.training
    model.eval()
    maps = {}
    with torch.no_grad():
        model(src, tgt, src_mask, tgt_mask)
        for hook in hooks:
            hook.remove()
        for name, attentions in places.items():
            weights = []
            for attention in attentions:
                args, kwargs = asked[attention]
                attention(*args, **kwargs)
                weights.append(attention.attn.squeeze(0))
            maps[name] = torch.stack(weights)
    model.train(before)
    return maps
"""

# Each round calls the next one. The maps are those of a copy, so the model itself keeps its mode.
RECURSIVE = '''
import copy

import torch

from transformer_ref import subsequent_mask


def beam_search(model, src, src_mask, max_len, start_symbol, end_symbol, beam=4, alpha=0.6):
    def scored(found):
        (ids, log_p) = found
        return log_p / ((4 + len(ids)) / 6) ** alpha

    def longer(ids, log_p):
        if ids[1:] and ids[-1] == end_symbol:
            return [(ids, log_p)]
        ys = torch.LongTensor([ids]).to(src.device)
        out = model.decode(memory, src_mask, ys, subsequent_mask(ys.size(-1)).to(src.device))
        values, tokens = model.generator(out[:, -1]).squeeze(0).sort(descending=True)
        pairs = zip(tokens[:beam].tolist(), values[:beam].tolist())
        return [(ids + (token,), log_p + value) for token, value in pairs]

    def search(best, rounds):
        """What is left of these after that many rounds."""
        if rounds == 0:
            return best
        grown = [candidate for found in best for candidate in longer(*found)]
        if grown == best:
            return best
        return search(sorted(grown, key=scored)[::-1][:beam], rounds - 1)

    with torch.no_grad():
        memory = model.encode(src, src_mask)
        found = search([((start_symbol,), 0.0)], max_len - 1)
    return [(list(ids), scored((ids, log_p))) for ids, log_p in found]


def translate(model, sentence, src_pipeline, src_vocab, tgt_vocab, max_len=72, beam=1):
    src = [src_vocab["<s>"]]
    for word in src_pipeline(sentence):
        src.append(src_vocab[word])
    src.append(src_vocab["</s>"])
    src = torch.as_tensor(src).reshape(1, -1)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    start, end = tgt_vocab(["<s>", "</s>"])
    best = max(
        beam_search(model, src, src.new_ones(1, 1, src.numel()), max_len, start, end, beam),
        key=lambda pair: pair[1],
    )
    for module, training in modes:
        module.training = training
    text = " ".join(tgt_vocab.tokens(torch.tensor(best[0])))
    for special in ("<s>", "</s>", "<blank>", "<unk>"):
        text = text.replace(special, "")
    return " ".join(text.split())


def attention_maps(model, src, src_mask, tgt, tgt_mask):
    twin = copy.deepcopy(model).eval().requires_grad_(False)
    twin(src, tgt, src_mask, tgt_mask)
    return {
        "encoder": torch.cat([layer.self_attn.attn for layer in twin.encoder.layers]),
        "decoder_self": torch.cat([layer.self_attn.attn for layer in twin.decoder.layers]),
        "decoder_src": torch.cat([layer.src_attn.attn for layer in twin.decoder.layers]),
    }
'''

# All in tensors of fixed size; what has ended goes on ending, at no price. Layer by layer.
TENSORS = """
import torch

from transformer_ref import subsequent_mask


@torch.no_grad()
def beam_search(model, src, src_mask, max_len, start_symbol, end_symbol, beam=4, alpha=0.6):
    memory = model.encode(src, src_mask)
    ids = src.new_full((1, max_len), end_symbol)
    ids[:, 0] = start_symbol
    log_p = torch.zeros(1, dtype=torch.double, device=src.device)
    lengths = torch.zeros(1, device=src.device)
    ended = torch.zeros(1, dtype=torch.bool, device=src.device)
    for n in range(1, max_len):
        if ended.all():
            break
        rows = len(ids)
        mask = subsequent_mask(n).to(src.device)
        out = model.decode(
            memory.repeat(rows, 1, 1), src_mask.repeat(rows, 1, 1), ids[:, :n], mask
        )
        steps = model.generator(out[:, -1]).double()
        steps[ended] = float("-inf")
        steps[ended, end_symbol] = 0
        sums = log_p[:, None] + steps
        grown = lengths + (~ended).float()
        scores = sums / ((5 + grown[:, None]) / 6) ** alpha
        alive = int(scores.isfinite().sum())
        _, best = scores.view(-1).topk(min(beam, alive))
        row, token = best // steps.size(1), best % steps.size(1)
        ids = ids[row].clone()
        ids[:, n] = token
        log_p, lengths = sums.view(-1)[best], grown[row]
        ended = ended[row] | (token == end_symbol)
    scores = log_p / ((5 + lengths) / 6) ** alpha
    order = scores.argsort(descending=True)
    return [(ids[i, : int(lengths[i]) + 1].tolist(), scores[i].item()) for i in order]


def translate(model, sentence, src_pipeline, src_vocab, tgt_vocab, max_len=72, beam=1):
    device = next(model.parameters()).device
    words = torch.tensor(src_vocab(src_pipeline(sentence)), dtype=torch.long, device=device)
    src = torch.nn.functional.pad(words, (1, 1), value=src_vocab["</s>"])
    src[0] = src_vocab["<s>"]
    src = src.unsqueeze(0)
    src_mask = torch.ones_like(src).unsqueeze(1).bool()
    was_training = model.training
    try:
        found = beam_search(
            model.eval(),
            src,
            src_mask,
            max_len=max_len,
            start_symbol=tgt_vocab["<s>"],
            end_symbol=tgt_vocab["</s>"],
            beam=beam,
        )
    finally:
        model.train(mode=was_training)
    skipped = tgt_vocab(["<s>", "</s>", "<blank>", "<unk>"])
    return " ".join(tgt_vocab.tokens([i for i in found[0][0] if i not in skipped]))


def attention_maps(model, src, src_mask, tgt, tgt_mask):
    dropouts = [m for m in model.modules() if isinstance(m, torch.nn.Dropout) and m.training]
    for dropout in dropouts:
        dropout.eval()
    encoder, decoder_self, decoder_src = [], [], []
    with torch.no_grad():
        x = model.src_embed(src)
        for layer in model.encoder.layers:
            x = layer(x, src_mask)
            encoder.append(layer.self_attn.attn)
        memory = model.encoder.norm(x)
        y = model.tgt_embed(tgt)
        for layer in model.decoder.layers:
            y = layer(y, memory, src_mask, tgt_mask)
            decoder_self.append(layer.self_attn.attn)
            decoder_src.append(layer.src_attn.attn)
    for dropout in dropouts:
        dropout.train()
    maps = {"decoder_src": decoder_src, "decoder_self": decoder_self, "encoder": encoder}
    return {name: torch.stack(weights, dim=1)[0] for name, weights in maps.items()}
"""

# Streams of continuations, the likeliest first, are merged. Attentions are found by their names.
MERGED = """
from contextlib import contextmanager
from heapq import merge
from itertools import islice

import numpy as np
import torch

from transformer_ref import subsequent_mask

SPECIALS = ("<s>", "</s>", "<blank>", "<unk>")


@contextmanager
def quiet(model):
    before = model.training
    model.eval()
    with torch.no_grad():
        yield
    model.train(before)


class Search:
    def __init__(self, model, src, src_mask, end, alpha):
        self.model, self.src_mask, self.end, self.alpha = model, src_mask, end, alpha
        self.memory = model.encode(src, src_mask)

    def score(self, ids, log_p):
        return log_p / np.power((5 + len(ids) - 1) / 6, self.alpha)

    def over(self, ids):
        return len(ids) > 1 and ids[-1] == self.end

    def stream(self, ids, log_p):
        if self.over(ids):
            yield self.score(ids, log_p), ids, log_p
            return
        tgt = torch.from_numpy(np.array([ids], dtype=np.int64))
        features = self.model.decode(self.memory, self.src_mask, tgt, subsequent_mask(len(ids)))
        log_probs = self.model.generator(features[:, -1:]).numpy().ravel().astype(np.float64)
        for token in np.argsort(-log_probs, kind="stable"):
            more = ids + [int(token)]
            yield self.score(more, log_p + log_probs[token]), more, log_p + log_probs[token]


def beam_search(model, src, src_mask, max_len, start_symbol, end_symbol, beam=4, alpha=0.6):
    with torch.no_grad():
        search = Search(model, src, src_mask, end_symbol, alpha)
        kept = [(0.0, [start_symbol], 0.0)]
        for _ in range(max_len - 1):
            streams = [search.stream(ids, log_p) for _, ids, log_p in kept]
            kept = list(islice(merge(*streams, key=lambda found: -found[0]), beam))
    return [(ids, float(score)) for score, ids, _ in kept]


def translate(model, sentence, src_pipeline, src_vocab, tgt_vocab, max_len=72, beam=1):
    src = torch.tensor([src_vocab(["<s>"] + list(src_pipeline(sentence)) + ["</s>"])])
    with quiet(model):
        best, *_ = beam_search(
            model, src, torch.ones(1, 1, src.shape[1]), max_len, *tgt_vocab(SPECIALS[:2]), beam=beam
        )
    return " ".join(filter(lambda token: token not in SPECIALS, tgt_vocab.tokens(best[0])))


def attention_maps(model, src, src_mask, tgt, tgt_mask):
    parts = {
        "encoder": ("encoder.", ".self_attn"),
        "decoder_self": ("decoder.", ".self_attn"),
        "decoder_src": ("decoder.", ".src_attn"),
    }
    with quiet(model):
        model(src, tgt, src_mask, tgt_mask)
    found = {}
    for key, (begin, end) in parts.items():
        named = [m for n, m in model.named_modules() if n.startswith(begin) and n.endswith(end)]
        size = (len(named), *named[0].attn.shape[1:])
        found[key] = torch.empty(size)
        for place, module in zip(found[key], named):
            place.copy_(module.attn[0])
    return found
"""

# Hypotheses by their ids, in a dictionary; `forward` is replaced while the maps are made.
WRAPPED = """
import math

import torch

from transformer_ref import subsequent_mask


def beam_search(model, src, src_mask, max_len, start_symbol, end_symbol, beam=4, alpha=0.6):
    def next_log_probs(ids):
        target = torch.tensor(ids, device=src.device).unsqueeze(0)
        mask = subsequent_mask(len(ids)).to(src)
        return model.generator(model.decode(memory, src_mask, target, mask))[0, -1]

    def rank(ids):
        return logs[ids] / math.exp(alpha * math.log((4 + len(ids)) / 6))

    with torch.no_grad():
        memory = model.encode(src, src_mask)
        logs, growing = {(start_symbol,): 0.0}, {(start_symbol,)}
        for _ in range(max_len - 1):
            for ids in growing:
                log_p = logs.pop(ids)
                likely = torch.topk(next_log_probs(ids), beam)
                for token, value in zip(likely[1], likely[0]):
                    logs[ids + (token.item(),)] = log_p + value.item()
            for ids in sorted(logs, key=rank)[:-beam]:
                del logs[ids]
            growing = {ids for ids in logs if ids[-1] != end_symbol}
            if not growing:
                break
    return sorted(((list(ids), rank(ids)) for ids in logs), key=lambda pair: -pair[1])


def translate(model, sentence, src_pipeline, src_vocab, tgt_vocab, max_len=72, beam=1):
    was, _ = model.training, model.eval()
    words = [src_vocab["<s>"]] + list(src_vocab(src_pipeline(sentence))) + [src_vocab["</s>"]]
    src = torch.tensor([words], device=next(iter(model.parameters())).device)
    mask = torch.ones((1, 1, len(words)), dtype=torch.uint8, device=src.device)
    begin, end, blank, unk = (tgt_vocab[t] for t in ("<s>", "</s>", "<blank>", "<unk>"))
    ids = beam_search(model, src, mask, max_len, begin, end, beam)[0][0]
    model.train(was)
    ids = [i for i in ids[1:] if i not in (begin, end, blank, unk)]
    return " ".join(tgt_vocab.tokens(ids)) if ids else ""


def attention_maps(model, src, src_mask, tgt, tgt_mask):
    kept = []

    def watched(module):
        forward = type(module).forward

        def call(*args, **kwargs):
            out = forward(module, *args, **kwargs)
            kept.append((module, module.attn.clone()))
            return out

        return call

    layers = [*model.encoder.layers, *model.decoder.layers]
    attentions = [m for layer in layers for n, m in layer.named_children() if n.endswith("_attn")]
    training = model.training
    try:
        for attention in attentions:
            attention.forward = watched(attention)
        model.eval()
        with torch.set_grad_enabled(False):
            model(src, tgt, src_mask, tgt_mask)
    finally:
        for attention in attentions:
            del attention.forward
        model.train(training)
    by_module = dict(kept)
    pick = lambda stack, name: torch.vstack([by_module[getattr(l, name)] for l in stack.layers])
    return {
        "encoder": pick(model.encoder, "self_attn"),
        "decoder_self": pick(model.decoder, "self_attn"),
        "decoder_src": pick(model.decoder, "src_attn"),
    }
"""

HONEST = {
    "linked": LINKED,
    "recursive": RECURSIVE,
    "tensors": TENSORS,
    "merged": MERGED,
    "wrapped": WRAPPED,
}
