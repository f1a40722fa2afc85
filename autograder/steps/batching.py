"""Probes of step 11: what a batch holds, and which positions its masks show, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.core.draw import Draw
from autograder.core.observation import Odd, Value, see
from autograder.core.subject import Subject, Unusable

_WITH_TARGET = ("tgt", "tgt_y", "tgt_mask", "ntokens")


def std_mask_shape(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The shape of the mask, that of one for all sentences written out; and the inputs' fate."""
    tgt, pad = _target(draw, "shape"), _pad(draw)
    given = tgt.clone()
    mask = see(_std_mask(subject)(given, pad))
    shape: Value = list(mask.shape) if isinstance(mask, Tensor) else mask
    if isinstance(mask, Tensor) and mask.dim() == 3 and isinstance(_square(mask, tgt), Tensor):
        shape = [*tgt.shape, tgt.size(1)]
    return {"shape": shape, "untouched": torch.equal(given, tgt)}


def std_mask_future(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What real tokens may see of tokens after them."""
    return _part(subject, draw, lambda after, hidden: after & ~hidden, usual=0)


def std_mask_padding(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What real tokens may see of padding before them, whatever id stands for it.

    Where they see it, the rows of padding are seen, too: they tell mistakes apart.
    """
    found = _part(subject, draw, lambda after, hidden: ~after & hidden, usual=0)
    tgt, mask_of = _target(draw, "part"), _std_mask(subject)
    for pad in (0, 2):
        square = _squared(mask_of(tgt.masked_fill(tgt == _pad(draw), pad), pad), tgt)
        same = isinstance(square, Tensor) and isinstance(found["mask"], Tensor)
        found[f"pad_{pad}"] = same and not bool(((square != 0) & _padding(draw, tgt)).any())
    if "whole" in found:
        found["every_row"] = _squared(mask_of(tgt.clone(), _pad(draw)), tgt)
    return found


def std_mask_past(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What real tokens may see of themselves and of tokens before them."""
    return _part(subject, draw, lambda after, hidden: ~after & ~hidden, usual=1)


def src_mask(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The source as it is kept, and what its mask shows; with a pad id of ours, then the usual."""
    found: dict[str, Value] = {}
    for name, pad in (("src", _pad(draw)), ("usual", 2)):
        src, tgt = _sentences(draw, name, pad)
        batch = subject.Batch(src.clone(), tgt, *([] if name == "usual" else [pad]))
        found[f"{name}_kept"] = _kept(batch, src)
        mask = see(_held(batch, "src_mask"))
        found[f"{name}_mask"] = _shown(mask) if isinstance(mask, Tensor) else mask
    return found


def shift(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What the decoder reads and what it has to say."""
    src, tgt = _sentences(draw, "shift", _pad(draw))
    given = tgt.clone()
    batch = subject.Batch(src, given, _pad(draw))
    read, say = see(_held(batch, "tgt")), see(_held(batch, "tgt_y"))
    return {"reads": read, "says": say, "untouched": torch.equal(given, tgt)}


def tgt_mask(subject: Subject, draw: Draw) -> dict[str, Value]:
    """Whether the target's mask is that of what the decoder reads."""
    pad = _pad(draw)
    src, tgt = _sentences(draw, "mask", pad)
    batch = subject.Batch(src, tgt, pad)
    read, mask = see(_held(batch, "tgt")), see(_held(batch, "tgt_mask"))
    if not isinstance(mask, Tensor) or not isinstance(read, Tensor):
        return {"agrees": mask if isinstance(read, Tensor) else read}
    own = see(_std_mask(subject)(read.clone(), pad))
    one, two = _square(mask, read), _squared(own, read)
    ranks = (3, own.dim() if isinstance(own, Tensor) else 3)  # a wrong rank costs one check only
    if not isinstance(one, Tensor) or not isinstance(two, Tensor) or mask.dim() not in ranks:
        alike = isinstance(own, Tensor) and torch.equal(mask.bool(), own.bool())
        return {"agrees": alike, "shape": list(mask.shape)}
    rows = (read != pad)[..., None]
    same = torch.equal(one * rows, two * rows)
    return {"agrees": same} if same else {"agrees": same, "seen": one * rows, "own": two * rows}


def ntokens(subject: Subject, draw: Draw) -> dict[str, Value]:
    """How far the number of tokens is from those of the batch's own `tgt_y`."""
    pad = _pad(draw)
    src, tgt = _sentences(draw, "count", pad)
    batch = subject.Batch(src, tgt, pad)
    said, number = see(_held(batch, "tgt_y")), _number(_held(batch, "ntokens"))
    if isinstance(said, Tensor) and isinstance(number, float):
        number -= float((said != pad).sum())
    return {"count": number}


def source_only(subject: Subject, draw: Draw) -> dict[str, Value]:
    """What a batch without a target holds, compared with the same batch with one."""
    pad = _pad(draw)
    src, tgt = _sentences(draw, "only", pad)
    alone, usual = subject.Batch(src.clone(), None, pad), subject.Batch(src.clone())
    masks = [_held(b, "src_mask") for b in (subject.Batch(src, tgt, pad), alone, usual)]
    # That none of them has a mask would be another check's matter.
    lacking = [masks[0] is not None and mask is None for mask in masks[1:]]
    one, two = see(masks[0]), see(masks[1])
    both = isinstance(one, Tensor) and isinstance(two, Tensor)
    invented = [n for n in _WITH_TARGET if not _nothing(alone, n)]
    found: dict[str, Value] = {} if not invented else {"reads": see(_held(alone, "tgt"))}
    return {
        "source": _kept(alone, src),
        "same_mask": not lacking[0] and (not both or torch.equal(one, two)),  # type: ignore[arg-type]
        "invented": invented,
        "by_default": not lacking[1],
        **found,
    }


def dtypes(subject: Subject, draw: Draw) -> dict[str, Value]:
    """The types of the masks."""
    src, tgt = _sentences(draw, "dtypes", _pad(draw))
    batch = subject.Batch(src, tgt, _pad(draw))
    masks = {f"{side}_dtype": _held(batch, f"{side}_mask") for side in ("src", "tgt")}
    return {n: str(getattr(m, "dtype", None)).removeprefix("torch.") for n, m in masks.items()}


# ---------------------------------------------------------------- sentences, masks, what is held


def _pad(draw: Draw) -> int:
    return draw.pick("pad", (3, 5, 7))  # neither the usual one, nor 0 or 1


def _sentences(draw: Draw, name: str, pad: int) -> tuple[Tensor, Tensor]:
    """int64 (3, 7) and (3, 6), padded at their ends, the sides differently."""
    return _padded(draw, f"{name}/src", 7, pad), _padded(draw, f"{name}/tgt", 6, pad)


def _padded(draw: Draw, name: str, length: int, pad: int) -> Tensor:
    """int64 (3, length): one row is full, the others are padded, by 1 or 2 and by 3.

    So there is not as much padding as there are sentences.
    """
    ids = draw.permutation(name, 30)[: 3 * length].view(3, length) + 11
    ids[:, 0] = torch.tensor([0, 1, 0])  # below any padding, also behind the start
    ids[:, 1] = torch.tensor([1, 0, 1])
    ids[0, 2] = 0  # not as many as there are sentences
    lacking = torch.tensor([0, draw.pick(f"{name}/lacking", (1, 2)), 3])
    lacking = lacking[draw.permutation(f"{name}/rows", 3)]
    return ids.masked_fill(torch.arange(length) >= length - lacking[:, None], pad)


def _target(draw: Draw, name: str) -> Tensor:
    """int64 (2, 6), with padding between tokens and at the end, elsewhere in each row."""
    ids = draw.permutation(name, 30)[:12].view(2, 6) + 11
    ids[0, 0], ids[1, 1] = 0, 1  # below any padding
    ids[0, [1 + draw.pick(name, (0, 1)), 5]] = _pad(draw)
    ids[1, [0, 3]] = _pad(draw)
    return ids


def _std_mask(subject: Subject) -> Callable[[Tensor, int], Any]:
    """The function; as others have it, a static method of `Batch`."""
    try:
        return subject.make_std_mask
    except Unusable:
        try:
            return subject.Batch.make_std_mask
        except (Unusable, AttributeError):
            pass
        raise


def _square(mask: Tensor, ids: Tensor) -> Value:
    """float32 (B, L, L): what a mask of any rank shows; or the shape of another."""
    rows, length = ids.shape
    mask = mask[:, 0] if mask.dim() == 4 and mask.size(1) == 1 else mask
    try:
        seen = torch.broadcast_to(mask, (rows, length, length))
    except RuntimeError:
        return Odd(f"tensor {tuple(mask.shape)}")
    return _shown(seen)


def _shown(mask: Tensor) -> Tensor:
    """float32: 1 where one may look, 0 where not; -1 stands for what is made to be added."""
    return (mask != 0).float().masked_fill(mask < 0, -1.0)


def _squared(mask: Any, ids: Tensor) -> Value:
    seen = see(mask)
    return _square(seen, ids) if isinstance(seen, Tensor) else seen


def _padding(draw: Draw, ids: Tensor) -> Tensor:
    """bool (B, L, L): padding that is not after a real token."""
    hidden = (ids == _pad(draw))[:, None]
    return torch.ones(ids.size(1), ids.size(1)).tril().bool() & hidden & ~hidden.mT


def _part(
    subject: Subject, draw: Draw, where: Callable[[Tensor, Tensor], Tensor], usual: int
) -> dict[str, Value]:
    """Whether one part of the mask is as usual, seen by real tokens; if not, those rows of it.

    `where` tells the part from what comes after and what is padding.
    """
    tgt, pad = _target(draw, "part"), _pad(draw)
    square = _squared(_std_mask(subject)(tgt.clone(), pad), tgt)
    if not isinstance(square, Tensor):
        return {"mask": square}
    after = torch.ones_like(square).triu(1).bool()
    real = tgt != pad
    part = where(after, ~real[:, None].expand_as(after)) & real[..., None]
    if bool((square[part] == usual).all()):
        return {"mask": square * part}
    return {"mask": square * part, "whole": square * real[..., None]}


def _held(batch: Any, name: str) -> Any:
    return getattr(batch, name, None)


def _kept(batch: Any, src: Tensor) -> Value:
    """Whether the source is held as it was; the shape of another, or what is no tensor."""
    kept = see(_held(batch, "src"))
    if not isinstance(kept, Tensor):
        return kept
    if kept.shape != src.shape:
        return list(kept.shape)
    return not kept.is_floating_point() and torch.equal(kept, src)


def _nothing(batch: Any, name: str) -> bool:
    """Whether it holds None there, or a count of 0, or does not let one look."""
    try:
        value = _held(batch, name)
    except Exception:
        return True
    return value is None or (not isinstance(value, Tensor) and value == 0)


def _number(value: Any) -> Value:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return see(value)
