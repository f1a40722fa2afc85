"""How good a translator is: BLEU on sentences that it was not trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from autograder.core.trouble import Trouble
from autograder.workshop.checkpoint import fill, read_checkpoint
from autograder.workshop.corpus import Pair
from autograder.workshop.languages import SPECIALS, Languages
from autograder.workshop.training import Training, collated

_AREA = 3000  # ids decoded together


@dataclass(frozen=True)
class Bleu:
    """Two scores of the same translations, each with sacrebleu's signature.

    `raw` compares with the references as they were published, which makes it comparable, and a bit
    too low: the translations are tokens with spaces between them ("t - shirt"). `tokenized`
    compares with the references cut by the same tokenizer.
    """

    raw: float
    raw_signature: str
    tokenized: float
    tokenized_signature: str


def bleu(translations: Sequence[str], references: Sequence[str], cut: Sequence[str]) -> Bleu:
    """Score translations.

    Args:
        translations: tokens, joined by spaces.
        references: the references' texts.
        cut: the references' tokens, joined by spaces.

    Raises:
        Trouble: sacrebleu is not installed.
    """
    try:
        from sacrebleu.metrics import BLEU
    except ImportError:
        raise Trouble("needs_extra", package="sacrebleu", extra="translate") from None
    raw, tokenized = BLEU(force=True), BLEU(tokenize="none", force=True)
    scores = [
        metric.corpus_score(list(translations), [list(against)]).score
        for metric, against in ((raw, references), (tokenized, cut))
    ]
    signatures = [str(metric.get_signature()) for metric in (raw, tokenized)]
    return Bleu(scores[0], signatures[0], scores[1], signatures[1])


def measure_best(
    training: Training, model: nn.Module, progress: Callable[[int, int], None]
) -> Bleu:
    """The same, after the model has been given the weights of the best checkpoint."""
    best = training.folder.best
    fill(model, read_checkpoint(best, "model")["model"], best)
    return measure(training, model, progress)


def measure(training: Training, model: nn.Module, progress: Callable[[int, int], None]) -> Bleu:
    """BLEU of greedy translations of the corpus' test part.

    Args:
        training: whose code and corpus.
        model: on the training's device.
        progress: told how many sentences are done, of how many.

    Raises:
        Trouble: the code fails, or sacrebleu is not installed.
    """
    pairs = training.corpus.test
    translations = [""] * len(pairs)
    done = 0
    model.eval()
    with training.code.watched():
        for indices, lines in _translated(training, model, pairs):
            for index, line in zip(indices, lines, strict=True):
                translations[index] = line
            done += len(indices)
            progress(done, len(pairs))
    references = [target for _, target in pairs]
    cut = [" ".join(training.languages.target.pipeline(text)) for text in references]
    return bleu(translations, references, cut)


def _translated(
    training: Training, model: nn.Module, pairs: Sequence[Pair]
) -> Iterator[tuple[list[int], list[str]]]:
    code, languages, settings = training.code, training.languages, training.settings
    vocabulary = languages.target.vocabulary
    lengths = [min(languages.length(pair), settings.max_len) for pair in pairs]
    for indices in code.batches_by_length(lengths, _AREA, False):
        batch = collated(code, languages, [pairs[i] for i in indices], training)
        found = code.greedy_decode(
            model,
            batch.src,
            batch.src_mask,
            settings.max_len,
            vocabulary["<s>"],
            vocabulary["</s>"],
        )
        yield indices, [text_of(languages, ids) for ids in found.tolist()]


def text_of(languages: Languages, ids: Sequence[int]) -> str:
    """A target's tokens up to its end, joined by spaces, without specials."""
    vocabulary = languages.target.vocabulary
    words: list[Any] = vocabulary.tokens(ids)
    end = words.index("</s>") if "</s>" in words else len(words)
    return " ".join(word for word in words[:end] if word not in SPECIALS)
