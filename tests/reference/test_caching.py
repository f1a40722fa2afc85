"""Cached decoding finds what the plain solution finds, and keeps out where it would not."""

import pytest
import torch
from torch import Tensor, nn

import transformer_ref
from benchmarks.plain import plain
from transformer_ref import beam_search, greedy_decode, make_model, subsequent_mask
from transformer_ref.caching import CachedDecoder, can_cache

SIZES = {"src_vocab": 31, "tgt_vocab": 29, "N": 2, "d_model": 24, "d_ff": 40, "h": 3}
START, END, PAD = 0, 1, 2
SEEDS = range(4)
DTYPES = [torch.float32, torch.float64]


def build(package=transformer_ref, seed: int = 0, dtype: torch.dtype = torch.float64):
    """A model with weights large enough that what it says depends on what was said."""
    torch.manual_seed(seed)
    model = package.make_model(**SIZES).to(dtype).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.35)
            else:
                parameter.normal_(mean=float(name.endswith("a_2")), std=0.1)
        model.generator.proj.bias[END] += 3.0  # Some rows are to end, and not all at once.
    return model


def draw(rows: int = 7, length: int = 8) -> tuple[Tensor, Tensor]:
    """Sources with more and more padding, and their mask."""
    src = torch.randint(3, 31, (rows, length), generator=torch.Generator().manual_seed(5))
    for row in range(rows):
        src[row, length - row % length :] = PAD
    return src, (src != PAD).unsqueeze(1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("end", [None, END])
def test_greedy_tokens_are_those_of_the_plain_solution(seed, dtype, end):
    src, mask = draw()
    model, solution = build(seed=seed, dtype=dtype), build(plain(), seed, dtype)
    solution.load_state_dict(model.state_dict())
    assert can_cache(model)
    wanted = plain().greedy_decode(solution, src, mask, 12, START, end)
    assert torch.equal(greedy_decode(model, src, mask, 12, START, end), wanted)
    assert torch.equal(greedy_decode(model, src, mask.int(), 12, START, end), wanted)


def test_rows_of_these_models_end_at_different_lengths():
    """Otherwise the test above would say nothing on rows that are let go."""
    lengths = set()
    for seed in SEEDS:
        ys = greedy_decode(build(seed=seed), *draw(), 12, START, END)
        lengths.add(frozenset((ys[:, 1:] != END).sum(dim=1).tolist()))
    assert max(map(len, lengths)) >= 3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("beam", "alpha"), [(1, 0.6), (3, 0.0), (4, 0.6), (40, 1.0)])
def test_beams_are_those_of_the_plain_solution(seed, dtype, beam, alpha):
    src, mask = draw(rows=4)
    src, mask = src[3:], mask[3:]
    model, solution = build(seed=seed, dtype=dtype), build(plain(), seed, dtype)
    solution.load_state_dict(model.state_dict())
    found = beam_search(model, src, mask, 9, START, END, beam, alpha)
    wanted = plain().beam_search(solution, src, mask, 9, START, END, beam, alpha)
    assert [ids for ids, _ in found] == [ids for ids, _ in wanted]
    scores = [torch.tensor([score for _, score in each], dtype=dtype) for each in (found, wanted)]
    torch.testing.assert_close(*scores)


@pytest.mark.parametrize("masked", [False, True])
def test_each_step_gives_the_log_probabilities_of_a_whole_pass(masked):
    model, (src, mask) = build(), draw()
    mask = mask if masked else None
    ys = torch.randint(0, 29, (7, 6), generator=torch.Generator().manual_seed(6))
    with torch.no_grad():
        memory = model.encode(src, mask)
        wanted = model.generator(model.decode(memory, mask, ys, subsequent_mask(6)))
        decoder = CachedDecoder(model, memory, mask)
        for position in range(6):
            torch.testing.assert_close(decoder.step(ys[:, position]), wanted[:, position])


@pytest.mark.parametrize("one_source", [False, True])
def test_selected_rows_go_on_from_their_own_past(one_source):
    model, (src, mask) = build(), draw()
    if one_source:
        src, mask = src[2:3], mask[2:3]
    ys = torch.randint(0, 29, (7, 6), generator=torch.Generator().manual_seed(6))
    rows = torch.tensor([4, 0, 0, 6])
    with torch.no_grad():
        memory = model.encode(src, mask)
        decoder = CachedDecoder(model, memory, mask)
        for position in range(3):
            decoder.step(ys[:, position])
        decoder.select(rows)
        ys = torch.cat((ys[rows, :3], ys[:4, 3:]), dim=1)
        if one_source:
            rows = torch.zeros(4, dtype=torch.int64)
        wanted = model.generator(model.decode(memory[rows], mask[rows], ys, subsequent_mask(6)))
        for position in range(3, 6):
            torch.testing.assert_close(decoder.step(ys[:, position]), wanted[:, position])


def test_it_runs_in_half_precision():
    src, mask = draw()
    model = build(dtype=torch.bfloat16)
    ys = greedy_decode(model, src, mask, 9, START, END)
    assert ys.dtype == torch.int64 and len(ys) == 7
    assert len(beam_search(model, src[:1], mask[:1], 9, START, END)) == 4
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert len(greedy_decode(build(dtype=torch.float32), src, mask, 9, START, END)) == 7


def test_the_table_of_positions_has_an_end():
    model, (src, mask) = build(), draw()
    model.tgt_embed[1].pe = model.tgt_embed[1].pe[:, :5]
    model.generator.proj.bias.data[END] = -1e9
    assert greedy_decode(model, src, mask, 6, START, END).shape == (7, 6)
    with pytest.raises(ValueError, match="6 positions, but max_len is 5"):
        greedy_decode(model, src, mask, 7, START, END)


class Doubled(transformer_ref.Generator):
    """Says everything twice as loudly; where features come from is not its business."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(2 * x)


def test_what_only_reads_features_may_be_anything():
    model, (src, mask) = build(), draw()
    model.generator = Doubled(24, 29).double()
    assert can_cache(model)
    heard = []
    model.generator.register_forward_hook(lambda *_: heard.append(1))
    greedy_decode(model, src, mask, 5, START)
    assert len(heard) == 4


class Model(transformer_ref.EncoderDecoder):
    pass


def of_another_class() -> nn.Module:
    model = build()
    return Model(*model.children()).eval()


def in_train_mode() -> nn.Module:
    model = build()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model.train()


def watched() -> nn.Module:
    model = build()
    model.decoder.layers[1].src_attn.register_forward_hook(lambda *_: None)
    return model


def with_another_decode() -> nn.Module:
    model = build()
    whole = model.decode
    model.decode = lambda memory, src_mask, tgt, tgt_mask: -whole(memory, src_mask, tgt, tgt_mask)
    return model


def with_another_forward() -> nn.Module:
    model = build()
    layer = model.decoder.layers[0].self_attn
    layer.forward = lambda query, key, value, mask: key.mean(dim=1, keepdim=True) + 0 * query
    return model


class Backwards(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.cumsum(dim=1)


def looking_back_elsewhere() -> nn.Module:
    model = build()
    model.decoder.layers[1].feed_forward = Backwards()
    return model


def without_positions() -> nn.Module:
    model = build()
    model.tgt_embed = model.tgt_embed[:1]
    return model


SPECIAL = [
    of_another_class,
    in_train_mode,
    watched,
    with_another_decode,
    with_another_forward,
    looking_back_elsewhere,
    without_positions,
]


@pytest.mark.parametrize("special", SPECIAL)
def test_a_model_with_something_of_its_own_goes_the_plain_way(special):
    model, (src, mask) = special(), draw()
    assert not can_cache(model)
    found = greedy_decode(model, src, mask, 9, START, END)
    assert torch.equal(found, plain().greedy_decode(model, src, mask, 9, START, END))
    found = beam_search(model, src[:1], mask[:1], 9, START, END)
    wanted = plain().beam_search(model, src[:1], mask[:1], 9, START, END)
    assert [ids for ids, _ in found] == [ids for ids, _ in wanted]


def test_something_of_its_own_does_change_what_it_says():
    """Otherwise the test above would not see that it is not cached."""
    src, mask = draw()
    usual = greedy_decode(build(), src, mask, 9, START)
    for special in (with_another_decode, with_another_forward, without_positions):
        assert not torch.equal(greedy_decode(special(), src, mask, 9, START), usual)


def test_decoding_leaves_the_model_as_it_was():
    model, (src, mask) = build(), draw()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    greedy_decode(model, src, mask, 9, START, END)
    beam_search(model, src[:1], mask[:1], 9, START, END)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    assert make_model(**SIZES).training and can_cache(model)
