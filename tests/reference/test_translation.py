"""Beam search against exhaustive search, translation of text, and maps that are of this call."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from transformer_ref import (
    Vocabulary,
    attention_maps,
    beam_search,
    greedy_decode,
    make_model,
    subsequent_mask,
    translate,
)

START, END = 0, 1
SRC = torch.tensor([[5, 6]])


class Table(nn.Module):
    """Writes down how probable each next id is after each beginning.

    Args:
        probabilities: from a beginning, without its start symbol, to those of ids 0, 1, ...; after
            any other beginning they are drawn from the seed.
        vocab: the number of ids that are drawn for.
        seed: for the rest of the table.
    """

    def __init__(self, probabilities: dict | None = None, vocab: int = 4, seed: int = 0) -> None:
        super().__init__()
        self.probabilities, self.vocab, self.seed = probabilities or {}, vocab, seed

    def log_probs(self, ids: tuple[int, ...]) -> Tensor:
        """(vocab,), float64, for what follows these ids."""
        if ids in self.probabilities:
            return torch.tensor(self.probabilities[ids], dtype=torch.float64).log()
        number = self.seed + sum((i + 1) * 17**place for place, i in enumerate(ids))
        generator = torch.Generator().manual_seed(number)
        return torch.randn(self.vocab, generator=generator, dtype=torch.float64).log_softmax(-1)

    def encode(self, src: Tensor, src_mask: Tensor | None) -> Tensor:
        return src.unsqueeze(-1).double()

    def decode(
        self, memory: Tensor, src_mask: Tensor | None, tgt: Tensor, tgt_mask: Tensor
    ) -> Tensor:
        assert len(memory) == len(tgt)
        beginnings = [[tuple(row[1 : n + 1]) for n in range(len(row))] for row in tgt.tolist()]
        return torch.stack([torch.stack([self.log_probs(b) for b in row]) for row in beginnings])

    def generator(self, x: Tensor) -> Tensor:
        return x


def search(table: Table, max_len: int, beam: int = 4, alpha: float = 0.6):
    return beam_search(table, SRC, None, max_len, START, END, beam, alpha)


def score(table: Table, ids: list[int], alpha: float) -> float:
    """What the definition says, id by id."""
    said = ids[1:]
    log_p = sum(float(table.log_probs(tuple(said[:n]))[said[n]]) for n in range(len(said)))
    return log_p / ((5 + len(said)) / 6) ** alpha


def everything(vocab: int, max_len: int) -> list[list[int]]:
    """All targets that end, or are as long as may be."""
    others = [index for index in range(vocab) if index != END]
    found = []
    for length in range(max_len - 1):
        for said in itertools.product(others, repeat=length):
            found.append([START, *said, END])
    found += [[START, *said] for said in itertools.product(others, repeat=max_len - 1)]
    return found


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    max_len=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
)
def test_a_beam_wide_enough_is_an_exhaustive_search(seed, max_len, alpha):
    table = Table(seed=seed)
    wanted = [(ids, score(table, ids, alpha)) for ids in everything(4, max_len)]
    wanted.sort(key=lambda pair: pair[1], reverse=True)
    found = search(table, max_len, beam=100, alpha=alpha)
    assert [ids for ids, _ in found] == [ids for ids, _ in wanted]
    assert [value for _, value in found] == pytest.approx([value for _, value in wanted])


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    max_len=st.integers(1, 7),
    beam=st.integers(1, 5),
    alpha=st.sampled_from([0.0, 0.6]),
)
def test_what_is_found_is_scored_as_defined_and_sorted(seed, max_len, beam, alpha):
    table = Table(seed=seed, vocab=5)
    found = search(table, max_len, beam, alpha)
    assert 1 <= len(found) <= beam and len({tuple(ids) for ids, _ in found}) == len(found)
    for ids, value in found:
        assert ids[0] == START and len(ids) <= max_len
        assert END not in ids[1:-1] and (ids[-1] == END or len(ids) == max_len)
        assert value == pytest.approx(score(table, ids, alpha))
    assert [value for _, value in found] == sorted((v for _, v in found), reverse=True)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**20), max_len=st.integers(1, 8), alpha=st.sampled_from([0.0, 0.6]))
def test_a_beam_of_one_is_greedy(seed, max_len, alpha):
    table = Table(seed=seed, vocab=6)
    ((ids, _),) = search(table, max_len, beam=1, alpha=alpha)
    assert ids == greedy_decode(table, SRC, None, max_len, START, END)[0].tolist()


# Greedily 2 is taken first, which leads nowhere good; 3 has the best ending.
GARDEN_PATH = {
    (): [0.0, 0.1, 0.5, 0.4],
    (2,): [0.3, 0.2, 0.25, 0.25],
    (3,): [0.0, 0.9, 0.05, 0.05],
}


def test_a_second_best_beginning_may_win():
    assert search(Table(GARDEN_PATH), 3, beam=1, alpha=0)[0][0][:2] == [START, 2]
    (ids, value), *_ = search(Table(GARDEN_PATH), 3, beam=2, alpha=0)
    assert ids == [START, 3, END] and math.exp(value) == pytest.approx(0.36)


def test_what_has_ended_waits_for_the_others():
    table = Table(
        {
            (): [0.0, 0.4, 0.35, 0.25],
            (2,): [0.3, 0.2, 0.1, 0.4],
            (3,): [0.9, 0.0, 0.05, 0.05],
            (3, 0): [0.05, 0.95, 0.0, 0.0],
        }
    )
    found = search(table, 4, beam=2, alpha=0)
    assert found[0][0] == [START, END]
    # And something that goes on may overtake it, when length counts for it.
    assert search(table, 4, beam=3, alpha=3)[0][0] == [START, 3, 0, END]


def test_a_length_of_one_is_the_start_symbol():
    assert search(Table(), 1) == [([START], 0.0)]


def test_a_start_symbol_that_is_the_end_symbol_ends_nothing():
    table = Table({(): [0.1, 0.1, 0.6, 0.2], (2,): [0.1, 0.7, 0.1, 0.1]})
    assert beam_search(table, SRC, None, 5, END, END, 1)[0][0] == [END, 2, END]


@pytest.mark.parametrize(
    ("rows", "max_len", "beam"), [(2, 5, 4), (1, 0, 4), (1, 5, 0)], ids=["rows", "max_len", "beam"]
)
def test_what_makes_no_sense_is_refused(rows, max_len, beam):
    with pytest.raises(ValueError, match="at least 1"):
        beam_search(Table(), SRC.expand(rows, -1), None, max_len, START, END, beam)


GERMAN = Vocabulary(["<s>", "</s>", "<blank>", "<unk>", "ein", "Mann"])
ENGLISH = Vocabulary(["a", "man", "<blank>", "<unk>", "<s>", "</s>", "."])


class Says(nn.Module):
    """Says some tokens whatever it is given, and remembers what that was."""

    def __init__(self, *tokens: str) -> None:
        super().__init__()
        self.script = ENGLISH(tokens)
        self.part = nn.Dropout()
        self.heard: list = []

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        self.heard.append((src, src_mask, torch.is_grad_enabled(), self.part.training))
        return src.unsqueeze(-1).float()

    def decode(self, memory: Tensor, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor) -> Tensor:
        ids = torch.tensor(self.script[: tgt.size(1)]).expand(len(tgt), -1)
        return 9 * nn.functional.one_hot(ids, len(ENGLISH)).float()

    def generator(self, x: Tensor) -> Tensor:
        return x.log_softmax(dim=-1)


def english(model: nn.Module, sentence: str = "ein Mann", **options) -> str:
    return translate(model, sentence, str.split, GERMAN, ENGLISH, **options)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_is_numbered_marked_and_put_into_words(beam):
    model = Says("<s>", "a", "<blank>", "man", "<unk>", ".", "</s>", "a", "a")
    assert english(model, "ein Hund", beam=beam) == "a man ."
    src, src_mask, grad_enabled, training = model.heard[0]
    assert src.tolist() == [[0, 4, 3, 1]] and src_mask.tolist() == [[[True] * 4]]
    assert not grad_enabled and not training


def test_the_length_counts_the_start_symbol():
    assert english(Says("a", "man", ".", "a", "man", "."), max_len=4) == "a man ."


def test_nothing_may_be_asked_and_nothing_said():
    assert english(Says("</s>"), "") == ""


def test_each_module_gets_its_mode_back_even_after_an_error():
    model = Says("a", "</s>").train()
    model.part.eval()
    english(model)
    with pytest.raises(KeyError):
        translate(model, "ein", str.split, GERMAN, Vocabulary(["a"]))
    assert model.training and not model.part.training
    model.decode = lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        english(model)
    assert model.training and not model.part.training


def build() -> nn.Module:
    torch.manual_seed(0)
    return make_model(11, 13, N=2, d_model=12, d_ff=20, h=3, dropout=0.3)


def maps_of(model: nn.Module, S: int = 5, T: int = 4) -> dict[str, Tensor]:
    src, tgt = torch.arange(3, 3 + S).unsqueeze(0), torch.arange(2, 2 + T).unsqueeze(0)
    src_mask = torch.ones(1, 1, S, dtype=torch.bool)
    src_mask[..., -1] = False
    return attention_maps(model, src, src_mask, tgt, subsequent_mask(T))


def test_maps_are_distributions_over_what_may_be_seen():
    maps = maps_of(build())
    assert {name: tuple(x.shape) for name, x in maps.items()} == {
        "encoder": (2, 3, 5, 5),
        "decoder_self": (2, 3, 4, 4),
        "decoder_src": (2, 3, 4, 5),
    }
    for x in maps.values():
        assert not x.requires_grad
        torch.testing.assert_close(x.sum(dim=-1), torch.ones(x.shape[:-1]))
    assert (maps["encoder"][..., -1] == 0).all() and (maps["decoder_src"][..., -1] == 0).all()
    assert (maps["decoder_self"].triu(1) == 0).all()


def test_maps_are_of_this_call_and_of_eval_mode():
    model = build()
    first = maps_of(model)
    kept = {name: x.clone() for name, x in first.items()}
    assert all(module.training for module in model.modules())
    maps_of(model, S=7, T=6)
    model(torch.ones(1, 5).long(), torch.ones(1, 4).long(), None, None)
    for name, x in maps_of(model).items():
        assert torch.equal(x, kept[name]) and torch.equal(first[name], kept[name])


def test_each_layers_map_is_its_own():
    model = build().eval()
    expected = {name: x.clone() for name, x in maps_of(model).items()}
    with torch.no_grad():
        model.decoder.layers[1].src_attn.linears[0].weight.mul_(5)
    changed = maps_of(model)
    assert torch.equal(changed["encoder"], expected["encoder"])
    assert torch.equal(changed["decoder_src"][0], expected["decoder_src"][0])
    assert not torch.allclose(changed["decoder_src"][1], expected["decoder_src"][1])


def test_maps_are_of_one_pair():
    with pytest.raises(ValueError, match="src holds 2"):
        attention_maps(build(), torch.ones(2, 3).long(), None, torch.ones(1, 3).long(), None)
