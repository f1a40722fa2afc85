"""In a notebook: checks, demos and pictures of the learner's live objects."""
