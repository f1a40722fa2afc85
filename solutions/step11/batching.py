"""Step 11: batches and their masks. Fill in the bodies, then run `pytest exercises/step11`.

Sentences are trained many at a time. The short ones are filled up with padding, which nobody may
look at; and each target becomes two, one the decoder reads and one it has to say, shifted by one.

Paper: "Attention Is All You Need", sections 3.1 (outputs shifted right) and 5.1 (batches).
"""

import torch

from transformer_ref import subsequent_mask


def make_std_mask(tgt: torch.Tensor, pad: int) -> torch.Tensor:
    """Hide from each position of a target what comes after it, and all padding.

    Args:
        tgt: (B, L), int64 ids, batch first.
        pad: the id that fills up short sentences.

    Returns:
        (B, L, L), bool, True = may look. The entry [b, i, j] says whether position i of sentence b
        may look at position j: when j is not after i, and is no padding. So padding is hidden as
        something to look *at*, in the last dimension. (The rows of padded positions do not matter;
        nobody reads what comes out of them.)
    """
    ### BEGIN SOLUTION
    # (B, 1, L): whether the position that is looked at holds a token; the same for all who look.
    is_token = (tgt != pad).unsqueeze(1)

    # (1, L, L): whether it has come by then; the same for all sentences.
    has_come = subsequent_mask(tgt.size(1)).to(tgt.device)

    # (B, 1, L) and (1, L, L) make (B, L, L).
    return is_token & has_come
    ### END SOLUTION


class Batch:
    """Some sentence pairs of one training step, with their masks.

    Attributes:
        src: (B, S), the source ids as they were given.
        src_mask: (B, 1, S), bool, True = may look: where src is no padding.
        tgt: (B, T - 1), what the decoder reads: each target without its last id.
        tgt_y: (B, T - 1), what it has to say: each target without its first id.
        tgt_mask: (B, T - 1, T - 1), bool: `make_std_mask` of what the decoder reads.
        ntokens: how many ids of tgt_y are no padding, that is, how many predictions count.

    Without a target, there are only src and src_mask.
    """

    def __init__(self, src: torch.Tensor, tgt: torch.Tensor | None = None, pad: int = 2) -> None:
        """Split the targets in two and make the masks.

        Args:
            src: (B, S), int64 ids, batch first.
            tgt: (B, T), int64 ids, from the start symbol to the end symbol; or None, when there is
                nothing to learn from, as in translating.
            pad: the id that fills up short sentences, on both sides. (2 is `<blank>` in step 15.)
        """
        ### BEGIN SOLUTION
        self.src = src
        self.src_mask = (src != pad).unsqueeze(1)

        if tgt is not None:
            # At position t the decoder has read the tokens 0 to t, and must say token t + 1.
            self.tgt = tgt[:, :-1]
            self.tgt_y = tgt[:, 1:]
            self.tgt_mask = make_std_mask(self.tgt, pad)
            self.ntokens = int((self.tgt_y != pad).sum())
        ### END SOLUTION
