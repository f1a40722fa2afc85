"""Step 02: the mask of the decoder. Fill in the body, then run `pytest exercises/step02`.

A decoder learns to say the next word. In training the whole sentence lies before it, so something
has to hide what comes next, or it would only learn to read off the answer. That is this mask.

Paper: "Attention Is All You Need", section 3.2.3 (last item) and section 3.1 (decoder).
"""

import torch


def subsequent_mask(size: int) -> torch.Tensor:
    """Say which positions each position may look at: itself and the ones before it.

    Args:
        size: the length of the sentence, 1 or more.

    Returns:
        (1, size, size), bool. The entry [0, i, j] is True when position i may look at position j,
        that is, when j is not after i: a lower triangle of True, the diagonal included. True means
        "may look", as everywhere in this kit, though the name speaks of what is hidden.

        The first dimension is 1, so that one mask serves every sentence of a batch. There is no
        dimension for heads; `MultiHeadedAttention` makes room for them itself.
    """
    raise NotImplementedError("step 02: subsequent_mask is not implemented yet")
