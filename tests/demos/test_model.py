"""The demos of steps 7 to 9, stacks and model: their figures, and what they make of faults."""

import re

import pytest

# The demos show the base model unless they are asked for a small one.
TINY = ("--layers", "2", "--d-model", "24", "--d-ff", "40", "--h", "3")
FEW_WORDS = ("--src-vocab", "17", "--tgt-vocab", "19")

OTHER_NAMES = """
class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)


class EncoderDecoder(nn.Module):"""


def heard(text: str) -> list[str]:
    """The pictures of who hears of a change, in order."""
    return [picture.replace(" ", "") for picture in re.findall(r": +([#.](?: [#.])*)\n", text)]


@pytest.mark.slow
def test_step07_prints_the_published_count(demo):
    text = demo("step07", "--against", "solutions").figures
    assert "words (2, 9, 512) -> memory (2, 9, 512)" in text
    assert "parameters: 18,915,328\n   6 layers x 3,152,384 + a last norm of 1,024" in text
    assert heard(text) == ["#########", ".......##", "#########"]


def test_step07_shows_the_last_norm_and_what_the_mask_hides(demo):
    text = demo("step07", "--against", "solutions", *TINY).figures
    assert "words (2, 9, 24) -> memory (2, 9, 24)" in text
    # 4 x (24 x 24 + 24) for the attention, and so on.
    layer = 2400 + (24 * 40 + 40) + (40 * 24 + 24) + 2 * 48
    assert f"parameters: {2 * layer + 48:,}\n   2 layers x {layer:,} + " in text
    assert "mean 0.000, std 1.000" in text
    assert heard(text) == ["#########", ".......##", "#########"]


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param("return self.norm(x)", "return x", "Behind a fresh last norm", id="no norm"),
        pytest.param("normed, normed, mask", "normed, normed, None", "hears of the padding"),
        pytest.param(
            "= clones(layer, N)", "= nn.ModuleList([layer] * N)", "would be", id="one layer"
        ),
    ],
)
def test_step07_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    text = demo(changed("step07", (find, replace)), *TINY).figures
    assert words in text


@pytest.mark.slow
def test_step08_prints_the_published_count(demo):
    text = demo("step08", "--against", "solutions").figures
    assert "target (2, 5, 512), memory (2, 9, 512) -> features (2, 5, 512)" in text
    assert "parameters: 25,225,216\n   6 layers x 4,204,032 + a last norm of 1,024" in text
    assert heard(text)[:5] == ["#####", ".####", "..###", "...##", "....#"]


def test_step08_shows_who_hears_of_target_and_source(demo):
    text = demo("step08", "--against", "solutions", *TINY).figures
    assert "target (2, 5, 24), memory (2, 9, 24) -> features (2, 5, 24)" in text
    layer = 2 * 2400 + (24 * 40 + 40) + (40 * 24 + 24) + 3 * 48
    assert f"parameters: {2 * layer + 48:,}\n   2 layers x {layer:,} + " in text
    assert heard(text)[:5] == ["#####", ".####", "..###", "...##", "....#"]
    assert heard(text)[5:] == ["#####", "#####", "....."]


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        pytest.param("normed, normed, tgt_mask", "normed, normed, None", "The future leaks"),
        pytest.param("memory, memory, src_mask", "memory, memory, None", "The padding is heard"),
        pytest.param("memory, memory, src_mask", "x, x, None", "Nobody hears of the source"),
    ],
)
def test_step08_tells_what_is_off(demo, changed, find: str, replace: str, words: str):
    text = demo(changed("step08", (find, replace)), *TINY).figures
    assert words in text


@pytest.mark.slow
def test_step09_prints_the_published_figures(demo):
    text = demo("step09", "--against", "solutions").figures
    parts = dict(re.findall(r"^ +(\w+) +([\d,]+)$", text, re.MULTILINE))
    assert parts == {
        "encoder": "18,915,328",
        "decoder": "25,225,216",
        "src_embed": "4,257,792",
        "tgt_embed": "3,268,608",
        "generator": "3,274,992",
        "total": "54,941,936",
    }
    assert "(1, 9) -> (1, 9, 512) -> (1, 5, 512) -> (1, 5, 6384)\n" in text
    assert "at each position: 1.000 1.000 1.000 1.000 1.000\n" in text
    assert "largest |w_1| of the first feed-forward network: 0.0484\n" in text
    assert "sqrt(6 / (512 + 2048)) = 0.0484\n" in text


def test_step09_computes_what_it_prints(demo):
    text = demo("step09", "--against", "solutions", *TINY, *FEW_WORDS).figures
    parts = dict(re.findall(r"^ +(\w+) +([\d,]+)$", text, re.MULTILINE))
    assert (parts["src_embed"], parts["tgt_embed"]) == (str(17 * 24), str(19 * 24))
    assert parts["generator"] == str(24 * 19 + 19)
    counts = [int(count.replace(",", "")) for count in parts.values()]
    assert sum(counts[:-1]) == counts[-1]
    assert "(1, 9) -> (1, 9, 24) -> (1, 5, 24) -> (1, 5, 19)\n" in text
    assert "at each position: 1.000 1.000 1.000 1.000 1.000\n" in text
    bound = float(re.search(r"sqrt\(6 / \(24 \+ 40\)\) = (\S+)", text)[1])
    assert bound == pytest.approx((6 / 64) ** 0.5, abs=1e-4)
    assert 0.98 * bound < float(re.search(r"network: (\S+)", text)[1]) <= bound
    assert "two runs in training differ by 0.000" in text


NO_RATE = (
    "encoder_self_attn = MultiHeadedAttention(h, d_model, dropout)",
    "encoder_self_attn = MultiHeadedAttention(h, d_model)",
)
RETURN = "    return model\n"
TIED = "    model.generator.proj.weight = tgt_words.lut.weight\n"
NO_ENCODER = """
    model.encoder = nn.Identity()
    model.encode = lambda src, mask: model.src_embed(src)
"""


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        pytest.param([NO_RATE], "Some dropout has not heard of the rate", id="the published fault"),
        pytest.param([(RETURN, TIED + RETURN)], "is something shared", id="tied weights"),
        pytest.param(
            [("class EncoderDecoder(nn.Module):", OTHER_NAMES)],
            "Nothing is called w_1 here; this is layers.0.feed_forward.net.0.weight",
            id="other names",
        ),
        pytest.param(
            [
                ("self.src_embed = src_embed", "self.words = src_embed"),
                ("self.src_embed(src)", "self.words(src)"),
            ],
            "src_embed  (the model has no module of this name)",
            id="a part of another name",
        ),
        pytest.param(
            [(RETURN, NO_ENCODER + RETURN)],
            "(The encoder has no matrix of d_ff = 40 by d_model = 24 to look at.)",
            id="no feed-forward",
        ),
    ],
)
def test_step09_tells_what_is_off_and_goes_on(
    demo, changed, edits: list[tuple[str, str]], words: str
):
    text = demo(changed("step09", *edits), *TINY, *FEW_WORDS).figures
    assert words in text
    assert "two runs in training differ by" in text
