"""Parts of the copy task written in more ways, all right: data, losses, loops."""

from __future__ import annotations

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
