"""The whole model: wiring, initialization, published names, and behaviour from ids to features."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from transformer_ref import (
    EncoderDecoder,
    Generator,
    MultiHeadedAttention,
    make_model,
    subsequent_mask,
)

SRC_VOCAB, TGT_VOCAB, N, D_MODEL, D_FF, H = 17, 13, 2, 12, 20, 3
PAD = 2


def build(dropout: float = 0.0) -> EncoderDecoder:
    torch.manual_seed(0)
    return make_model(SRC_VOCAB, TGT_VOCAB, N, D_MODEL, D_FF, H, dropout)


def ids(vocab: int, *shape: int, seed: int = 0) -> Tensor:
    """Ids of real words, PAD not among them."""
    return torch.randint(3, vocab, shape, generator=torch.Generator().manual_seed(seed))


def model_parts() -> Iterator[tuple[str, tuple[int, ...]]]:
    """The names and shapes that the published model's checkpoints have."""
    for stack, sublayers in (("encoder", 2), ("decoder", 3)):
        for i in range(N):
            layer = f"{stack}.layers.{i}"
            for attn in ("self_attn", "src_attn")[: sublayers - 1]:
                for j in range(4):
                    yield f"{layer}.{attn}.linears.{j}.weight", (D_MODEL, D_MODEL)
                    yield f"{layer}.{attn}.linears.{j}.bias", (D_MODEL,)
            yield f"{layer}.feed_forward.w_1.weight", (D_FF, D_MODEL)
            yield f"{layer}.feed_forward.w_1.bias", (D_FF,)
            yield f"{layer}.feed_forward.w_2.weight", (D_MODEL, D_FF)
            yield f"{layer}.feed_forward.w_2.bias", (D_MODEL,)
            for j in range(sublayers):
                yield f"{layer}.sublayer.{j}.norm.a_2", (D_MODEL,)
                yield f"{layer}.sublayer.{j}.norm.b_2", (D_MODEL,)
        yield f"{stack}.norm.a_2", (D_MODEL,)
        yield f"{stack}.norm.b_2", (D_MODEL,)
    for side, vocab in (("src", SRC_VOCAB), ("tgt", TGT_VOCAB)):
        yield f"{side}_embed.0.lut.weight", (vocab, D_MODEL)
        yield f"{side}_embed.1.pe", (1, 5000, D_MODEL)
    yield "generator.proj.weight", (TGT_VOCAB, D_MODEL)
    yield "generator.proj.bias", (TGT_VOCAB,)


def test_a_published_checkpoint_loads_strictly():
    model = build()
    checkpoint = {name: torch.randn(shape) for name, shape in model_parts()}
    model.load_state_dict(checkpoint, strict=True)
    torch.testing.assert_close(dict(model.state_dict()), checkpoint)


def test_nothing_is_shared():
    model = build()
    named = [*model.named_parameters(remove_duplicate=False)]
    named += model.named_buffers(remove_duplicate=False)
    assert len(named) == len(list(model_parts()))
    assert len({x.untyped_storage().data_ptr() for _, x in named}) == len(named)


def test_every_parameter_has_a_gradient():
    model = build().double()
    src, tgt = ids(SRC_VOCAB, 2, 7), ids(TGT_VOCAB, 2, 6)
    log_probs = model.generator(model(src, tgt, None, subsequent_mask(6)))
    log_probs[..., 5].sum().backward()
    # A bias of the keys moves all scores of a query alike, so its gradient is rounding only.
    for name, x in model.named_parameters():
        largest = x.grad.abs().max().item()
        assert largest < 1e-12 if name.endswith("linears.1.bias") else largest > 1e-6, name


def test_matrices_are_xavier_uniform():
    torch.manual_seed(0)
    model = make_model(70, 60, N, 30, 50, H)
    for name, x in model.named_parameters():
        if x.dim() < 2:
            continue
        bound = (6 / (x.size(0) + x.size(1))) ** 0.5
        assert 0.97 * bound < x.abs().max() <= bound, name
        assert x.std().item() == pytest.approx(bound / 3**0.5, rel=0.1), name
        assert abs(x.mean().item()) < 0.1 * bound, name


def test_vectors_stay_as_their_layers_made_them():
    torch.manual_seed(0)
    model = make_model(70, 60, N, 30, 50, H)
    values = dict(model.named_parameters())
    for name, x in values.items():
        if name.endswith("a_2"):
            assert (x == 1).all(), name
        elif name.endswith("b_2"):
            assert (x == 0).all(), name
        elif x.dim() == 1:  # A linear layer's: uniform up to the root of 1 / its inputs.
            bound = values[name.removesuffix("bias") + "weight"].size(1) ** -0.5
            assert 0.7 * bound < x.abs().max() <= bound, name


def test_copies_of_a_layer_do_not_start_equal():
    weights = [x for name, x in build().named_parameters() if "linears" in name and x.dim() > 1]
    assert len({x.sum().item() for x in weights}) == len(weights) == 3 * 4 * N


def test_dropout_reaches_every_place_and_the_weights_of_attention():
    model = build(dropout=0.3)
    rates = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    # In a layer of the encoder: attention, hidden units, two branches; of the decoder: two more.
    assert rates == [0.3] * (4 * N + 6 * N + 2)
    model, src, tgt = build(dropout=1.0), ids(SRC_VOCAB, 2, 7), ids(TGT_VOCAB, 2, 6)
    model(src, tgt, None, None)
    for layer in model.decoder.layers:
        assert (layer.self_attn.attn == 0).all() and (layer.src_attn.attn == 0).all()


def test_without_dropout_training_is_evaluation():
    model, src, tgt = build(), ids(SRC_VOCAB, 2, 7), ids(TGT_VOCAB, 2, 6)
    assert model.training
    y = model(src, tgt, None, subsequent_mask(6))
    assert torch.equal(model.eval()(src, tgt, None, subsequent_mask(6)), y)


def test_forward_is_decode_after_encode_and_leaves_the_generator_out():
    model, src, tgt = build(), ids(SRC_VOCAB, 2, 7), ids(TGT_VOCAB, 2, 6)
    src_mask, tgt_mask = (torch.arange(7) < 5).expand(2, 1, 7), subsequent_mask(6)
    memory = model.encode(src, src_mask)
    y = model.decode(memory, src_mask, tgt, tgt_mask)
    assert memory.shape == (2, 7, D_MODEL) and y.shape == (2, 6, D_MODEL)
    torch.testing.assert_close(model(src, tgt, src_mask, tgt_mask), y)
    embedded = model.src_embed(src), model.tgt_embed(tgt)
    by_hand = model.encoder(embedded[0], src_mask)
    torch.testing.assert_close(model.decoder(embedded[1], by_hand, src_mask, tgt_mask), y)


def test_the_generator_gives_log_probabilities():
    generator, x = Generator(D_MODEL, TGT_VOCAB), torch.randn(2, 6, D_MODEL)
    y = generator(x)
    torch.testing.assert_close(y.exp().sum(-1), torch.ones(2, 6))
    torch.testing.assert_close(y, nn.functional.log_softmax(generator.proj(x), -1))
    assert generator(1e4 * x).isfinite().all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16), t=st.integers(0, 5), pads=st.integers(1, 4))
def test_neither_later_words_nor_padding_nor_neighbours_count(seed, t, pads):
    model = build().double().eval()
    src, tgt = ids(SRC_VOCAB, 2, 7, seed=seed), ids(TGT_VOCAB, 2, 6, seed=seed)
    y = model(src, tgt, None, subsequent_mask(6))

    longer = torch.cat([src, torch.full((2, pads), PAD)], dim=1)
    src_mask = (longer != PAD).unsqueeze(1)
    begun = tgt[:, : t + 1]
    padded = model(longer, begun, src_mask, subsequent_mask(t + 1))
    torch.testing.assert_close(padded, y[:, : t + 1])

    tgt_mask = subsequent_mask(6)
    alone = torch.cat([model(src[i : i + 1], tgt[i : i + 1], None, tgt_mask) for i in (0, 1)])
    torch.testing.assert_close(alone, y)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16), first=st.integers(0, 6), second=st.integers(0, 6))
def test_the_order_of_the_source_counts(seed, first, second):
    model = build().double().eval()
    src, tgt = ids(SRC_VOCAB, 1, 7, seed=seed), ids(TGT_VOCAB, 1, 6, seed=seed)
    swapped = src.clone()
    swapped[:, [first, second]] = src[:, [second, first]]
    difference = (model(src, tgt, None, None) - model(swapped, tgt, None, None)).abs().max()
    assert (difference > 1e-6) == (not torch.equal(swapped, src))


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-5), (torch.bfloat16, 5e-2), (torch.float16, 5e-3)]
)
def test_a_model_of_another_dtype_says_about_the_same(dtype, tolerance):
    model, src, tgt = build().eval(), ids(SRC_VOCAB, 2, 7), ids(TGT_VOCAB, 2, 6)
    expected = model.generator(model(src, tgt, None, subsequent_mask(6)))
    model.to(dtype)
    y = model.generator(model(src, tgt, None, subsequent_mask(6)))
    assert y.dtype == dtype
    torch.testing.assert_close(y.float(), expected, atol=tolerance, rtol=tolerance)


def test_the_model_compiles_to_one_graph():
    model = make_model(SRC_VOCAB, TGT_VOCAB, 1, D_MODEL, D_FF, H)
    torch.compiler.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    for length in (6, 5):
        src, tgt = ids(SRC_VOCAB, 2, 7), ids(TGT_VOCAB, 2, length)
        results = []
        for function in (model, compiled):
            torch.manual_seed(1)
            results.append(function(src, tgt, None, subsequent_mask(length)))
        torch.testing.assert_close(*results)


def test_figures_of_the_published_model():
    with torch.device("meta"):  # Shapes only: nothing is stored or drawn.
        model = make_model(8316, 6384)
    counts = {
        name: sum(x.numel() for x in part.parameters()) for name, part in model.named_children()
    }
    assert counts == {
        "encoder": 18_915_328,
        "decoder": 25_225_216,
        "src_embed": 4_257_792,
        "tgt_embed": 3_268_608,
        "generator": 3_274_992,
    }
    assert sum(counts.values()) == sum(x.numel() for x in model.parameters()) == 54_941_936
    # What the counts do not show: 8 heads, and a tenth dropped everywhere.
    modules = list(model.modules())
    assert {m.h for m in modules if isinstance(m, MultiHeadedAttention)} == {8}
    assert {m.p for m in modules if isinstance(m, nn.Dropout)} == {0.1}


@pytest.mark.parametrize(("d_model", "h"), [(12, 5), (12, 0), (1, 1)])
def test_widths_that_do_not_work_are_refused(d_model, h):
    with pytest.raises(ValueError, match="at least"):
        make_model(SRC_VOCAB, TGT_VOCAB, N, d_model, D_FF, h)
