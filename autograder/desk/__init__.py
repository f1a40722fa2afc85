"""Around an exercise: a learner's files, how far they are, the whole model put together of them."""
