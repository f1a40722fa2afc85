"""The demos of steps 1 to 6, one piece each: their figures, and what they make of other code."""

import pytest

NAMED_OTHERWISE = """
from torch import nn


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )

    def forward(self, x):
        return self.net(x)
"""

CONVOLUTIONS = """
from torch import nn


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.up = nn.Conv1d(d_model, d_ff, 1)
        self.down = nn.Conv1d(d_ff, d_model, 1)

    def forward(self, x):
        return self.down(self.up(x.transpose(1, 2)).relu()).transpose(1, 2)
"""

RAW_MATRICES = """
import torch
from torch import nn


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.a = nn.Parameter(torch.randn(d_model, d_ff) / d_model**0.5)
        self.b = nn.Parameter(torch.randn(d_ff, d_model) / d_ff**0.5)

    def forward(self, x):
        return (x @ self.a).relu() @ self.b
"""


def test_step01_shows_rows_that_sum_to_one_and_what_the_scale_is_for(demo):
    text = demo("step01", "--against", "solutions").figures
    assert text.count("sum 1.000") == 6
    spreads = [line.split() for line in text.splitlines() if line.strip().startswith("d_k =")]
    plain, scaled = zip(
        *((float(words[words.index("by") - 1]), float(words[-1])) for words in spreads), strict=True
    )
    assert [words[2] for words in spreads] == ["4", "64"]
    assert plain == pytest.approx((4, 64), rel=0.25)
    assert scaled == pytest.approx((1, 1), rel=0.25)


def test_step01_tells_a_missing_scale_by_the_weights_alone(demo, changed):
    text = demo(changed("step01", ("scores / math.sqrt(d_k)", "scores"))).figures
    spread = next(line for line in text.splitlines() if line.strip().startswith("d_k = 64"))
    assert float(spread.split()[-1]) > 40


def test_step01_says_when_the_mask_does_not_hide(demo, changed):
    text = demo(changed("step01", ("if mask is not None:", "if False:"))).figures
    assert "the mask does not hide it" in text


def test_step02_draws_a_triangle(demo):
    text = demo("step02", "--against", "solutions").figures
    rows = [line for line in text.splitlines() if line.strip().startswith("position")]
    assert [row.count("#") for row in rows] == [1, 2, 3, 4, 5, 6]
    assert "subsequent_mask(6): (1, 6, 6), bool" in text
    assert "pairs that may look: 21 of 36\n" in text
    assert text.count("sum 1.000") == 6
    assert "weight on positions ahead: 0.000" in text
    assert "(1, 6, 6) & (2, 1, 6) -> (2, 6, 6)" in text


def test_step02_computes_what_it_prints(demo):
    text = demo("step02", "--against", "solutions", "--size", "10").figures
    assert "pairs that may look: 55 of 100\n" in text


@pytest.mark.parametrize("looks", ["looked_at >= looking", "looked_at < looking"])
def test_step02_shows_another_picture_for_what_it_is(demo, changed, looks: str):
    script = changed("step02", ("looked_at <= looking", looks))
    text = demo(script).figures
    assert "another picture: 21 pairs" in text
    assert "weight on positions ahead: 0.000" not in text


def test_step02_reads_a_mask_of_numbers(demo, changed):
    edit = ("return may_look.unsqueeze(0)", "return may_look.unsqueeze(0).int()")
    text = demo(changed("step02", edit)).figures
    assert "(1, 6, 6), int32" in text
    assert "Each position sees itself and the ones before it" in text


def test_step03_prints_the_published_count_and_a_causal_map(demo):
    text = demo("step03", "--against", "solutions").figures
    assert "parameters: 1,050,624\n" in text
    assert "weights (2, 8, 10, 7)" in text
    assert "3 copies; after a change to one, 1 of them changed" in text
    assert text.count("sum 1.000") == 16
    assert "weight on words ahead: 0.000" in text


def test_step03_computes_what_it_prints(demo):
    text = demo("step03", "--against", "solutions", "--h", "3", "--d-model", "15").figures
    assert "parameters: 960\n" in text
    assert "weights (2, 3, 10, 7)" in text


def test_step03_goes_on_without_kept_weights(demo, changed):
    text = demo(changed("step03", ("x, self.attn = attention(", "x, _ = attention("))).figures
    assert "`.attn` holds no attention weights" in text
    assert "parameters: 1,050,624\n" in text


def test_step04_prints_the_published_figures(demo):
    text = demo("step04", "--against", "solutions").figures
    assert "(2, 10, 512) -> hidden (2, 10, 2048) -> output (2, 10, 512)" in text
    assert "parameters: 2,099,712\n" in text
    assert "reach the second layer: 50%" in text
    difference = next(line for line in text.splitlines() if "outputs differ by" in line)
    assert 0 <= float(difference.split()[-1]) < 1e-5


def test_step04_computes_what_it_prints(demo):
    text = demo("step04", "--against", "solutions", "--d-ff", "64").figures
    assert "(2, 10, 512) -> hidden (2, 10, 64) -> output (2, 10, 512)" in text
    assert "parameters: 66,112\n" in text


@pytest.mark.parametrize(
    ("source", "name"), [(NAMED_OTHERWISE, "net.0"), (CONVOLUTIONS, "up")], ids=["net", "conv"]
)
def test_step04_finds_a_hidden_layer_of_another_name(demo, learner, source: str, name: str):
    text = demo(learner(source)).figures
    assert f"no layer named w_1 here. The hidden layer was found by its width, 2048: {name}" in text
    assert "hidden (2, 10, 2048)" in text
    assert "parameters: 2,099,712\n" in text
    assert "reach the second layer: 50%" in text


def test_step04_says_when_it_cannot_look_inside_and_goes_on(demo, learner):
    text = demo(learner(RAW_MATRICES)).figures
    assert "its inside cannot be shown" in text
    assert "parameters: 2,097,152\n" in text
    assert "By the formula 2,099,712" in text
    assert "outputs differ by" in text


def test_step04_sees_that_the_relu_is_missing(demo, learner):
    text = demo(learner(NAMED_OTHERWISE.replace("nn.ReLU()", "nn.Identity()"))).figures
    assert "reach the second layer: 0%" in text
    assert "Is there a ReLU" in text


def test_step05_prints_the_published_count_and_the_waves(demo):
    text = demo("step05", "--against", "solutions").figures
    assert "(2, 10) -> vectors (2, 10, 512) -> with positions (2, 10, 512)" in text
    assert "parameters: 4,257,792 of the words, 0 of the positions\n" in text
    assert "times 22.627\n   sqrt(d_model) = 22.627\n" in text
    assert "position 0:  0.000  1.000  0.000  1.000  0.000  1.000  0.000  1.000\n" in text
    assert "position 1:  0.841  0.540  0.100  0.995" in text
    assert "from 1.000 to 1.000" in text
    assert "6.28 positions in the first pair, 60,600 in the last" in text
    assert "depends on the distance only" in text


def test_step05_computes_what_it_prints(demo):
    sizes = ("--d-model", "64", "--vocab", "6384")
    text = demo("step05", "--against", "solutions", *sizes).figures
    assert "parameters: 408,576 of the words" in text
    assert "times 8.000" in text


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param(
            " * math.sqrt(self.d_model)", "", "times 1.000\n   sqrt(d_model) would", id="no scale"
        ),
        pytest.param(
            "self.lut = nn.Embedding(vocab, d_model)",
            "self.lut = lambda x: torch.ones(*x.shape, d_model)",
            "No parameter of shape (8316, 512) was found",
            id="no table",
        ),
        pytest.param(
            "torch.cos(angle[:, : d_model // 2])",
            "torch.cos(angle[:, : d_model // 2] / 2)",
            "1 everywhere if both had the same frequency",
            id="another frequency",
        ),
    ],
)
def test_step05_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    text = demo(changed("step05", (find, replace))).figures
    assert words in text
    assert "positions 10 and 15 multiplied" in text


def test_step06_shows_normalized_rows_and_an_untouched_residual(demo):
    text = demo("step06", "--against", "solutions").figures
    rows = [line for line in text.splitlines() if line.strip().startswith("mean")]
    assert len(rows) == 3
    assert all("->   0.000" in row and row.endswith("->  1.000") for row in rows)
    assert "parameters: 1,024 " in text
    assert "[-1.162, -0.387, 0.387, 1.162]" in text
    assert "the output differs from x by 0.000" in text
    assert "adds from 1.000 to 1.000" in text


def test_step06_tells_that_post_norm_is_no_clear_path(demo, changed):
    no_norm = ("branch = self.norm(x)", "branch = x")
    text = demo(changed("step06", no_norm, ("x + branch", "self.norm(x + branch)"))).figures
    assert "With a residual connection these would be 0, and 1 to 1." in text
