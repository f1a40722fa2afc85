"""The demos of steps 10 to 14, decoding and learning: figures, and what they make of faults."""

import builtins
import re
from pathlib import Path

import pytest

QUICK = ("--updates", "5")


def pictures(text: str) -> list[str]:
    """The lines that draw masks, without their indentation."""
    return re.findall(r"^ {3}([#.][#. ]+)$", text, re.MULTILINE)


def test_step10_shows_rows_that_wait_and_a_batch_that_stops(demo):
    text = demo("step10", "--against", "solutions").figures
    assert "5 3 7 2 0 0   ->   1 5 3 7 2 2 2\n" in text
    assert "8 4 6 3 9 2   ->   1 8 4 6 3 9 2\n" in text
    assert "shape (3, 7), int64, of at most 12 tokens\n   A row that has ended waits." in text
    assert "calls of encode: 1, of decode: 6\n" in text
    assert [row.count("#") for row in pictures(text)] == [1, 2, 3, 4, 5, 6]
    assert "no gradients were recorded" in text
    assert "without an end symbol: (3, 12)\nwith max_len 1: (3, 1)\n" in text
    assert "the same in 3 of 3 cases" in text


def test_step10_cuts_a_text_off_at_the_length_that_was_asked_for(demo):
    text = demo("step10", "--against", "solutions", "--max-len", "5").figures
    assert "shape (3, 5), int64, of at most 5 tokens\n   A row that has ended waits." in text
    assert "calls of encode: 1, of decode: 4\n" in text


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param(
            "            if ended.all():\n                break\n", "", "Does the end", id="no end"
        ),
        pytest.param(
            "next_ids = next_ids.masked_fill(ended, end_symbol)\n"
            "                ended = next_ids == end_symbol",
            "ended = ended | (next_ids == end_symbol)",
            "a row should hold the end symbol only",
            id="nobody waits",
        ),
        pytest.param("return ys", "return ys[:1]", "there were 3 sentences", id="first only"),
        pytest.param("torch.no_grad()", "torch.enable_grad()", "gradients were rec", id="grads"),
        pytest.param(
            "tgt_mask = subsequent_mask(ys.size(1)).to(src.device)",
            "tgt_mask = None",
            "no mask that can be drawn",
            id="no mask",
        ),
    ],
)
def test_step10_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    assert words in demo(changed("step10", (find, replace))).figures


def test_step11_draws_what_is_read_and_said_and_seen(demo):
    text = demo("step11", "--against", "solutions").figures
    assert "src_mask: (3, 1, 6), bool" in text
    assert "targets (3, 7): the decoder reads (3, 6) and has to say (3, 6):" in text
    assert "   reads  0 9 1 _ _ _\n   says   9 1 _ _ _ _\n" in text
    assert "tgt_mask: (3, 6, 6), bool" in text
    rows = [row.split("      ") for row in pictures(text)]
    assert [[row.count("#") for row in column] for column in zip(*rows, strict=True)] == [
        [1, 2, 3, 4, 5, 5],
        [1, 2, 3, 3, 3, 3],
        [1, 2, 3, 4, 5, 6],
    ]
    assert "ntokens: 12; tgt_y has 18 cells\n   So many predictions count" in text
    assert "only the source is there: src (3, 6), src_mask (3, 1, 6)" in text


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param("self.tgt_y = tgt[:, 1:]", "self.tgt_y = self.tgt", "should stand the one"),
        pytest.param(
            "return is_token & has_come",
            "return (is_token | has_come) | ~has_come",
            "Somebody sees padding",
            id="all seen",
        ),
        pytest.param(
            "return is_token & has_come",
            "return is_token & (has_come | True)",
            "Somebody sees what comes after it",
            id="no triangle",
        ),
        pytest.param("(self.tgt_y != pad).sum()", "self.tgt_y.numel()", "But 12 of the ids"),
    ],
)
def test_step11_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    assert words in demo(changed("step11", (find, replace))).figures


def test_step12_prints_the_published_rates(demo):
    text = demo("step12", "--against", "solutions").figures
    rates = {
        int(step.replace(",", "")): float(rate)
        for step, rate in re.findall(r"^ +step +([\d,]+) +(\S+)", text, re.MULTILINE)
    }
    assert rates[4000] == pytest.approx(512**-0.5 * 4000**-0.5, rel=1e-4)
    assert rates[16000] == pytest.approx(rates[4000] / 2, rel=1e-4)
    assert rates[1] == pytest.approx(rates[4000] / 4000, rel=1e-4)
    assert "4,000   6.9877e-04   the peak" in text
    assert "x 2.000 in the warm-up, and x 0.707 in the decay" in text
    assert "Adam, betas (0.9, 0.98), eps 1e-09" in text
    assert "Update n uses rate(n)." in text


def test_step12_draws_a_curve_whose_peak_is_the_warm_up(demo):
    text = demo("step12", "--against", "solutions", "--warmup", "80", "--d-model", "32").figures
    bars = {int(step): len(bar) for step, bar in re.findall(r"^ +(\d+) (#*)$", text, re.MULTILINE)}
    assert max(bars, key=bars.get) == 80
    assert sorted(bars) == list(bars)


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param("number = updates + 1", "number = updates", "rate of the one before it"),
        pytest.param("lr=1.0,", "lr=1e-4,", "Update n should use rate(n)", id="multiplied"),
        pytest.param("min(falling, growing)", "growing", "16,000   2.7951e-03   the peak"),
    ],
)
def test_step12_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    assert words in demo(changed("step12", (find, replace))).figures


def test_step12_writes_a_picture(demo, tmp_path: Path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "curve.png"
    text = demo("step12", "--against", "solutions", "--plot", str(file)).figures
    assert f"{file}\n" in text
    assert file.read_bytes().startswith(b"\x89PNG")


def test_step12_goes_without_a_picture(demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = builtins.__import__

    def without_matplotlib(name: str, *rest: object, **more: object):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    file = tmp_path / "curve.png"
    text = demo("step12", "--against", "solutions", "--plot", str(file)).figures
    assert "pip install 'transformer-by-building[plots]'" in text
    assert not file.exists()


def test_step13_reads_the_wanted_distribution_off_the_gradient(demo):
    text = demo("step13", "--against", "solutions").figures
    assert "target 2   0.000 0.033 0.900 0.033 0.033   sum 1.000" in text
    assert "target 2   0.000 0.133 0.600 0.133 0.133   sum 1.000" in text
    assert text.count("target 0   0.000 0.000 0.000 0.000 0.000   sum 0.000") == 2
    assert text.count("Read off the gradient") == 2
    assert "twice the rows give 2.000 times the loss: it is a sum" in text
    assert "3 rows of padding besides, the loss differs by 0.000" in text
    assert "padding only: loss 0.000, largest gradient 0.000" in text
    assert "gradients differ by 0.000" in text


def test_step13_is_lowest_where_the_model_is_as_sure_as_is_wanted(demo):
    text = demo("step13", "--against", "solutions", "--size", "9").figures
    rows = re.findall(r"^ +(0\.\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    sure, *columns = zip(*[list(map(float, row)) for row in rows], strict=True)
    lowest = [sure[column.index(min(column))] for column in columns]
    assert lowest == [0.999, 0.9, 0.6]


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param("(self.size - 2)", "self.size", "A row should sum to 1", id="share"),
        pytest.param(
            "        wanted[:, self.padding_idx] = 0.0\n",
            "        wanted[:, self.padding_idx] = share / 2\n        wanted[:, 3] -= share / 2\n",
            "The padding should get nothing",
            id="padding column",
        ),
        pytest.param('reduction="sum"', 'reduction="batchmean"', "a sum would be 2.000", id="mean"),
        pytest.param(
            'return F.kl_div(x, wanted, reduction="sum")',
            "return -(wanted * x).sum()",
            "0.999                 0.001    0.367    2.091",
            id="cross-entropy is as good",
        ),
    ],
)
def test_step13_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    assert words in demo(changed("step13", (find, replace))).figures


def test_step14_counts_what_it_does(demo):
    text = demo("step14", "--against", "solutions", *QUICK, "--batch", "8").figures
    assert "a model of 43,947 parameters learns for 5 updates:" in text
    assert "after    5 updates: loss per token" in text
    assert "log 10 = 2.303" in text
    assert "batches 5, updates 5, sequences 40, tokens 360\n" in text
    assert "Measuring has changed nothing." in text
    assert "It has not learnt it yet." in text


@pytest.mark.slow
def test_step14_learns_to_copy(demo):
    text = demo("step14", "--against", "solutions").figures
    losses = [float(loss) for loss in re.findall(r"updates: loss per token (\S+)", text)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 1
    assert losses[-1] < 0.3
    assert int(re.search(r"copied exactly: (\d+) of 100", text)[1]) >= 90
    assert "The trained model copies." in text


@pytest.mark.slow
def test_step14_sees_through_a_loss_that_is_too_good(demo, changed):
    leak = (
        "loss = loss_compute(features, batch.tgt_y,",
        "loss = loss_compute(features, batch.tgt,",
    )
    text = demo(changed("step14", leak), "--updates", "300").figures
    assert "The loss says that it can, and yet it cannot" in text


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param("data[:, 0] = 1", "data[:, 0] = 2", "The first id should be 1", id="start"),
        pytest.param("torch.randint(1, V,", "torch.randint(0, V,", "An id is 0", id="padding"),
        pytest.param("tgt = data.clone()", "tgt = data.flip(1)", "the same ids", id="unequal"),
        pytest.param(
            "with torch.set_grad_enabled(training):",
            "for p in model.parameters():\n        p.data += 0.1\n"
            "    with torch.set_grad_enabled(training):",
            "But measuring has changed the model.",
            id="changed",
        ),
    ],
)
def test_step14_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    assert words in demo(changed("step14", (find, replace)), *QUICK).figures
