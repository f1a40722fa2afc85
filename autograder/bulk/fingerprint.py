"""What a verdict depends on, in one number: who has it has nothing new to grade."""

from __future__ import annotations

import platform
from functools import cache
from hashlib import sha256
from pathlib import Path

from autograder.bulk.submissions import Submission
from autograder.core.step import Step, find_step
from autograder.wall.parts import installed


@cache
def versions() -> dict[str, str]:
    """Of the kit, Python and torch."""
    return {
        "kit": installed("transformer-by-building"),
        "python": platform.python_version(),
        "torch": installed("torch"),
    }


def fingerprint(submission: Submission, step: Step, seed: int, lang: str) -> str:
    """The same where the submission, the step, the kit's version, seed and language are."""
    parts = (_of_step(step.name), versions()["kit"], str(seed), lang, submission.digest)
    return sha256("\n".join(parts).encode()).hexdigest()


@cache
def _of_step(name: str) -> str:
    """Of what says how the step is graded: probes, checks, texts, the answer, the reference."""
    import transformer_ref

    step = find_step(name)
    data = Path(__file__).parents[1] / "steps" / step.slug
    reference = Path(transformer_ref.__path__[0], f"{step.slug}.py")
    files = [*(data.with_suffix(s) for s in (".py", ".toml", ".alike")), step.solution, reference]
    contents = [file.read_bytes() if file.exists() else b"" for file in files]
    return sha256(b"".join(sha256(content).digest() for content in contents)).hexdigest()
