"""Right code for steps 10 to 14 of further kinds: by arithmetic, lazily, in tables, by hand."""

from __future__ import annotations

INFERENCE = {
    "a penalty for all but the end": """
import torch
from torch.nn import functional as F
from transformer_ref import subsequent_mask


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
BATCHING = {
    "worked out when asked for": """
import torch
from functools import cached_property


def make_std_mask(tgt, pad):
    n = tgt.size(-1)
    later = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
    blank = torch.where(tgt == pad, float("-inf"), 0.0)
    return torch.isfinite(later + blank[:, None, :])


class Batch:
    def __init__(self, src, tgt=None, pad=2):
        self.pad, self.src = pad, src
        if tgt is not None:
            self.tgt, self.tgt_y = tgt.unfold(1, tgt.size(1) - 1, 1).unbind(1)

    @cached_property
    def src_mask(self):
        return torch.stack([row != self.pad for row in self.src])[:, None]

    @cached_property
    def tgt_mask(self):
        return make_std_mask(self.tgt, self.pad)

    @cached_property
    def ntokens(self):
        return self.tgt_y.numel() - torch.count_nonzero(self.tgt_y == self.pad).item()
""",
    "a namespace, and places compared": """
import torch
from types import SimpleNamespace


def make_std_mask(tgt, pad):
    order = torch.arange(tgt.size(1)).expand_as(tgt)
    order = order.masked_fill(tgt == pad, tgt.size(1))
    return order.unsqueeze(1) <= torch.arange(tgt.size(1)).view(1, -1, 1)


def Batch(src, tgt=None, pad=2):
    batch = SimpleNamespace(src=src, src_mask=src.ne(pad).view(src.size(0), 1, -1))
    if tgt is not None:
        *read, _ = tgt.unbind(1)
        _, *said = tgt.unbind(1)
        batch.tgt, batch.tgt_y = torch.stack(read, 1), torch.stack(said, 1)
        batch.tgt_mask = make_std_mask(batch.tgt, pad)
        batch.ntokens = int(batch.tgt_y.ne(pad).sum())
    return batch
""",
}
SCHEDULE = {
    "each rate a multiple of the one before": """
import math
import torch


def rate(step, model_size, factor, warmup):
    step = 1 if step < 1 else step
    logs = (-0.5 * math.log(step), math.log(step) - 1.5 * math.log(warmup))
    return factor * math.exp(min(logs) - 0.5 * math.log(model_size))


def make_optimizer(model, d_model, factor=1.0, warmup=4000):
    now = lambda n: rate(n, d_model, factor, warmup)
    adam = torch.optim.Adam(list(model.parameters()), now(1), (0.9, 0.98), 1e-9)
    grow = lambda n: now(n + 1) / now(n)
    return adam, torch.optim.lr_scheduler.MultiplicativeLR(adam, grow)
""",
    "a scheduler of its own, two groups": """
import torch
from torch.optim.lr_scheduler import LRScheduler


def rate(step, model_size, factor, warmup):
    step = max(float(step), 1.0)
    return factor / (model_size * max(step, warmup**3 / step**2)) ** 0.5


class Noam(LRScheduler):
    def __init__(self, optimizer, *sizes):
        self.sizes = sizes
        super().__init__(optimizer)

    def get_lr(self):
        return [rate(self.last_epoch + 1, *self.sizes) for _ in self.optimizer.param_groups]


def make_optimizer(model, d_model, factor=1.0, warmup=4000):
    weights = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": weights}, {"params": others}]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.98), eps=1e-9)
    return optimizer, Noam(optimizer, d_model, factor, warmup)
""",
}
SMOOTHING = {
    "a table of all distributions": """
import torch
from torch import nn


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        table = torch.full((size, size), smoothing / (size - 2))
        table.fill_diagonal_(1 - smoothing)
        table[padding_idx, :] = table[:, padding_idx] = 0
        self.wanted = nn.Embedding.from_pretrained(table, freeze=True)

    def forward(self, x, target):
        return nn.functional.kl_div(x, self.wanted(target), reduction="none").sum()
""",
    "a backward pass by hand": """
import torch
from torch import nn


class Smoothed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, q):
        ctx.save_for_backward(q)
        return torch.special.entr(q).sum().neg() - torch.einsum("nv,nv->", q, x)

    @staticmethod
    def backward(ctx, slope):
        (q,) = ctx.saved_tensors
        return -slope * q, None


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        words = torch.arange(size)
        q = torch.where(words[:, None] == words, 1.0 - smoothing, smoothing / (size - 2))
        q[padding_idx], q[:, padding_idx] = 0.0, 0.0
        self.register_buffer("wanted", q, persistent=False)

    def forward(self, x, target):
        return Smoothed.apply(x, self.wanted[target].to(x))
""",
}

# Parts of step 14.
DATAS = {
    "batches that can be gone through again": """
class Copies:
    def __init__(self, V, batch_size, nbatches, length, generator):
        self.V, self.n, self.generator = V, nbatches, generator
        self.shape = batch_size, length - 1

    def __len__(self):
        return self.n

    def __iter__(self):
        for _ in range(self.n):
            even = torch.ones(self.shape[0], self.V - 1)
            rest = torch.multinomial(even, self.shape[1], True, generator=self.generator)
            ids = nn.functional.pad(rest + 1, (1, 0), value=1)
            yield Batch(ids, ids.detach().clone(), pad=0)


def data_gen(V, batch_size, nbatches, length=10, generator=None):
    return Copies(V, batch_size, nbatches, length, generator)
""",
}
LOSSES = {
    "sentence by sentence": """
class SimpleLossCompute:
    def __init__(self, generator, criterion):
        self.parts = generator, criterion

    def __call__(self, x, y, norm):
        say, judge = self.parts
        total = sum(judge(say(features), words) for features, words in zip(x, y))
        return total.detach().clone(), torch.div(total, norm)

""",
}
LOOPS = {
    "gradients asked for and added up by hand": """
def run_epoch(
    batches, model, loss_compute, optimizer, scheduler, mode="train", accum_iter=1, train_state=None
):
    from itertools import islice

    state = TrainState() if train_state is None else train_state
    params = [p for p in model.parameters() if p.requires_grad]
    if mode == "train":
        model.train()
    else:
        model.eval()
    batches, totals, words = iter(batches), [], []
    while group := list(islice(batches, accum_iter)):
        slopes = [torch.zeros_like(p) for p in params]
        for batch in group:
            with torch.set_grad_enabled(mode == "train"):
                features = model(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
                total, loss = loss_compute(features, batch.tgt_y, batch.ntokens)
            totals.append(torch.as_tensor(total).item())
            words.append(int(batch.ntokens))
            if mode == "train":
                found = torch.autograd.grad(loss, params, allow_unused=True)
                slopes = [s if f is None else s + f for s, f in zip(slopes, found)]
                state.step += 1
                state.samples += len(batch.src)
                state.tokens += words[-1]
        if mode == "train":
            for p, slope in zip(params, slopes):
                p.grad = slope
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
            state.accum_step += 1
    return sum(totals) / sum(words), state
""",
}
