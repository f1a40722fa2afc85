"""Batches made in more ways, all right: other tables, other orders, other sources of chance."""

from __future__ import annotations

# Filled through a mask of the real cells, its width asked of the device; lengths with a little
# chance added are sorted.
SCATTERED = """
import torch


def table(rows, pad, device):
    lengths = torch.tensor([len(row) for row in rows], device=device)
    real = torch.arange(lengths.max().item(), device=device) < lengths[:, None]
    ids = torch.full(real.shape, pad, device=device)
    ids[real] = torch.tensor([i for row in rows for i in row], device=device)
    return ids


def collate_batch(
    pairs, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device="cpu", max_len=None
):
    sources, targets = zip(*pairs)
    sides = []
    for texts, cut, vocab in (
        (sources, src_pipeline, src_vocab),
        (targets, tgt_pipeline, tgt_vocab),
    ):
        words = [cut(text)[: None if max_len is None else max_len - 2] for text in texts]
        rows = [vocab(["<s>", *row, "</s>"]) for row in words]
        sides.append(table(rows, vocab["<blank>"], device))
    return sides[0], sides[1]


def batches_by_length(lengths, max_tokens, shuffle=True, generator=None):
    numbers = torch.tensor(lengths, dtype=torch.float64)
    if (numbers > max_tokens).any():
        raise ValueError(f"{int(numbers.max())} tokens do not fit into {max_tokens}")
    if shuffle:
        numbers = numbers + torch.rand(numbers.shape, generator=generator) / 2
    order = numbers.sort(descending=True, stable=True).indices
    begins, begin = [], 0
    while begin < len(order):
        begins.append(begin)
        begin += max_tokens // lengths[order[begin]]
    batches = list(order.tensor_split(begins[1:]))
    if shuffle:
        places = torch.rand(len(batches), generator=generator).argsort()
        batches = [batches[i] for i in places]
    return [batch.tolist() for batch in batches]
"""

# numpy for the tables, Python's own random numbers, begun by torch's.
NUMPY = """
import random

import numpy as np
import torch


def collate_batch(
    pairs, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device="cpu", max_len=None
):
    def encode(text, pipeline, vocab):
        row = [vocab["<s>"]]
        row.extend(vocab(pipeline(text)))
        if max_len is not None:
            del row[max_len - 1 :]
        row.append(vocab["</s>"])
        return np.array(row, dtype=np.int64)

    src = [encode(pair[0], src_pipeline, src_vocab) for pair in pairs]
    tgt = [encode(pair[1], tgt_pipeline, tgt_vocab) for pair in pairs]
    out = []
    for rows, vocab in ((src, src_vocab), (tgt, tgt_vocab)):
        width = max(row.size for row in rows)
        blank = vocab["<blank>"]
        filled = [np.pad(row, (0, width - row.size), constant_values=blank) for row in rows]
        out.append(torch.from_numpy(np.stack(filled)).to(device, non_blocking=True))
    return tuple(out)


def batches_by_length(lengths, max_tokens, shuffle=True, generator=None):
    lengths = np.asarray(lengths)
    too_long = np.flatnonzero(lengths > max_tokens)
    if too_long.size:
        raise ValueError(f"sentence {too_long[0]} has length {lengths[too_long[0]]}")
    chance = random.Random(torch.randint(2**31, (1,), generator=generator).item())
    order = list(range(len(lengths)))
    if shuffle:
        chance.shuffle(order)
    order = sorted(order, key=lengths.__getitem__)
    batches = []
    while order:
        fits = 1
        while fits < len(order) and lengths[order[fits]] * (fits + 1) <= max_tokens:
            fits += 1
        batches.append(order[:fits])
        del order[:fits]
    if shuffle:
        chance.shuffle(batches)
    return batches
"""

# Columns first, then turned round. The cheapest way of cutting the sorted list up.
CHEAPEST = """
from itertools import zip_longest

import torch
from torch.utils.data import RandomSampler


def side(texts, pipeline, vocab, device, max_len):
    rows = []
    for text in texts:
        ids = vocab(["<s>"] + list(pipeline(text)) + ["</s>"])
        if max_len is not None and len(ids) > max_len:
            ids[max_len - 1 :] = ids[-1:]
        rows.append(ids)
    columns = list(zip_longest(*rows, fillvalue=vocab["<blank>"]))
    return torch.tensor(columns, device=device).t().contiguous()


def collate_batch(
    pairs, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device="cpu", max_len=None
):
    texts = list(map(list, zip(*pairs)))
    return (
        side(texts[0], src_pipeline, src_vocab, device, max_len),
        side(texts[1], tgt_pipeline, tgt_vocab, device, max_len),
    )


def batches_by_length(lengths, max_tokens, shuffle=True, generator=None):
    order = list(range(len(lengths)))
    if shuffle:
        order = list(RandomSampler(order, generator=generator))
    order = sorted(order, key=lambda i: lengths[i])
    # The least area, and then the fewest batches, that the first n sentences can have.
    least, cut = [(0, 0)], [0]
    for n, i in enumerate(order, 1):
        if lengths[i] > max_tokens:
            raise ValueError(f"no batch of {max_tokens} holds a sentence of {lengths[i]}")
        rows = range(1, min(n, max_tokens // lengths[i]) + 1)
        price = lambda k: (least[n - k][0] + 20 + k * lengths[i], least[n - k][1] + 1)
        best = min(rows, key=price)
        least.append(price(best))
        cut.append(n - best)
    batches, n = [], len(order)
    while n:
        batches.append(order[cut[n] : n])
        n = cut[n]
    if shuffle:
        batches = [batches[i] for i in RandomSampler(batches, generator=generator)]
    return batches
"""

# Rows joined with blanks of their own kind; a class for the batches, and one list for each length.
JOINED = """
from collections import defaultdict

import torch


def collate_batch(
    pairs, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device="cpu", max_len=None
):
    device = torch.device(device)
    sides = {"src": (src_pipeline, src_vocab, []), "tgt": (tgt_pipeline, tgt_vocab, [])}
    for pair in pairs:
        for text, (pipeline, vocab, rows) in zip(pair, sides.values()):
            begin, end = torch.tensor([[vocab["<s>"]], [vocab["</s>"]]], device=device)
            ids = torch.tensor(vocab(pipeline(text)), dtype=torch.int64, device=device)
            keep = len(ids) if max_len is None else min(len(ids), max_len - 2)
            rows.append(torch.cat([begin, ids[:keep], end]))

    def join(vocab, rows):
        width = max(row.size(0) for row in rows)
        blank = vocab["<blank>"]
        full = [torch.cat([r, r.new_full((width - r.size(0),), blank)]) for r in rows]
        return torch.cat([row.unsqueeze(0) for row in full], dim=0)

    return tuple(join(vocab, rows) for _, vocab, rows in sides.values())


class Plan(list):
    def __init__(self, max_tokens):
        self.max_tokens, self.open, self.longest = max_tokens, [], 0

    def put(self, index, length):
        if length > self.max_tokens:
            raise ValueError("too long: " + str(length))
        if max(self.longest, length) * (len(self.open) + 1) > self.max_tokens:
            self.close()
        self.open.append(index)
        self.longest = max(self.longest, length)

    def close(self):
        if self.open:
            self.append(tuple(self.open))
        self.open, self.longest = [], 0


def batches_by_length(lengths, max_tokens, shuffle=True, generator=None):
    by_length = defaultdict(list)
    for index, length in enumerate(lengths):
        by_length[length].append(index)
    plan = Plan(max_tokens)
    for length in sorted(by_length):
        same = torch.tensor(by_length[length])
        if shuffle:
            same = same[torch.multinomial(torch.ones(len(same)), len(same), generator=generator)]
        for index in same.tolist():
            plan.put(index, length)
    plan.close()
    if shuffle and len(plan) > 1:
        even = torch.ones(len(plan))
        plan = [plan[i] for i in torch.multinomial(even, len(plan), generator=generator)]
    return plan
"""

# Only what no sentence reaches stays blank. Sorted in pools, as for data too large to be sorted.
POOLS = '''
import torch


def collate_batch(
    pairs, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device="cpu", max_len=None
):
    pairs = list(pairs)

    def fill(which, pipeline, vocab):
        texts = [pair[which] for pair in pairs]
        longest = max(len(pipeline(text)) for text in texts) + 2
        width = longest if max_len is None else min(longest, max_len)
        ids = torch.empty(len(texts), width, dtype=torch.long, device=device)
        ids.fill_(vocab["<blank>"])
        ids[:, 0] = vocab["<s>"]
        for row, text in zip(ids, texts):
            found = vocab(pipeline(text))[: width - 2]
            for place, i in enumerate(found, 1):
                row[place] = i
            row[len(found) + 1] = vocab["</s>"]
        return ids

    return fill(0, src_pipeline, src_vocab), fill(1, tgt_pipeline, tgt_vocab)


def batches_by_length(lengths, max_tokens, shuffle=True, generator=None):
    def cut(order):
        """The longest go into the first batch; the rest is cut in the same way."""
        if not order:
            return []
        rows = max_tokens // lengths[order[0]]
        if rows == 0:
            raise ValueError(f"{lengths[order[0]]} ids are more than {max_tokens}")
        return [order[:rows], *cut(order[rows:])]

    n = len(lengths)
    order = torch.randperm(n, generator=generator).tolist() if shuffle else list(range(n))
    batches = []
    for begin in range(0, n, 80):
        pool = sorted(order[begin : begin + 80], key=lambda i: lengths[i], reverse=True)
        batches.extend(cut(pool))
    if shuffle:
        for i in range(len(batches) - 1, 0, -1):
            j = int(torch.randint(i + 1, (), generator=generator))
            batches[i], batches[j] = batches[j], batches[i]
    return batches
'''

HONEST = {
    "scattered": SCATTERED,
    "numpy": NUMPY,
    "cheapest": CHEAPEST,
    "joined": JOINED,
    "pools": POOLS,
}
