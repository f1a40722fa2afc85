"""Step 18: searches and maps written in many ways, right and wrong, graded as learners' are."""

from __future__ import annotations

import pytest

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import harness, translation_builds
from tests.steps.harness import changed, failed, named

STEP = find_step(18)

# All hypotheses go through the model at once; what has ended waits in a list of its own.
BATCHED = """
import torch

from transformer_ref import subsequent_mask


def penalty(length, alpha):
    return (5 + length) ** alpha / 6**alpha


@torch.no_grad()
def beam_search(model, src, src_mask, max_len, start_symbol, end_symbol, beam=4, alpha=0.6):
    memory = model.encode(src, src_mask)
    ys = torch.full((1, 1), start_symbol, dtype=torch.long, device=src.device)
    totals = torch.zeros(1, device=src.device)
    done = []
    while ys.size(1) < max_len and len(ys):
        k, length = ys.shape
        out = model.decode(
            memory.expand(k, -1, -1),
            src_mask.expand(k, -1, -1),
            ys,
            subsequent_mask(length).expand(k, -1, -1).to(src.device),
        )
        log_probs = model.generator(out[:, -1])
        sums = (totals[:, None] + log_probs).flatten()
        values, places = sums.topk(min(2 * beam, len(sums)))
        rows, tokens = places // log_probs.size(-1), places % log_probs.size(-1)
        longer = torch.cat([ys[rows], tokens[:, None]], dim=1)
        ended = tokens == end_symbol
        for ids, value in zip(longer[ended], values[ended]):
            done.append((ids.tolist(), value.item() / penalty(length, alpha)))
        ys, totals = longer[~ended][:beam], values[~ended][:beam]
        done = sorted(done, key=lambda pair: -pair[1])[:beam]
        if len(done) == beam and len(totals):
            bound = totals.max().item() / penalty(max_len - 1, alpha)
            if bound < done[-1][1]:
                break
    else:
        length = ys.size(1) - 1
        for ids, value in zip(ys, totals):
            done.append((ids.tolist(), value.item() / penalty(length, alpha)))
    return sorted(done, key=lambda pair: pair[1], reverse=True)[:beam]


def translate(model, sentence, src_pipeline, src_vocab, tgt_vocab, max_len=72, beam=1):
    was_training = model.training
    model.eval()
    tokens = ["<s>"] + src_pipeline(sentence) + ["</s>"]
    src = torch.tensor(src_vocab(tokens)).unsqueeze(0)
    src_mask = torch.ones(1, 1, len(tokens))
    ids = beam_search(
        model, src, src_mask, max_len, tgt_vocab["<s>"], tgt_vocab["</s>"], beam=beam
    )[0][0]
    if was_training:
        model.train()
    hidden = {tgt_vocab[token] for token in ["<s>", "</s>", "<blank>", "<unk>"]}
    return " ".join(tgt_vocab.tokens([i for i in ids if i not in hidden]))


def attention_maps(model, src, src_mask, tgt, tgt_mask):
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        memory = model.encode(src, src_mask)
        model.decode(memory, src_mask, tgt, tgt_mask)
    model.train(was_training)

    def collect(stack, name):
        return torch.cat([getattr(layer, name).attn.detach() for layer in stack.layers])

    return {
        "encoder": collect(model.encoder, "self_attn"),
        "decoder_self": collect(model.decoder, "self_attn"),
        "decoder_src": collect(model.decoder, "src_attn"),
    }
"""

# One hypothesis at a time, as objects; every continuation is weighed, the greedy one by step 10.
OBJECTS = """
from dataclasses import dataclass

import torch

from transformer_ref import greedy_decode, subsequent_mask


@dataclass
class Hypothesis:
    ids: tuple
    cost: float
    ended: bool = False

    def value(self, alpha):
        return -self.cost / ((5 + len(self.ids) - 1) / 6) ** alpha


def step(model, memory, src_mask, hypothesis):
    ys = torch.tensor([hypothesis.ids])
    out = model.decode(memory, src_mask, ys, subsequent_mask(ys.shape[1]))
    return model.generator(out[:, -1, :]).squeeze(0)


def beam_search(model, src, src_mask, max_len, start_symbol, end_symbol, beam=4, alpha=0.6):
    with torch.no_grad():
        memory = model.encode(src, src_mask)
        alive = [Hypothesis((start_symbol,), 0.0)]
        for _ in range(1, max_len):
            pool = [h for h in alive if h.ended]
            if len(pool) == len(alive):
                break
            for h in alive:
                if h.ended:
                    continue
                for token, log_prob in enumerate(step(model, memory, src_mask, h).tolist()):
                    grown = Hypothesis(h.ids + (token,), h.cost - log_prob, token == end_symbol)
                    pool.append(grown)
            alive = sorted(pool, key=lambda h: h.value(alpha))[: -beam - 1 : -1]
    return [(torch.tensor(h.ids), torch.tensor(h.value(alpha))) for h in alive]


class evaluating:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.modes = {m: m.training for m in self.model.modules()}
        self.model.eval()

    def __exit__(self, *_):
        for module, mode in self.modes.items():
            module.training = mode


def translate(model, sentence, src_pipeline, src_vocab, tgt_vocab, max_len=72, beam=1):
    ids = [src_vocab[t] for t in ("<s>", *src_pipeline(sentence), "</s>")]
    src = torch.tensor([ids])
    mask = torch.ones_like(src, dtype=torch.bool).unsqueeze(1)
    start, end = tgt_vocab(["<s>", "</s>"])
    with evaluating(model), torch.no_grad():
        if beam == 1:
            found = greedy_decode(model, src, mask, max_len, start, end)[0]
        else:
            found = beam_search(model, src, mask, max_len, start, end, beam)[0][0]
    said = []
    for token in tgt_vocab.tokens(found[1:]):
        if token == "</s>":
            break
        if token not in ("<blank>", "<unk>"):
            said.append(token)
    return " ".join(said)


def attention_maps(model, src, src_mask, tgt, tgt_mask):
    kept = {"encoder": [], "decoder_self": [], "decoder_src": []}
    hooks = []
    for key, layers, name in (
        ("encoder", model.encoder.layers, "self_attn"),
        ("decoder_self", model.decoder.layers, "self_attn"),
        ("decoder_src", model.decoder.layers, "src_attn"),
    ):
        for layer in layers:
            attention = getattr(layer, name)
            keep = lambda module, i, o, key=key: kept[key].append(module.attn[0].clone())
            hooks.append(attention.register_forward_hook(keep))
    with evaluating(model), torch.no_grad():
        model(src, tgt, src_mask, tgt_mask)
    for hook in hooks:
        hook.remove()
    return {key: torch.stack(weights) for key, weights in kept.items()}
"""

HONEST = {"batched": BATCHED, "objects": OBJECTS} | translation_builds.HONEST

# The maps of a model are made once, whatever it reads later.
ONCE = """
def once(make):
    kept = {}
    return lambda model, *given: kept.get(model) or kept.setdefault(model, make(model, *given))


"""

PLANTED: dict[str, list[tuple[str, str, str]]] = {
    "score-of-last-step": [(OBJECTS, "h.cost - log_prob", "-log_prob")],
    "length-unused": [(OBJECTS, " / ((5 + len(self.ids) - 1) / 6) ** alpha", "")],
    "length-inverted": [(OBJECTS, "-self.cost / (", "-self.cost * (")],
    "length-plain-power": [
        (BATCHED, "(5 + length) ** alpha / 6**alpha", "length**alpha"),
        (OBJECTS, "((5 + len(self.ids) - 1) / 6)", "max(len(self.ids) - 1, 1)"),
    ],
    "length-with-start": [
        (BATCHED, "(5 + length)", "(6 + length)"),
        (OBJECTS, "len(self.ids) - 1)", "len(self.ids))"),
    ],
    "length-without-end": [(OBJECTS, "len(self.ids) - 1)", "len(self.ids) - 1 - self.ended)")],
    "alpha-other-default": [(BATCHED, "alpha=0.6", "alpha=0"), (OBJECTS, "alpha=0.6", "alpha=0")],
    "search-greedy": [(OBJECTS, "[: -beam - 1 : -1]", "[:-2:-1]")],
    "search-identical": [
        (OBJECTS, "[Hypothesis((start_symbol,), 0.0)]", "[Hypothesis((start_symbol,), 0.0)] * beam")
    ],
    "finished-dropped": [(OBJECTS, "pool = [h for h in alive if h.ended]\n", "pool = []\n")],
    "length-one-more": [(OBJECTS, "range(1, max_len)", "range(max_len)")],
    "length-one-less": [(OBJECTS, "range(1, max_len)", "range(2, max_len)")],
    "start-left-out": [(OBJECTS, "torch.tensor(h.ids)", "torch.tensor(h.ids[1:])")],
    "beam-other-default": [(BATCHED, "beam=4", "beam=1")],
    "first-position-read": [(OBJECTS, "out[:, -1, :]", "out[:, 0, :]")],
    "future-visible": [
        (BATCHED, "subsequent_mask(length).expand(k, -1, -1).to(src.device)", "None"),
        (OBJECTS, "subsequent_mask(ys.shape[1])", "torch.ones(ys.shape[1], ys.shape[1])"),
    ],
    "source-mask-missing-in-decoder": [(OBJECTS, "memory, src_mask, ys", "memory, None, ys")],
    "source-read-again": [
        (
            BATCHED,
            "        out = model",
            "        memory = model.encode(src, src_mask)\n        out = model",
        ),
    ],
    "source-without-markers": [
        (BATCHED, '["<s>"] + src_pipeline(sentence) + ["</s>"]', "src_pipeline(sentence)")
    ],
    "source-without-end": [(OBJECTS, ', "</s>")]', ")]")],
    "said-with-unknown": [(BATCHED, '"<blank>", "<unk>"]', '"<blank>"]')],
    "said-without-spaces": [(OBJECTS, '" ".join', '"".join')],
    "said-as-list": [(OBJECTS, '" ".join(said)', "said")],
    "said-without-angles": [
        (
            translation_builds.LINKED,
            'not (w.startswith("<") and w.endswith(">"))',
            'w[:1] != "<"',
        ),
        (OBJECTS, 'not in ("<blank>", "<unk>")', '.find("<")'),
    ],
    "said-with-marks-attached": [(OBJECTS, '" ".join(said)', '" ".join(said).replace(" ,", ",")')],
    "source-cut-at-max-len": [
        (OBJECTS, "*src_pipeline(sentence),", "*src_pipeline(sentence)[: max_len - 2],")
    ],
    "translate-by-log-p": [
        (OBJECTS, "max_len, start, end, beam)", "max_len, start, end, beam, 0)")
    ],
    "translate-mode-of-whole-only": [
        (BATCHED, "        model.train()\n", "        model.training = True\n")
    ],
    "maps-mode-of-whole-only": [
        (BATCHED, "    model.train(was_training)\n", "    model.training = was_training\n")
    ],
    "translate-beam-ignored": [
        (BATCHED, "beam=beam", "beam=1"),
        (OBJECTS, "if beam == 1", "if True"),
    ],
    "translate-in-training-mode": [
        (
            BATCHED,
            "    was_training = model.training\n    model.eval()\n    tokens",
            "    was_training = model.training\n    tokens",
        )
    ],
    "translate-mode-left": [(BATCHED, "    if was_training:\n        model.train()\n", "")],
    "translate-mode-always-training": [
        (BATCHED, "    if was_training:\n        model", "    if True:\n        model")
    ],
    "maps-of-decoder-stale": [
        (BATCHED, "        model.decode(memory, src_mask, tgt, tgt_mask)\n", "")
    ],
    "maps-remembered": [
        (build, "def attention_maps(", f"{ONCE}@once\ndef attention_maps(")
        for build in (BATCHED, translation_builds.TENSORS)
    ],
    "maps-gradients-kept": [
        (BATCHED, "with torch.inference_mode():", "with torch.enable_grad():"),
        (
            OBJECTS,
            "evaluating(model), torch.no_grad():\n        model(",
            "evaluating(model):\n        model(",
        ),
        (translation_builds.RECURSIVE, ".requires_grad_(False)", ""),
        (translation_builds.MERGED, "    with torch.no_grad():\n        yield", "    yield"),
    ],
    "maps-transposed": [(OBJECTS, "module.attn[0].clone()", "module.attn[0].transpose(1, 2)")],
    "maps-self-for-source": [
        (BATCHED, '(model.decoder, "src_attn")', '(model.decoder, "self_attn")')
    ],
    "maps-one-head": [
        (OBJECTS, "module.attn[0].clone()", "module.attn[0, 0]"),
        (BATCHED, "attn.detach()", "attn.mean(dim=1)"),
    ],
    "maps-with-batch": [(OBJECTS, "module.attn[0].clone()", "module.attn")],
    "maps-in-training-mode": [
        (
            BATCHED,
            "    was_training = model.training\n    model.eval()\n    with",
            "    was_training = model.training\n    with",
        )
    ],
    "maps-mode-left": [(BATCHED, "    model.train(was_training)\n", "")],
}
PLACES = [(slug, i) for slug, edits in PLANTED.items() for i in range(len(edits))]

UNKNOWN: dict[str, tuple[str, str, str, set[str]]] = {
    "only the best one": (
        BATCHED,
        "reverse=True)[:beam]",
        "reverse=True)[:1]",
        {"several", "finished"},
    ),
    "one too many": (
        OBJECTS,
        "[: -beam - 1 : -1]",
        "[: -beam - 2 : -1]",
        {"beam_one", "finished", "several", "masks"},
    ),
    "not in order": (
        BATCHED,
        "reverse=True)[:beam]",
        "reverse=True)[:beam][::-1]",
        {"best", "score", "finished", "several"},
    ),
    "the second best": (
        OBJECTS,
        "[: -beam - 1 : -1]",
        "[-2 : -beam - 2 : -1]",
        {"beam_one", "best", "score", "finished", "several", "masks"},
    ),
    "two of each": (
        OBJECTS,
        "enumerate(step(model, memory, src_mask, h).tolist())",
        "list(enumerate(step(model, memory, src_mask, h).tolist()))[:2]",
        {"beam_one", "best", "score", "finished", "several", "masks"},
    ),
    "scores upside down": (
        OBJECTS,
        "torch.tensor(h.value(alpha))",
        "torch.tensor(-h.value(alpha))",
        {"beam_one", "score", "several"},
    ),
    "half the penalty": (OBJECTS, "/ 6) ** alpha", "/ 6) ** (alpha / 2)", {"score"}),
    "says it twice": (OBJECTS, '" ".join(said)', '" ".join(said + said)', {"words"}),
    "one word only": (OBJECTS, '" ".join(said)', '" ".join(said[:1])', {"words"}),
    "a full stop": (OBJECTS, '" ".join(said)', '" ".join(said) + "."', {"words"}),
    "layers backwards": (OBJECTS, "torch.stack(weights)", "torch.stack(weights[::-1])", {"maps"}),
    "maps as lists": (OBJECTS, "torch.stack(weights)", "weights", {"maps", "maps_mode"}),
    "the maps of all calls": (
        OBJECTS,
        'kept = {"encoder": [], "decoder_self": [], "decoder_src": []}',
        'kept = globals().setdefault("K", {"encoder": [], "decoder_self": [], "decoder_src": []})',
        {"maps", "maps_mode"},
    ),
    "other names": (BATCHED, '"decoder_src": collect', '"decoder_cross": collect', {"maps"}),
    "rows that sum to 2": (BATCHED, "attn.detach()", "attn.detach() * 2", {"maps"}),
}


def graded(text: str, seed: int = 3) -> Verdict:
    return harness.graded(STEP, text, seed)


@pytest.mark.parametrize("name", HONEST)
def test_right_searches_get_full_marks_and_no_remark(name: str) -> None:
    verdict = graded(HONEST[name])
    assert failed(verdict, advice=True) == set()
    assert verdict.points == 10


@pytest.mark.parametrize(("slug", "place"), PLACES)
def test_a_planted_mistake_is_named_and_nothing_else_is(slug: str, place: int) -> None:
    verdict = graded(changed(*PLANTED[slug][place]))
    assert named(verdict) == {slug}
    assert (verdict.points < 10) != bool(STEP.misconception(slug).advice)


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_catalogue_does_not_hold_gets_no_name(name: str) -> None:
    build, find, replace, checks = UNKNOWN[name]
    verdict = graded(changed(build, find, replace))
    assert failed(verdict) == checks
    assert named(verdict) == set()


def test_a_wrong_search_costs_no_translation() -> None:
    verdict = graded(
        changed(BATCHED, "beam=4, alpha=0.6):\n", "beam=4, alpha=0.6):\n    beam = 1\n")
    )
    assert failed(verdict) == {"best", "finished", "several"}


# Other mistakes, in the model answer's own text: what is replaced, and what it costs.
SLIPS: dict[str, tuple[str, str, set[str]]] = {
    "padding that is seen": (
        "src_mask = torch.ones(1, 1, src.size(1)",
        "src = nn.functional.pad(src, (0, 9), value=src_vocab['<blank>'])\n"
        "    src_mask = torch.ones(1, 1, src.size(1)",
        {"words"},
    ),
    "unknown words are not read": (
        "words = src_vocab(src_pipeline(sentence))",
        "words = [i for i in src_vocab(src_pipeline(sentence)) if i != src_vocab['<unk>']]",
        {"words"},
    ),
    "the id 0 is hidden": (
        "src_mask = torch.ones(1, 1, src.size(1), dtype=torch.bool, device=device)",
        "src_mask = (src != 0).unsqueeze(-2)",
        {"words"},
    ),
    "blanks are said": ('"</s>", "<blank>", "<unk>")', '"</s>", "<unk>")', {"words"}),
    "no capitals": ("src_pipeline(sentence)", "src_pipeline(sentence.lower())", {"words"}),
    "only the whole in eval mode": (
        "model.eval()  # No dropout while",
        "model.training = False  # No dropout while",
        {"translate_mode"},
    ),
    "a mask of one's own": (
        "model.forward(src, tgt, src_mask, tgt_mask)",
        "model.forward(src, tgt, src_mask, subsequent_mask(tgt.size(1)))",
        {"maps"},
    ),
    "two words to go on with": ("topk(min(beam, len(log_probs)))", "topk(2)", {"several"}),
    "by log p until the end": (
        "candidates.sort(key=score, reverse=True)",
        "candidates.sort(key=lambda pair: pair[1], reverse=True)",
        {"finished"},
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_costs_its_check_only(name: str) -> None:
    find, replace, checks = SLIPS[name]
    verdict = graded(changed(STEP.solution.read_text(encoding="utf-8"), find, replace))
    assert failed(verdict) == checks


def test_a_search_without_end_costs_no_maps() -> None:
    text = STEP.solution.read_text(encoding="utf-8")
    endless = "with torch.no_grad():\n        memory = "
    verdict = graded(changed(text, endless, f"while True:\n        pass\n    {endless}"))
    assert failed(verdict) >= {"beam_one", "best", "words"}
    assert not failed(verdict) & {"maps", "maps_mode"}
