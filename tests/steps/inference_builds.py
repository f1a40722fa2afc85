"""Greedy decoders written in many ways, all right; and the published one, which is not."""

from __future__ import annotations

_TOP = "import torch\nfrom transformer_ref import subsequent_mask\n\n"

# Mistakes are planted in these by hand.
BUILDS = {
    "mended": """
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    with torch.no_grad():
        memory = model.encode(src, src_mask)
        ys = torch.zeros(src.shape[0], 1).fill_(start_symbol).type_as(src.data)
        done = [False] * src.shape[0]
        for i in range(max_len - 1):
            mask = subsequent_mask(ys.size(1)).type_as(src.data)
            out = model.decode(memory, src_mask, ys, mask)
            prob = model.generator(out[:, -1])
            _, next_word = torch.max(prob, dim=1)
            for row, word in enumerate(next_word.tolist()):
                if done[row]:
                    next_word[row] = end_symbol
                elif end_symbol is not None and word == end_symbol:
                    done[row] = True
            ys = torch.cat([ys, next_word[:, None]], dim=1)
            if all(done):
                break
    return ys
""",
    "lists": """
@torch.inference_mode()
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    memory = model.encode(src, src_mask)
    rows = [[start_symbol] for _ in src]
    open_rows = set(range(len(rows)))
    while open_rows and len(rows[0]) < max_len:
        ids = torch.tensor(rows)
        n = ids.shape[1]
        mask = (torch.triu(torch.ones(1, n, n), 1) == 0).to(torch.uint8)
        logp = model.generator(model.decode(memory, src_mask, ids, mask))[:, n - 1, :]
        chosen = logp.topk(1).indices.squeeze(-1)
        for i, row in enumerate(rows):
            row.append(int(chosen[i]) if i in open_rows else end_symbol)
            if end_symbol is not None and row[-1] == end_symbol:
                open_rows.discard(i)
    return torch.tensor(rows)
""",
    "buffer": """
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    stop = end_symbol is not None
    filler = end_symbol if stop else 0
    out = src.new_full((len(src), max_len), filler)
    out[:, 0] = start_symbol
    alive = torch.ones(len(src), dtype=torch.bool)
    with torch.no_grad():
        memory = model.encode(src, src_mask)
        causal = torch.ones(max_len, max_len).tril()[None]
        t = 1
        while t < max_len:
            feats = model.decode(memory, src_mask, out[:, :t], causal[:, :t, :t])
            best = model.generator(feats[:, t - 1]).max(-1)[1]
            out[:, t] = torch.where(alive, best, torch.tensor(filler))
            t += 1
            if stop:
                alive = alive & (best != end_symbol)
                if not alive.any():
                    break
    return out[:, :t]
""",
}

OTHERS = {
    "13.3 the whole buffer in every step": """
@torch.no_grad()
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    memory = model.encode(src, src_mask)
    ys = torch.zeros(len(src), max_len, dtype=torch.long)
    ys[:, 0] = start_symbol
    mask = subsequent_mask(max_len)
    ended = torch.zeros(len(src), dtype=torch.bool)
    for t in range(1, max_len):
        logits = model.generator(model.decode(memory, src_mask, ys, mask))
        ys[:, t] = logits[:, t - 1].argmax(1)
        if end_symbol is not None:
            ys[ended, t] = end_symbol
            ended |= ys[:, t] == end_symbol
            if ended.all():
                return ys[:, : t + 1]
    return ys
""",
    "13.6 sentence by sentence": """
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    found = []
    for i in range(len(src)):
        one, mask = src[i : i + 1], src_mask[i : i + 1]
        with torch.no_grad():
            memory = model.encode(one, mask)
            ys = torch.tensor([[start_symbol]])
            while ys.size(1) < max_len:
                out = model.decode(memory, mask, ys, subsequent_mask(ys.size(1)))
                word = model.generator(out[:, -1]).argmax(-1, keepdim=True)
                ys = torch.cat((ys, word), 1)
                if end_symbol is not None and word.item() == end_symbol:
                    break
        found.append(ys[0])
    longest = max(map(len, found))
    full = torch.full((len(src), longest), end_symbol if end_symbol is not None else 0)
    for row, ids in zip(full, found):
        row[: len(ids)] = ids
    return full
""",
    "13.4 a mode of its own, put back; a mask for each sentence": """
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            memory = model.encode(src, src_mask)
            ys = torch.full((src.size(0), 1), start_symbol).long()
            for _ in range(1, max_len):
                mask = subsequent_mask(ys.size(1)).expand(src.size(0), -1, -1)
                step = model.generator(model.decode(memory, src_mask, ys, mask)[:, -1])
                word = step.exp().argmax(-1)
                if end_symbol is not None:
                    over = (ys[:, 1:] == end_symbol).any(1)
                    word = torch.where(over, torch.full_like(word, end_symbol), word)
                ys = torch.column_stack([ys, word])
                if end_symbol is not None and bool((ys[:, 1:] == end_symbol).any(1).all()):
                    break
        return ys
    finally:
        model.train(was)
""",
    "13.5 the model called as a whole": """
@torch.no_grad()
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    ys = torch.full((len(src), 1), start_symbol)
    for _ in range(max_len - 1):
        out = model(src, ys, src_mask, subsequent_mask(ys.size(1)))
        word = model.generator(out[:, -1]).argmax(-1)
        if end_symbol is not None:
            word[(ys[:, 1:] == end_symbol).any(1)] = end_symbol
        ys = torch.cat([ys, word.view(-1, 1)], -1)
        if end_symbol is not None and (word == end_symbol).all():
            break
    return ys
""",
    "13.1 recursion": """
@torch.no_grad()
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    return _more(
        model, model.encode(src, src_mask), src_mask, max_len,
        torch.full((src.size(0), 1), start_symbol), end_symbol,
    )


def _more(model, memory, src_mask, max_len, ys, end):
    over = torch.zeros(len(ys)).bool() if end is None else (ys[:, 1:] == end).any(1)
    if ys.size(1) >= max_len or over.all():
        return ys
    out = model.decode(memory, src_mask, ys, subsequent_mask(ys.size(1)))
    word = model.generator(out[:, -1]).sort(-1, descending=True)[1][:, 0]
    if end is not None:
        word = word.masked_fill(over, end)
    return _more(model, memory, src_mask, max_len, torch.hstack([ys, word[:, None]]), end)
""",
    "13.6 ended rows leave the batch": """
@torch.no_grad()
def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    memory = model.encode(src, src_mask)
    rows = torch.arange(src.size(0))
    ys = torch.full((src.size(0), 1), start_symbol)
    while ys.size(1) < max_len and len(rows):
        out = model.decode(memory[rows], src_mask[rows], ys[rows], subsequent_mask(ys.size(1)))
        column = ys.new_full((len(ys), 1), -1 if end_symbol is None else end_symbol)
        column[rows, 0] = model.generator(out[:, -1]).argmax(-1)
        ys = torch.cat((ys, column), 1)
        if end_symbol is not None:
            rows = rows[column[rows, 0] != end_symbol]
    return ys
""",
    "a penalty for all but the end": """
from torch.nn import functional as F


def greedy_decode(model, src, src_mask, max_len, start_symbol, end_symbol=None):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        memory = model.encode(src, src_mask)
        columns = [torch.full((src.size(0),), start_symbol, dtype=torch.int64)]
        ended = torch.zeros(src.size(0), dtype=torch.long)
        for n in range(1, max_len):
            ys = torch.stack(columns, dim=-1)
            out = model.decode(memory, src_mask, ys, subsequent_mask(n))
            log_p = model.generator(out.select(1, -1))
            if end_symbol is not None:
                end = F.one_hot(torch.tensor(end_symbol), log_p.size(1))
                log_p = log_p + 1e6 * ended[:, None] * end
            columns.append(log_p.max(dim=1).indices)
            if end_symbol is not None:
                ended = ended | columns[-1].eq(end_symbol).long()
                if ended.min() == 1:
                    break
        return torch.stack(columns, dim=1)
    finally:
        torch.set_grad_enabled(before)
""",
}

# After the code that is widely copied: one sentence, no end, gradients on.
PUBLISHED = (
    _TOP
    + """
def greedy_decode(model, src, src_mask, max_len, start_symbol):
    memory = model.encode(src, src_mask)
    words = torch.zeros(1, 1).fill_(start_symbol).type_as(src.data)
    for _ in range(max_len - 1):
        mask = subsequent_mask(words.size(1)).type_as(src.data)
        prob = model.generator(model.decode(memory, src_mask, words, mask)[:, -1])
        _, best = torch.max(prob, dim=1)
        best = best.data[0]
        words = torch.cat([words, torch.zeros(1, 1).type_as(src.data).fill_(best)], dim=1)
    return words
"""
)

BUILDS = {name: _TOP + text for name, text in BUILDS.items()}
HONEST = BUILDS | {name: _TOP + text for name, text in OTHERS.items()}
