"""Step 10, the reference: greedy decoding, one token after the other."""

import torch
from torch import Tensor

from .caching import CachedDecoder, can_cache
from .masks import subsequent_mask
from .model import EncoderDecoder

__all__ = ["greedy_decode"]


@torch.no_grad()
def greedy_decode(
    model: EncoderDecoder,
    src: Tensor,
    src_mask: Tensor | None,
    max_len: int,
    start_symbol: int,
    end_symbol: int | None = None,
) -> Tensor:
    """Append to each row the most probable next id, until all rows ended or are full.

    The source is encoded once. No gradients are recorded; the model stays in the mode that it is
    in, so call `model.eval()` first. (Section 3.1: the decoder consumes what it has produced.)

    Args:
        model: anything with `encode`, `decode` and `generator` as `EncoderDecoder` has them.
        src: (B, S), int32 or int64.
        src_mask: (B, 1, S), any dtype, 0 or False = hidden; None hides nothing.
        max_len: the length of the longest result; the start symbol counts.
        start_symbol: the id that every row begins with.
        end_symbol: the id after which a row has ended: the rest of it is filled with this id.
            With None no row ends early.

    Returns:
        (B, L), int64, on the source's device, with L <= max_len.

    Raises:
        ValueError: when max_len is below 1.
    """
    if max_len < 1:
        raise ValueError(f"the start symbol alone has length 1: {max_len=}")
    memory = model.encode(src, src_mask)
    if can_cache(model):
        decoder = CachedDecoder(model, memory, src_mask)
        return _decode_with(decoder, src, max_len, start_symbol, end_symbol)
    ys = src.new_full((src.size(0), 1), start_symbol, dtype=torch.int64)
    ended = torch.zeros(src.size(0), dtype=torch.bool, device=src.device)
    while ys.size(1) < max_len and not ended.all():
        tgt_mask = subsequent_mask(ys.size(1)).to(src.device)
        features = model.decode(memory, src_mask, ys, tgt_mask)
        next_id = model.generator(features[:, -1]).argmax(dim=-1)
        if end_symbol is not None:
            next_id = next_id.masked_fill(ended, end_symbol)
            ended = next_id == end_symbol
        ys = torch.cat((ys, next_id.unsqueeze(1)), dim=1)
    return ys


def _decode_with(
    decoder: CachedDecoder, src: Tensor, max_len: int, start_symbol: int, end_symbol: int | None
) -> Tensor:
    """Do the same for a model that can go on from where it was; a row that ended is let go."""
    rows = torch.arange(src.size(0), device=src.device)  # Those that have not ended.
    ids = torch.full_like(rows, start_symbol)
    columns = [ids]
    while len(columns) < max_len and len(rows):
        ids = decoder.step(ids).argmax(dim=-1)
        columns.append(torch.full_like(columns[0], end_symbol or 0).index_copy(0, rows, ids))
        if end_symbol is not None and (ids == end_symbol).any():
            going_on = (ids != end_symbol).nonzero().squeeze(1)
            decoder.select(going_on)
            rows, ids = rows[going_on], ids[going_on]
    return torch.stack(columns, dim=1)
