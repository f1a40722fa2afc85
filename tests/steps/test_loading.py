"""Step 16: batches made in many ways, right and wrong, graded as a learner's file would be."""

from __future__ import annotations

import pytest
import torch

from autograder.core.step import find_step
from autograder.core.verdict import Verdict
from tests.steps import harness, loading_builds
from tests.steps.harness import changed, failed, named

STEP = find_step(16)

PADDED = """
import torch
from torch.nn.utils.rnn import pad_sequence


def encode(sentence, pipeline, vocab, max_len):
    tokens = ["<s>"] + pipeline(sentence) + ["</s>"]
    ids = torch.tensor(vocab(tokens))
    if max_len is not None and len(ids) > max_len:
        ids = torch.cat([ids[: max_len - 1], ids[-1:]])
    return ids


def collate_batch(
    pairs, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device="cpu", max_len=None
):
    pairs = sorted(pairs, key=lambda pair: len(pair[0]))
    src = [encode(s, src_pipeline, src_vocab, max_len) for s, _ in pairs]
    tgt = [encode(t, tgt_pipeline, tgt_vocab, max_len) for _, t in pairs]
    src = pad_sequence(src, batch_first=True, padding_value=src_vocab["<blank>"])
    tgt = pad_sequence(tgt, batch_first=True, padding_value=tgt_vocab["<blank>"])
    return src.to(device), tgt.to(device)


def batches_by_length(lengths, max_tokens, shuffle=True, generator=None):
    if max(lengths) > max_tokens:
        raise ValueError(f"{max(lengths)} > {max_tokens}")
    noise = torch.rand(len(lengths), generator=generator) if shuffle else torch.zeros(len(lengths))
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], noise[i].item()))
    batches = []
    while order:
        rows = max_tokens // lengths[order[0]]
        batches.append(order[:rows])
        order = order[rows:]
    if shuffle:
        batches = [batches[i] for i in torch.randperm(len(batches), generator=generator)]
    return batches
"""

FILLED = '''
import torch


def collate_batch(
    pairs, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device="cpu", max_len=None
):
    def side(texts, pipeline, vocab):
        limit = 10**9 if max_len is None else max_len
        rows = []
        for text in texts:
            row = [vocab[t] for t in pipeline(text)]
            row = [vocab["<s>"]] + row[: max(limit - 2, 0)] + [vocab["</s>"]]
            rows.append(row)
        width = max(map(len, rows))
        table = torch.full((len(rows), width), vocab["<blank>"], dtype=torch.long, device=device)
        for k, row in enumerate(rows):
            table[k, : len(row)] = torch.as_tensor(row)
        return table

    pairs = list(pairs)
    src = side([p[0] for p in pairs], src_pipeline, src_vocab)
    tgt = side([p[1] for p in pairs], tgt_pipeline, tgt_vocab)
    return [src, tgt]


class TooLong(ValueError):
    pass


def batches_by_length(lengths, max_tokens, shuffle=True, generator=None):
    """One batch after the other, from buckets of like length."""
    lengths = torch.as_tensor(lengths)
    order = torch.arange(len(lengths))
    if shuffle:
        order = torch.randperm(len(lengths), generator=generator)
    order = order[torch.argsort(lengths[order], stable=True)]
    done, batch, longest = [], [], 0
    for i in order.tolist():
        n = int(lengths[i])
        if n > max_tokens:
            raise TooLong("length %d" % n)
        if batch and max(longest, n) * (len(batch) + 1) > max_tokens:
            done.append(torch.tensor(batch))
            batch, longest = [], 0
        batch.append(i)
        longest = max(longest, n)
    if batch:
        done.append(torch.tensor(batch))
    turn = range(len(done))
    if shuffle:
        turn = torch.randperm(len(done), generator=generator)
    for k in turn:
        yield done[k]
'''

BUCKETS = """
import torch


def collate_batch(
    pairs, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device="cpu", max_len=None
):
    out = []
    for which, pipeline, vocab in ((0, src_pipeline, src_vocab), (1, tgt_pipeline, tgt_vocab)):
        bos, eos, pad = vocab(["<s>", "</s>", "<blank>"])
        rows = [vocab(pipeline(pair[which])) for pair in pairs]
        if max_len:
            rows = [row[: max_len - 2] for row in rows]
        rows = [torch.tensor([bos] + row + [eos], device=device) for row in rows]
        width = max(len(row) for row in rows)
        rows = [torch.nn.functional.pad(row, (0, width - len(row)), value=pad) for row in rows]
        out.append(torch.stack(rows))
    return tuple(out)


def batches_by_length(lengths, max_tokens, shuffle=True, generator=None):
    buckets = {}
    for i, n in enumerate(lengths):
        assert isinstance(n, int)
        if n > max_tokens:
            raise ValueError("a sentence of length %d does not fit" % n)
        buckets.setdefault(-(-n // 3), []).append(i)
    batches = []
    for key in sorted(buckets):
        bucket = buckets[key]
        if shuffle:
            bucket = [bucket[j] for j in torch.randperm(len(bucket), generator=generator).tolist()]
        rows = max_tokens // max(lengths[i] for i in bucket)
        batches += [bucket[k : k + rows] for k in range(0, len(bucket), rows)]
    if shuffle:
        batches = [batches[j] for j in torch.randperm(len(batches), generator=generator).tolist()]
    return batches
"""

HONEST = {"padded": PADDED, "filled": FILLED, "buckets": BUCKETS} | loading_builds.HONEST

# In the manner of the widely read code, as far as it has this step at all.
WIDELY_READ = """
import torch
from torch.nn.functional import pad


def collate_batch(
    batch, src_pipeline, tgt_pipeline, src_vocab, tgt_vocab, device, max_padding=128, pad_id=2
):
    begin, end = torch.tensor([0], device=device), torch.tensor([1], device=device)
    sources, targets = [], []
    for source, target in batch:
        for text, pipeline, vocab, rows in (
            (source, src_pipeline, src_vocab, sources),
            (target, tgt_pipeline, tgt_vocab, targets),
        ):
            ids = torch.tensor(vocab(pipeline(text)), dtype=torch.int64, device=device)
            row = torch.cat([begin, ids, end], 0)
            rows.append(pad(row, (0, (max_padding or 128) - len(row)), value=pad_id))
    return torch.stack(sources), torch.stack(targets)
"""

PLANTED: dict[str, list[tuple[str, str, str]]] = {
    "start-missing": [(PADDED, '["<s>"] + ', ""), (BUCKETS, "[bos] + row", "row")],
    "end-missing": [(FILLED, ' + [vocab["</s>"]]', "")],
    "cut-keeps-a-word": [(FILLED, "max(limit - 2, 0)", "max(limit - 2, 1)")],
    "generator-begun-anew": [
        (
            loading_builds.SCATTERED,
            "    numbers = torch.tensor(lengths",
            "    generator and generator.manual_seed(generator.initial_seed())\n"
            "    numbers = torch.tensor(lengths",
        )
    ],
    "too-long-in-order-let-through": [
        (FILLED, "if n > max_tokens:", "if shuffle and n > max_tokens:"),
    ],
    "markers-swapped": [(BUCKETS, '["<s>", "</s>", "<blank>"]', '["</s>", "<s>", "<blank>"]')],
    "markers-fixed": [(BUCKETS, "[bos] + row + [eos]", "[0] + row + [1]")],
    "padding-zero": [(FILLED, 'vocab["<blank>"]', "0"), (BUCKETS, "value=pad)", "value=0)")],
    "padding-fixed": [(BUCKETS, "value=pad)", "value=2)")],
    "padding-is-end": [(FILLED, 'vocab["<blank>"]', 'vocab["</s>"]')],
    "padding-of-source": [(PADDED, 'tgt_vocab["<blank>"]', 'src_vocab["<blank>"]')],
    "padding-in-front": [(BUCKETS, "(0, width - len(row))", "(width - len(row), 0)")],
    "width-of-limit": [(FILLED, "max(map(len, rows))", "max_len or max(map(len, rows))")],
    "width-fixed": [(BUCKETS, "max(len(row) for row in rows)", "max_len or 72")],
    "sides-swapped": [(FILLED, "[src, tgt]", "[tgt, src]")],
    "pairs-sorted-apart": [
        (BUCKETS, "for pair in pairs]\n", "for pair in pairs]\n        rows.sort(key=len)\n"),
    ],
    "vocabulary-of-source": [
        (FILLED, "tgt_pipeline, tgt_vocab)\n    return", "tgt_pipeline, src_vocab)\n    return")
    ],
    "pipelines-crossed": [
        (
            BUCKETS,
            "((0, src_pipeline, src_vocab), (1, tgt_pipeline, tgt_vocab))",
            "((0, tgt_pipeline, src_vocab), (1, src_pipeline, tgt_vocab))",
        ),
    ],
    "ids-as-floats": [(FILLED, "dtype=torch.long", "dtype=torch.float")],
    "ids-as-int32": [(FILLED, "dtype=torch.long", "dtype=torch.int32")],
    "device-ignored": [
        (PADDED, "src.to(device), tgt.to(device)", "src, tgt"),
        (FILLED, ", device=device", ""),
        (loading_builds.CHEAPEST, ", device=device", ""),
    ],
    "device-of-one-side": [
        (PADDED, "tgt.to(device)", "tgt"),
        (
            loading_builds.POOLS,
            "dtype=torch.long, device=device",
            "device='cpu' if which else device, dtype=torch.long",
        ),
    ],
    "cut-drops-end": [(PADDED, "torch.cat([ids[: max_len - 1], ids[-1:]])", "ids[:max_len]")],
    "cut-markers-uncounted": [(FILLED, "max(limit - 2, 0)", "limit")],
    "cut-one-marker-uncounted": [(BUCKETS, "row[: max_len - 2]", "row[: max_len - 1]")],
    "cut-missing": [(BUCKETS, "if max_len:", "if False:")],
    "cut-in-front": [(BUCKETS, "row[: max_len - 2]", "row[-(max_len - 2) :]")],
    "batch-last-dropped": [(FILLED, "    if batch:\n        done", "    if False:\n        done")],
    "batches-of-one": [(PADDED, "rows = max_tokens // lengths[order[0]]", "rows = 1")],
    "lengths-mixed": [
        (FILLED, "order = order[torch.argsort(lengths[order], stable=True)]", "pass")
    ],
    "shuffle-missing": [(BUCKETS, "batches = []\n", "batches, shuffle = [], False\n")],
    "shuffle-batches-in-order": [
        (FILLED, "turn = torch.randperm(len(done), generator=generator)", "pass"),
    ],
    "generator-ignored": [(PADDED, "if max(lengths)", "generator = None\n    if max(lengths)")],
    "generator-reset": [
        (
            PADDED,
            "if max(lengths)",
            "generator = torch.Generator().manual_seed(1)\n    if max(lengths)",
        )
    ],
    "company-fixed": [(PADDED, "noise[i].item()", "0")],
    "too-long-let-through": [
        (BUCKETS, 'raise ValueError("a sentence of length %d does not fit" % n)', "continue")
    ],
    "too-long-assertion": [(PADDED, "raise ValueError(", "raise AssertionError(")],
    "too-long-unnamed": [(FILLED, '"length %d" % n', '"too long"')],
    "too-long-at-limit": [(BUCKETS, "if n > max_tokens", "if n >= max_tokens")],
}
PLACES = [(slug, i) for slug, edits in PLANTED.items() for i in range(len(edits))]

UNKNOWN: dict[str, tuple[str, str, str, set[str]]] = {
    "end twice": (FILLED, '[vocab["</s>"]]', '[vocab["</s>"]] * 2', {"pairs", "ids", "cut"}),
    "a word lost": (
        BUCKETS,
        "vocab(pipeline(pair[which]))",
        "vocab(pipeline(pair[which]))[1:]",
        {"sentences", "cut"},
    ),
    "words backwards": (
        BUCKETS,
        "vocab(pipeline(pair[which]))",
        "vocab(pipeline(pair[which]))[::-1]",
        {"sentences", "cut"},
    ),
    "the first pair lost": (
        PADDED,
        "key=lambda pair: len(pair[0]))",
        "key=len)[1:]",
        {"sentences", "pairs", "width", "cut"},
    ),
    "padded with unknown": (
        FILLED,
        'vocab["<blank>"]',
        'vocab["<unk>"]',
        {"sentences", "ids", "cut"},
    ),
    "one column more": (FILLED, "max(map(len, rows))", "max(map(len, rows)) + 1", {"width", "cut"}),
    "a multiple of eight": (
        FILLED,
        "max(map(len, rows))",
        "-(-max(map(len, rows)) // 8) * 8",
        {"width", "cut"},
    ),
    "target turned round": (
        PADDED,
        "tgt = pad_sequence(tgt,",
        "tgt = pad_sequence(tgt[::-1],",
        {"pairs"},
    ),
    "one index twice": (
        PADDED,
        "order = order[rows:]",
        "order = order[max(rows - 1, 1) :]",
        {"every"},
    ),
    "half as many rows": (
        PADDED,
        "max_tokens // lengths[order[0]]",
        "max(max_tokens // lengths[order[0]] // 4, 1)",
        {"similar"},
    ),
    "measured by the shortest": (
        BUCKETS,
        "max(lengths[i] for i in bucket)",
        "min(lengths[i] for i in bucket)",
        {"budget"},
    ),
    "nothing": (
        BUCKETS,
        "    return batches\n",
        "",
        {"every", "budget", "similar", "shuffled", "too_long"},
    ),
    "an index error": (PADDED, "raise ValueError(", "raise IndexError(", {"too_long"}),
}


def graded(text: str, seed: int = 3) -> Verdict:
    return harness.graded(STEP, text, seed)


@pytest.mark.parametrize("name", HONEST)
def test_right_batches_get_full_marks_and_no_remark(name: str) -> None:
    verdict = graded(HONEST[name])
    assert failed(verdict, advice=True) == set()
    assert verdict.points == 10


def test_the_widely_read_code_loses_its_known_faults_only() -> None:
    verdict = graded(WIDELY_READ)
    of_collate = {c.check for c in verdict.checks if c.export == "collate_batch"}
    assert failed(verdict) & of_collate == {"width", "ids", "cut"}
    names = {slug for c in verdict.checks if c.check in of_collate for slug in c.misconceptions}
    assert names == {"width-fixed", "numbers-fixed", "cut-drops-end"}


def test_where_no_tensor_can_be_made_on_meta_nothing_is_said_about_devices() -> None:
    with pytest.raises(RuntimeError):  # as `SCATTERED` asks for a width
        torch.ones(2, device="meta").max().item()
    assert failed(graded(loading_builds.SCATTERED), advice=True) == set()
    only_here = changed(FILLED, "pairs = list", "assert device == 'cpu'\n    pairs = list")
    assert failed(graded(only_here), advice=True) == set()


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


# Other mistakes, in the model answer's own text: what is replaced, and what it costs.
SLIPS: dict[str, tuple[str, str, set[str]]] = {
    "no capitals": (
        "ids = vocab(pipeline(text))",
        "ids = vocab(pipeline(text.lower()))",
        {"sentences", "cut"},
    ),
    "rows of the longest": (
        "area = lengths[index] * (len(batch) + 1)",
        "area = max(lengths) * (len(batch) + 1)",
        {"similar"},
    ),
    "the order begins elsewhere": (
        "batches = [batches[place] for place in places]",
        "batches = batches[places[0] :] + batches[: places[0]]",
        {"shuffled"},
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_costs_its_check_only(name: str) -> None:
    find, replace, checks = SLIPS[name]
    verdict = graded(changed(STEP.solution.read_text(encoding="utf-8"), find, replace))
    assert failed(verdict) == checks
