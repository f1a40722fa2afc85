"""What a demo says of the model answer, it does not say of a known mistake that makes it untrue."""

from pathlib import Path

import pytest

from autograder.core.step import all_steps

STEPS = {step.name: step for step in all_steps()}
TINY = ("--layers", "2", "--d-model", "24", "--d-ff", "40", "--h", "3")
SMALL = {
    "step05": ("--vocab", "20"),
    "step07": TINY,
    "step08": TINY,
    "step09": (*TINY, "--src-vocab", "17", "--tgt-vocab", "19"),
    "step18": ("--updates", "8"),
}

# Step, mistake, what is said of the model answer, and what is asked instead.
UNTRUE = """
step01 mask-after-softmax | the others share what it had | What comes after the softmax?
step01 mask-fill-result-dropped | the others share what it had | the mask does not hide it
step01 scale-missing | With a spread near 1 | What does this code divide by?
step01 scale-by-d_k | With a spread near 1 | What does this code divide by?
step01 scale-fixed-at-64 | With a spread near 1 | What does this code divide by?
step01 scale-by-value-width | With a spread near 1 | What does this code divide by?
step04 dropout-as-keep | silences the negative half | What else makes them 0
step05 positions-base-1000 | 60,600 in the last | What are the base, the exponent and its sign?
step05 positions-sequence-first | Each pair is a clock hand | What are the base, the exponent
step05 positions-normalized | the distance only | What tells position 10 from position 45?
step05 positions-sine-cosine-swapped | Each pair is a clock hand | Where does the counting begin?
step05 positions-trainable | , 0 of the positions | what is trained here, and what is fixed?
step06 norm-no-bias | (a gain and a bias a feature) | Is there a gain and a bias
step06 norm-divides-by-variance | torch divides by n | What is subtracted and divided by?
step06 norm-biased-std | torch divides by n | They agree: both divide by n.
step06 residual-norm-missing | receives: mean 0.000, std 1.000 | Does x pass one first?
step07 layer-attention-missing | reaches no real word | Is the attention's result added?
step08 layer-back-missing | itself and those after it | Is the attention's result added?
step09 logits-returned | each position: 1.000 | Is it a log-softmax
step10 end-not-written | A row that has ended waits | What follows what?
step10 start-zero | A row that has ended waits | What follows what?
step10 train-mode | the same in 3 of 3 | Does a row hear of the others, or of chance?
step11 std-pad-zero | nobody sees anything | What is hidden?
step11 padding-not-hidden | nobody sees anything | Only paddings see a padding
step12 zero-rate-at-zero | as in step 1 | What would the first update learn
step13 smoothing-ignored | such a thing as too sure | Is there any?
step16 cut-in-front | has lost its last words | Should it not be the first 9 ids
step16 cut-missing | has lost its last words | Should it not be the first 9 ids
"""

# Of these numbers nothing is said while they are right, so only the question can be looked for.
ASKED = """
step03 mask-not-forwarded | Does the mask reach the attention
step03 softmax-over-queries | Each row should sum to 1
step03 dropout-rate-ignored | Each row should sum to 1
step06 norm-eps-missing | Is there an eps?
step06 norm-over-batch | What is subtracted and divided by?
step09 layers-shared | is a size another, or a copy missing?
step09 init-normal | How is a matrix drawn?
step10 causal-mask-inverted | and no more?
step10 one-token-too-many | Are 12 and 1 not the lengths
step11 src-padding-inverted | with a # at each token and at no padding?
step12 level-after-warmup | Which powers differ?
step12 betas-default | What is handed on?
step13 smoothing-fixed | Should the target not get 0.600
step13 smoothing-padding-first-row | Is a whole row emptied, or a column?
step16 shuffle-missing | Is that not their order without shuffle?
step18 search-identical | is each of them another?
"""


def table(text: str) -> list[tuple[str, ...]]:
    rows = [line.split(" | ") for line in text.splitlines() if line]
    return [(*first.split(), *rest) for first, *rest in rows]


@pytest.fixture
def said(demo, learner):
    """Return what the demo of a step says of the model answer, or of a mistake."""

    def run(name: str, slug: str = "") -> str:
        step = STEPS[name]
        source = step.solution.read_text(encoding="utf-8")
        if slug:
            source = step.misconception(slug).applied_to(source)
        script: Path = learner(source, name, step.slug)
        return demo(script, *SMALL.get(name, ())).figures

    return run


@pytest.mark.parametrize(("name", "slug", "praise", "question"), table(UNTRUE))
def test_a_mistake_is_asked_about_and_not_praised(
    said, name: str, slug: str, praise: str, question: str
):
    text = said(name, slug)
    assert praise not in text
    assert question in text


@pytest.mark.parametrize(
    ("name", "praises", "questions"),
    [
        (
            name,
            [row[2] for row in table(UNTRUE) if row[0] == name],
            [row[-1] for row in table(UNTRUE + ASKED) if row[0] == name],
        )
        for name in sorted({row[0] for row in table(UNTRUE + ASKED)})
    ],
)
def test_the_model_answer_is_praised_and_not_asked(
    said, name: str, praises: list[str], questions: list[str]
):
    text = said(name)
    assert [praise for praise in praises if praise not in text] == []
    assert [question for question in questions if question in text] == []


@pytest.mark.parametrize(("name", "slug", "question"), table(ASKED))
def test_a_number_that_is_off_is_asked_about(said, name: str, slug: str, question: str):
    assert question in said(name, slug)
