"""In a notebook: checks, demos and pictures of the learner's live objects."""

from autograder.front.notebook.checking import check
from autograder.front.notebook.watching import watch

__all__ = ["check", "watch"]
