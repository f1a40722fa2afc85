"""Step 11, the reference: a batch of sentence pairs with its masks (paper, section 3.2.3)."""

from torch import Tensor

from .masks import subsequent_mask

__all__ = ["Batch", "make_std_mask"]


def make_std_mask(tgt: Tensor, pad: int) -> Tensor:
    """Let each target position look at itself and at what came before, but never at padding.

    Args:
        tgt: (B, L), int32 or int64.
        pad: the id that fills short rows up.

    Returns:
        (B, L, L), bool, on the target's device; True = may look. The row of a padding position is
        like any other's: what comes out of it is thrown away.
    """
    return (tgt != pad).unsqueeze(-2) & subsequent_mask(tgt.size(-1)).to(tgt.device)


class Batch:
    """Sources and targets, with the masks that the model needs, and what it should predict.

    Attributes:
        src: (B, S), int32 or int64: the source ids.
        src_mask: (B, 1, S), bool, True where there is no padding.
        tgt: (B, T - 1): what the decoder sees, all but the last id. Absent without a target, and so
            are the following.
        tgt_y: (B, T - 1): what it should predict, all but the first id.
        tgt_mask: (B, T - 1, T - 1), bool, see `make_std_mask`.
        ntokens: the number of ids to predict, an int; padding does not count.

    Args:
        src: (B, S), int32 or int64.
        tgt: (B, T), likewise, each row from start symbol to end symbol; None when translating.
        pad: the id that fills short rows up, on both sides.
    """

    tgt: Tensor
    tgt_y: Tensor
    tgt_mask: Tensor
    ntokens: int

    def __init__(self, src: Tensor, tgt: Tensor | None = None, pad: int = 2) -> None:
        self.src = src
        self.src_mask = (src != pad).unsqueeze(-2)
        if tgt is not None:
            self.tgt = tgt[:, :-1]
            self.tgt_y = tgt[:, 1:]
            self.tgt_mask = make_std_mask(self.tgt, pad)
            self.ntokens = int((self.tgt_y != pad).sum())
