"""The reference is fast and the solutions are plain: the numbers are the same."""

from functools import partial
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import transformer_ref
from benchmarks.plain import plain

SRC_VOCAB, TGT_VOCAB, PAD, START, END = 17, 19, 2, 0, 1
SIZES = {"N": 2, "d_model": 24, "d_ff": 40, "h": 3, "dropout": 0.0}


def ids(vocab: int, lengths: list[int], seed: int) -> Tensor:
    """Rows from start to end symbol, filled up to the longest."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = torch.randint(4, vocab, (length,), generator=generator)
        row[0], row[length - 1] = START, END
    return rows


def pairs(n: int) -> list[tuple[Tensor, Tensor]]:
    """Source and target ids of n batches, short and long."""
    shapes = [([5, 7, 3], [6, 4, 4]), ([2, 4], [9, 3]), ([6], [5]), ([3, 3, 9, 4], [7, 7, 2, 5])]
    return [
        (ids(SRC_VOCAB, src, seed=i), ids(TGT_VOCAB, tgt, seed=50 + i))
        for i, (src, tgt) in enumerate(shapes[:n])
    ]


def build(of: Any, dtype: torch.dtype) -> nn.Module:
    """A model with the weights that the reference draws, its norms and biases among them."""
    torch.manual_seed(0)
    weights = transformer_ref.make_model(SRC_VOCAB, TGT_VOCAB, **SIZES)
    for name, parameter in weights.named_parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=float(name.endswith("a_2")), std=0.3)
    model = of.make_model(SRC_VOCAB, TGT_VOCAB, **SIZES)
    model.load_state_dict(weights.state_dict(), strict=True)
    return model.to(dtype)


BOTH = (transformer_ref, plain())


@pytest.fixture(params=[torch.float32, torch.float64], ids=str)
def dtype(request):
    return request.param


def compare(results: list[Any], dtype: torch.dtype) -> None:
    # Both round; single precision after sums over hundreds of products is good to some 1e-5.
    tolerance = {"rtol": 1e-4, "atol": 2e-5} if dtype == torch.float32 else {}
    torch.testing.assert_close(*results, **tolerance)


def step(of: ModuleType, model: nn.Module, src: Tensor, tgt: Tensor) -> tuple[Any, ...]:
    """Logits, losses and gradients of a batch."""
    batch = of.Batch(src, tgt, PAD)
    features = model(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
    loss_compute = of.SimpleLossCompute(
        model.generator, of.LabelSmoothing(TGT_VOCAB, PAD, smoothing=0.1)
    )
    total, loss = loss_compute(features, batch.tgt_y, batch.ntokens)
    names, parameters = zip(*model.named_parameters(), strict=True)
    gradients = dict(zip(names, torch.autograd.grad(loss, parameters), strict=True))
    log_probs = model.generator(features).detach()
    return log_probs, total, loss.detach(), gradients


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("batch", range(4))
def test_logits_losses_and_gradients(batch, training, dtype):
    pair = pairs(4)[batch]
    models = [build(of, dtype).train(training) for of in BOTH]
    compare([step(of, m, *pair) for of, m in zip(BOTH, models, strict=True)], dtype)


def test_attention_weights(dtype):
    pair, maps = pairs(1)[0], []
    for of in BOTH:
        model = build(of, dtype)
        step(of, model, *pair)
        maps.append({k: m.attn.detach() for k, m in model.named_modules() if hasattr(m, "attn")})
    assert len(maps[0]) == 3 * SIZES["N"]
    compare(maps, dtype)


def test_a_few_epochs(dtype):
    results = []
    for of in BOTH:
        model = build(of, dtype)
        optimizer, scheduler = of.make_optimizer(model, SIZES["d_model"], warmup=6)
        loss_compute = of.SimpleLossCompute(
            model.generator, of.LabelSmoothing(TGT_VOCAB, PAD, smoothing=0.1)
        )
        batches = [of.Batch(src, tgt, PAD) for src, tgt in pairs(4)]
        run = partial(of.run_epoch, batches, model, loss_compute)
        losses = [run(optimizer, scheduler, accum_iter=n)[0] for n in (1, 3)]
        losses.append(run(None, None, mode="eval")[0])
        # The bias of the keys shifts all scores of a query alike: its gradient is rounding only.
        weights = {k: x for k, x in model.state_dict().items() if "linears.1.bias" not in k}
        results.append((torch.tensor([float(x) for x in losses]), weights))
    # Adam divides by the root of a gradient's square: where one is nearly 0, rounding shows.
    tolerance = {"rtol": 1e-3, "atol": 1e-3} if dtype == torch.float32 else {}
    torch.testing.assert_close(*results, **tolerance)


@pytest.mark.parametrize("end", [None, END])
def test_greedy_tokens(end, dtype):
    src, _ = pairs(4)[3]
    src_mask = (src != PAD).unsqueeze(-2)
    decoded = []
    for of in BOTH:
        model = build(of, dtype).eval()
        decoded.append(of.greedy_decode(model, src, src_mask, 12, START, end).tolist())
    assert decoded[0] == decoded[1]
