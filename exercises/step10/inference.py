"""Step 10: greedy decoding. Fill in the body, then run `pytest exercises/step10`.

A trained model only ever answers one question: which word may come next? To get a sentence out of
it, ask, take the likeliest word, write it down, and ask again with one word more.

Paper: "Attention Is All You Need", section 3 (auto-regressive: each output is fed back in).
"""

import torch
from torch import nn

from transformer_ref import subsequent_mask


def greedy_decode(
    model: nn.Module,
    src: torch.Tensor,
    src_mask: torch.Tensor | None,
    max_len: int,
    start_symbol: int,
    end_symbol: int | None = None,
) -> torch.Tensor:
    """Write a target for each source of a batch, always with the likeliest next token.

    Args:
        model: has three doors, used as in step 09:
            `encode(src, src_mask)` -> memory (B, S, d_model), called once;
            `decode(memory, src_mask, ys, tgt_mask)` -> features (B, L, d_model) of all tokens so
            far, where tgt_mask is `subsequent_mask(L)`, (1, L, L), bool;
            `generator(x)` -> log-probabilities (B, vocab) of features (B, d_model). What comes next
            is said by the features of the *last* position.
            The caller has called `model.eval()`; the mode is left as it is.
        src: (B, S), int64 ids, batch first.
        src_mask: (B, 1, S), True or 1 = may look.
        max_len: how many tokens a target has at most, the start symbol counted: with 1, nothing
            but the start symbol comes back. 1 or more.
        start_symbol: the id that every target begins with.
        end_symbol: the id that ends a target; it is written, too. None: no id ends one, and every
            target has max_len tokens.

    Returns:
        (B, L), int64, on the device of src, with L <= max_len. The first column is start_symbol. A
        row that has ended waits for the others: its further places hold end_symbol. As soon as all
        rows have ended, decoding stops, so that L is the length of the longest of them.

        No gradients are recorded in here, though the caller may have them switched on.
    """
    raise NotImplementedError("step 10: greedy_decode is not implemented yet")
