"""Four ways of writing step 09, right as they stand; tests grade them and plant mistakes."""

COPIES = """
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformer_ref import (
    Decoder, DecoderLayer, Embeddings, Encoder, EncoderLayer, MultiHeadedAttention,
    PositionalEncoding, PositionwiseFeedForward,
)


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, generator):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.src_embed, self.tgt_embed = src_embed, tgt_embed
        self.generator = generator

    def forward(self, src, tgt, src_mask, tgt_mask):
        return self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask)

    def encode(self, src, src_mask):
        return self.encoder(self.src_embed(src), src_mask)

    def decode(self, memory, src_mask, tgt, tgt_mask):
        return self.decoder(self.tgt_embed(tgt), memory, src_mask, tgt_mask)


class Generator(nn.Module):
    def __init__(self, width, words):
        super().__init__()
        self.out = nn.Linear(width, words)

    def forward(self, x):
        return F.log_softmax(self.out(x), dim=-1)


def make_model(src_vocab, tgt_vocab, N=6, d_model=512, d_ff=2048, h=8, dropout=0.1):
    again = copy.deepcopy
    look = MultiHeadedAttention(h, d_model, dropout)
    think = PositionwiseFeedForward(d_model, d_ff, dropout)
    where = PositionalEncoding(d_model, dropout)
    model = EncoderDecoder(
        Encoder(EncoderLayer(d_model, again(look), again(think), dropout), N),
        Decoder(DecoderLayer(d_model, again(look), again(look), again(think), dropout), N),
        nn.Sequential(Embeddings(d_model, src_vocab), where),
        nn.Sequential(Embeddings(d_model, tgt_vocab), where),
        Generator(d_model, tgt_vocab),
    )
    for w in model.parameters():
        if w.ndim >= 2:
            nn.init.xavier_uniform_(w)
    return model
"""

KEYWORDS = """
import torch
from torch import nn
from transformer_ref import (
    Decoder, DecoderLayer, Embeddings, Encoder, EncoderLayer, MultiHeadedAttention,
    PositionalEncoding, PositionwiseFeedForward,
)


class Embedded(nn.Module):
    def __init__(self, words, width, rate):
        super().__init__()
        self.words = Embeddings(width, words)
        self.places = PositionalEncoding(width, rate)

    def forward(self, ids):
        return self.places(self.words(ids))


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, generator):
        super().__init__()
        parts = dict(encoder=encoder, decoder=decoder, src_embed=src_embed)
        parts.update(tgt_embed=tgt_embed, generator=generator)
        for name, part in parts.items():
            self.add_module(name, part)

    def encode(self, src, src_mask=None):
        embedded = self.src_embed(src)
        return self.encoder.forward(embedded, mask=src_mask)

    def decode(self, memory, src_mask, tgt, tgt_mask=None):
        embedded = self.tgt_embed(tgt)
        return self.decoder(x=embedded, memory=memory, tgt_mask=tgt_mask, src_mask=src_mask)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None):
        memory = self.encode(src=src, src_mask=src_mask)
        return self.decode(memory=memory, src_mask=src_mask, tgt=tgt, tgt_mask=tgt_mask)


class Generator(nn.Sequential):
    def __init__(self, d_model, vocab):
        super().__init__(nn.Linear(d_model, vocab), nn.LogSoftmax(dim=-1))


def start(module):
    for weight in module.parameters(recurse=False):
        if weight.dim() > 1:
            nn.init.xavier_uniform_(weight)


def make_model(src_vocab, tgt_vocab, N=6, d_model=512, d_ff=2048, h=8, dropout=0.1):
    def attention():
        return MultiHeadedAttention(h=h, d_model=d_model, dropout=dropout)

    def network():
        return PositionwiseFeedForward(d_model=d_model, d_ff=d_ff, dropout=dropout)

    reader = EncoderLayer(d_model, attention(), network(), dropout)
    writer = DecoderLayer(d_model, attention(), attention(), network(), dropout)
    model = EncoderDecoder(
        encoder=Encoder(reader, N),
        decoder=Decoder(writer, N),
        src_embed=Embedded(src_vocab, d_model, dropout),
        tgt_embed=Embedded(tgt_vocab, d_model, dropout),
        generator=Generator(d_model, tgt_vocab),
    )
    model.apply(start)
    model.d_model = d_model
    return model.eval()
"""

INLINE = """
import math
import torch
import transformer_ref as given
from torch import nn


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, generator):
        nn.Module.__init__(self)
        self.generator = generator
        self.tgt_embed = tgt_embed
        self.src_embed = src_embed
        self.decoder = decoder
        self.encoder = encoder

    def encode(self, src, src_mask):
        x = self.src_embed(src)
        x = self.encoder(x, src_mask)
        return x

    def decode(self, memory, src_mask, tgt, tgt_mask):
        y = self.tgt_embed(tgt)
        y = self.decoder(y, memory, src_mask, tgt_mask)
        return y

    def forward(self, src, tgt, src_mask, tgt_mask):
        seen = self.encoder(self.src_embed(src), src_mask)
        return self.decoder(self.tgt_embed(tgt), seen, src_mask, tgt_mask)


class Generator(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.W = nn.Parameter(torch.randn(d_model, vocab) / math.sqrt(d_model))
        self.b = nn.Parameter(torch.zeros(vocab))

    def forward(self, x):
        z = x @ self.W + self.b
        return z - torch.logsumexp(z, dim=-1, keepdim=True)


def make_model(src_vocab, tgt_vocab, N=6, d_model=512, d_ff=2048, h=8, dropout=0.1):
    enc = given.EncoderLayer(
        d_model,
        given.MultiHeadedAttention(h, d_model, dropout),
        given.PositionwiseFeedForward(d_model, d_ff, dropout),
        dropout,
    )
    own, other = (given.MultiHeadedAttention(h, d_model, dropout) for _ in range(2))
    dec = given.DecoderLayer(
        d_model, own, other, given.PositionwiseFeedForward(d_model, d_ff, dropout), dropout
    )
    sides = []
    for vocab in (src_vocab, tgt_vocab):
        words, places = given.Embeddings(d_model, vocab), given.PositionalEncoding(d_model, dropout)
        sides.append(nn.Sequential(words, places))
    model = EncoderDecoder(
        given.Encoder(enc, N), given.Decoder(dec, N), *sides, Generator(d_model, tgt_vocab)
    )
    with torch.no_grad():
        for p in model.parameters():
            if len(p.shape) > 1:
                bound = math.sqrt(6.0 / (p.shape[0] + p.shape[1]))
                p.uniform_(-bound, bound)
    return model
"""

WHOLE = """
import copy
import math
import torch
from torch import nn


def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return (dropout(weights) if dropout else weights) @ value, weights


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.h = h
        self.to_qkv = nn.Linear(d_model, 3 * d_model)
        self.to_out = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        rows = zip(self.to_qkv.weight.chunk(3), self.to_qkv.bias.chunk(3))
        q, k, v = (
            nn.functional.linear(x, w, b).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for x, (w, b) in zip((query, key, value), rows)
        )
        mask = None if mask is None else mask[:, None]
        y, self.attn = attention(q, k, v, mask, self.drop)
        return self.to_out(y.transpose(1, 2).flatten(2))


def PositionwiseFeedForward(d_model, d_ff, dropout=0.1):
    inner, outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    return nn.Sequential(inner, nn.ReLU(), nn.Dropout(dropout), outer)


class Embeddings(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab, d_model))

    def forward(self, ids):
        return self.table[ids] * self.table.size(1) ** 0.5


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout, max_len=5000):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        place = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
        table = torch.stack([place.sin(), place.cos()], -1).flatten(1)[None]
        self.register_buffer("table", table)

    def forward(self, x):
        return self.drop(x + self.table[:, : x.size(1)])


class EncoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__()
        self.size, self.a, self.f = size, self_attn, feed_forward
        self.n1, self.n2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask):
        n = self.n1(x)
        x = x + self.drop(self.a(n, n, n, mask))
        return x + self.drop(self.f(self.n2(x)))


class DecoderLayer(nn.Module):
    def __init__(self, size, self_attn, src_attn, feed_forward, dropout):
        super().__init__()
        self.size, self.a, self.c, self.f = size, self_attn, src_attn, feed_forward
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask, tgt_mask):
        n = self.norms[0](x)
        x = x + self.drop(self.a(n, n, n, tgt_mask))
        x = x + self.drop(self.c(self.norms[1](x), memory, memory, src_mask))
        return x + self.drop(self.f(self.norms[2](x)))


class Stack(nn.Module):
    def __init__(self, layer, N):
        super().__init__()
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(N)])
        self.norm = nn.LayerNorm(layer.size)

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return self.norm(x)


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, generator):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.generator = generator

    def encode(self, src, src_mask):
        return self.encoder(self.src_embed(src), src_mask)

    def decode(self, memory, src_mask, tgt, tgt_mask):
        return self.decoder(self.tgt_embed(tgt), memory, src_mask, tgt_mask)

    def forward(self, *args):
        src, tgt, src_mask, tgt_mask = args
        return self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask)


class Generator(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.linear = nn.Linear(d_model, vocab)

    def forward(self, x):
        return torch.log_softmax(self.linear(x), -1)


def make_model(src_vocab, tgt_vocab, N=6, d_model=512, d_ff=2048, h=8, dropout=0.1):
    def heads():
        return MultiHeadedAttention(h, d_model, dropout)

    def network():
        return PositionwiseFeedForward(d_model, d_ff, dropout)

    first, second = heads(), heads()
    model = EncoderDecoder(
        Stack(EncoderLayer(d_model, heads(), network(), dropout), N),
        Stack(DecoderLayer(d_model, first, second, network(), dropout), N),
        nn.Sequential(Embeddings(d_model, src_vocab), PositionalEncoding(d_model, dropout)),
        nn.Sequential(Embeddings(d_model, tgt_vocab), PositionalEncoding(d_model, dropout)),
        Generator(d_model, tgt_vocab),
    )
    for name, p in model.named_parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p.data)
    return model
"""

BUILDS = {"copies": COPIES, "keywords": KEYWORDS, "inline": INLINE, "whole": WHOLE}
